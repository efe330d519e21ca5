//! Servers of `models.json` and of this machine, and that no key gets out.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};

use crate::sandbox::Sandbox;

/// Not in a form that is recognized as a key.
pub(super) const KEY: &str = "very-secret-words-0123456789";

pub(super) fn answer(text: &str) -> Reply {
    Reply::answer([AnswerPart::text(text)])
}

fn write_models(sandbox: &Sandbox, providers: &serde_json::Value) {
    let dir = sandbox.home().join("tiller");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("models.json"), json!({ "providers": providers }).to_string()).unwrap();
}

#[test]
fn server_of_models_file_gets_key_of_command_and_headers() {
    let server = MockServer::start([answer("Hi."), answer("Hi.")]);
    let sandbox = Sandbox::new().with_variable("TEAM", "blue");
    write_models(
        &sandbox,
        &json!({ "work": {
            "baseUrl": format!("{}/v1", server.url),
            "api": "openai-completions",
            "apiKey": format!("!printf {KEY}"),
            "headers": { "x-team": "$TEAM" },
            "models": [{ "id": "coder", "contextWindow": 50000, "compat": { "maxTokensField": "max_completion_tokens" } }],
        } }),
    );
    let output = sandbox.run(&["-p", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(request.headers["x-team"], "blue");
    assert_eq!(request.body["model"], "coder");
    assert!(request.body["max_completion_tokens"].is_u64() && request.body.get("max_tokens").is_none());

    let output = sandbox.run(&["models", "work/"]);
    assert!(output.out.contains("work/coder") && output.out.contains("50k"), "{}", output.out);
}

#[test]
fn certificates_are_read_for_a_request_over_tls_only() {
    let sandbox = Sandbox::new()
        .with_variable("SSL_CERT_FILE", "/dev/null")
        .with_variable("SSL_CERT_DIR", "/dev/null")
        .with_variable("ANTHROPIC_API_KEY", KEY);
    let output = sandbox.run(&["models", "anthropic/"]);
    assert_eq!((output.err.as_str(), output.code), ("", Some(0)));
    let output = sandbox.run(&["-p", "hello"]);
    assert_eq!(output.code, Some(1));
    assert!(output.err.contains("No CA certificates were loaded from the system"), "{}", output.err);
    assert!(output.err.contains("→ check the system's certificates"), "{}", output.err);

    let server = MockServer::start([answer("Hi.")]);
    let sandbox = sandbox.with_variable("ANTHROPIC_BASE_URL", &server.url);
    let output = sandbox.run(&["-p", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
}

#[test]
fn server_of_models_file_serves_a_model_in_another_format() {
    let server = MockServer::start([answer("One."), answer("Two.")]);
    let sandbox = Sandbox::new();
    write_models(
        &sandbox,
        &json!({ "work": {
            "baseUrl": server.url,
            "api": "openai-completions",
            "apiKey": KEY,
            "headers": { "x-token": "!echo token" },
            "models": [{ "id": "usual" }, { "id": "other", "api": "anthropic-messages" }],
        } }),
    );
    for (model, expected) in [("work/usual", "One.\n"), ("work/other", "Two.\n")] {
        let output = sandbox.run(&["-p", "--model", model, "hello"]);
        assert_eq!((output.out.as_str(), output.err.as_str()), (expected, ""));
    }
    let requests = server.requests();
    let paths = requests.iter().map(|request| request.path.as_str());
    assert_eq!(paths.collect::<Vec<_>>(), ["/chat/completions", "/v1/messages"]);
    assert_eq!(requests[1].headers["x-api-key"], KEY);
    assert!(requests.iter().all(|request| request.headers["x-token"] == "token"));
}

#[test]
fn server_without_a_secure_connection_is_replaced() {
    let server = MockServer::start([answer("Hi.")]);
    let sandbox = Sandbox::new();
    let url = server.url.replace("http:", "https:");
    let provider = |url: &str| json!({ "baseUrl": url, "api": "openai-completions", "apiKey": KEY, "models": [{ "id": "m" }] });
    write_models(&sandbox, &json!({ "down": provider(&url), "up": provider(&server.url) }));
    let settings = json!({ "fallback": ["down/n", "up/m"], "retry": { "max": 5 } });
    fs::write(sandbox.home().join("tiller/settings.json"), settings.to_string()).unwrap();
    let output = sandbox.run(&["-p", "--model", "down/m", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    assert!(output.err.contains("down: can't establish a secure connection to "), "{}", output.err);
    assert!(output.err.contains("; using up/m for the rest of this run"), "{}", output.err);
}

#[test]
fn server_of_models_file_with_auth_header_gets_a_bearer_token() {
    let server = MockServer::start([answer("Hi.")]);
    let sandbox = Sandbox::new();
    write_models(
        &sandbox,
        &json!({ "anthropic": { "baseUrl": server.url, "apiKey": KEY, "authHeader": true } }),
    );
    let output = sandbox.run(&["-p", "--model", "claude-opus-5-5", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    let headers = &server.requests()[0].headers;
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert!(!headers.contains_key("x-api-key"));
}

#[test]
fn server_of_models_file_without_address_is_reported() {
    let sandbox = Sandbox::new();
    write_models(&sandbox, &json!({ "work": { "apiKey": "k", "models": [{ "id": "coder" }] } }));
    let output = sandbox.run(&["-p", "--model", "work/coder", "hello"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("models.json has no `baseUrl` for it"), "{}", output.err);
}

#[test]
fn broken_models_file_is_reported_with_the_unknown_model() {
    let sandbox = Sandbox::new();
    let dir = sandbox.home().join("tiller");
    fs::create_dir_all(&dir).unwrap();
    let models = dir.join("models.json");
    fs::write(&models, "{").unwrap();
    let output = sandbox.run(&["-p", "--model", "x/a", "hello"]);
    assert_eq!(output.code, Some(2));
    let ignored =
        format!("ignoring {}, line 1, column 2: invalid JSON: unterminated object", models.display());
    assert!(output.err.contains(&ignored), "{}", output.err);
    assert!(output.err.contains("no API key for"), "{}", output.err);
}

#[test]
fn named_local_server_is_asked_for_its_models() {
    let list = r#"{"data": [{"id": "qwen", "max_model_len": 40000}]}"#;
    let server = MockServer::start([Reply::status(200, list), answer("Hi.")]);
    let sandbox = Sandbox::new().with_variable("VLLM_BASE_URL", &format!("{}/v1", server.url));
    let output = sandbox.run(&["-p", "--provider", "vllm", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    let requests = server.requests();
    // After the answer, the model's window may be requested again.
    assert_eq!([&*requests[0].path, &*requests[1].path], ["/v1/models", "/v1/chat/completions"]);
    assert_eq!(requests[1].body["model"], "qwen");

    let resumed = sandbox.with_variable("VLLM_BASE_URL", "http://127.0.0.1:9/v1");
    let cloud =
        resumed.with_variable("ANTHROPIC_API_KEY", "k").with_variable("ANTHROPIC_BASE_URL", &server.url);
    let output = cloud.run(&["-p", "-c", "go on"]);
    assert_eq!(output.code, Some(1), "{}", output.out);
    let prompts = server.requests().iter().filter(|request| request.path != "/v1/models").count();
    assert_eq!(prompts, 1, "what was said to a local model isn't sent elsewhere");
    let sandbox = cloud;
    let output = sandbox.run(&["-p", "--provider", "vllm", "hello"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("vLLM isn't responding"), "{}", output.err);
    assert!(output.err.contains("VLLM_BASE_URL"), "{}", output.err);
}

#[test]
fn local_server_is_used_where_nothing_else_is_usable() {
    let list = r#"{"data": [{"id": "qwen", "max_model_len": 40000}]}"#;
    let server = MockServer::start([Reply::status(200, list), answer("Hi.")]);
    let nobody = "http://127.0.0.1:9/v1";
    let sandbox = Sandbox::new()
        .with_variable("TILLER_LOCAL_SERVERS", "on")
        .with_variable("OLLAMA_BASE_URL", nobody)
        .with_variable("LMSTUDIO_BASE_URL", nobody)
        .with_variable("LLAMACPP_BASE_URL", nobody)
        .with_variable("VLLM_BASE_URL", &format!("{}/v1", server.url));
    let output = sandbox.run(&["-p", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
}

/// The addresses of the local servers: one that answers for Ollama, and nothing for the others.
fn with_ollama(sandbox: Sandbox, url: &str) -> Sandbox {
    let nobody = "http://127.0.0.1:9/v1";
    sandbox
        .with_variable("TILLER_LOCAL_SERVERS", "on")
        .with_variable("OLLAMA_BASE_URL", &format!("{url}/v1"))
        .with_variable("LMSTUDIO_BASE_URL", nobody)
        .with_variable("LLAMACPP_BASE_URL", nobody)
        .with_variable("VLLM_BASE_URL", nobody)
}

/// The replies to a search for Ollama's models: one that is loaded with a small window.
fn ollama_replies() -> [Reply; 3] {
    let names = r#"{"models": [{"name": "qwen3:8b", "context_length": 4096}]}"#;
    let details = r#"{"capabilities": ["completion", "tools"], "parameters": ""}"#;
    [names, names, details].map(|body| Reply::status(200, body))
}

#[test]
fn model_listed_without_window_has_that_of_ollama() {
    for arguments in [&["--provider", "ollama"][..], &["--model", "qwen3:8b"], &[]] {
        let server = MockServer::start(ollama_replies().into_iter().chain([answer("Hi.")]));
        let sandbox = with_ollama(Sandbox::new(), &server.url);
        write_models(&sandbox, &json!({ "ollama": { "models": [{ "id": "qwen3:8b" }] } }));
        let output = sandbox.run(&[arguments, &["-p", "hello"]].concat());
        assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
        let small = "ollama/qwen3:8b has a context window of only 4.1k tokens";
        assert!(output.err.contains(small), "{arguments:?} {}", output.err);
        let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
        // A run also lists the models of local servers in the background; it may end before that.
        let (run, background) = paths.split_at(4);
        assert_eq!(run, ["/api/tags", "/api/ps", "/api/show", "/v1/chat/completions"]);
        assert!(background.iter().all(|path| path == "/api/tags") && background.len() <= 1, "{background:?}");
    }
}

#[test]
fn proxy_of_the_environment_is_used_but_not_for_this_machine() {
    let proxy = MockServer::start([answer("By the proxy.")]);
    let proxied = || {
        Sandbox::new()
            .with_variable("HTTP_PROXY", &proxy.url)
            .with_variable("HTTPS_PROXY", &proxy.url)
            .with_variable("http_proxy", &proxy.url)
            .with_variable("OPENAI_API_KEY", KEY)
            .with_variable("TILLER_RETRY_MAX", "0")
    };
    let ask = ["-p", "--model", "openai/gpt-5", "hello"];
    let sandbox = proxied().with_variable("OPENAI_BASE_URL", "http://models.example.invalid/v1");
    let output = sandbox.run(&ask);
    assert_eq!((output.out.as_str(), output.code), ("By the proxy.\n", Some(0)), "{}", output.err);
    assert_eq!(proxy.requests()[0].headers["host"], "models.example.invalid");
    let output = sandbox.with_variable("NO_PROXY", "example.invalid").run(&ask);
    assert!(output.err.contains("can't resolve the host name models.example.invalid"), "{}", output.err);
    let server = MockServer::start([answer("Hi.")]);
    let output = proxied().with_variable("OPENAI_BASE_URL", &format!("{}/v1", server.url)).run(&ask);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    let secure = proxied().with_variable("OPENAI_BASE_URL", "https://models.example.invalid/v1");
    // The proxy of this test opens no tunnels.
    assert!(secure.run(&ask).err.contains("the proxy could not connect to models.example.invalid"));
    assert_eq!(proxy.requests().len(), 2);
}

#[test]
fn local_server_is_found_through_the_proxy() {
    let models = ollama_replies();
    let proxy = MockServer::start(models);
    let sandbox = with_ollama(Sandbox::new(), "http://ollama.example.invalid:11434")
        .with_variable("HTTP_PROXY", &proxy.url)
        .with_variable("http_proxy", &proxy.url);
    let output = sandbox.run(&["models"]);
    assert!(output.out.contains("ollama/qwen3:8b"), "{}{}", output.out, output.err);
    assert_eq!(proxy.requests()[0].headers["host"], "ollama.example.invalid:11434");
}

#[test]
fn invalid_proxy_variable_stops_requests_and_is_named() {
    let sandbox = Sandbox::new()
        .with_variable("OPENAI_API_KEY", KEY)
        .with_variable("HTTPS_PROXY", "ftp://127.0.0.1:9500");
    let output = sandbox.run(&["-p", "--model", "openai/gpt-5", "hello"]);
    assert!(output.err.contains("HTTPS_PROXY is invalid: expected the URL of a proxy"), "{}", output.err);
    let output = sandbox.run(&["doctor"]);
    let line = output.out.lines().find(|line| line.contains(" proxy ")).unwrap();
    assert!(line.starts_with("✗ proxy          HTTPS_PROXY is invalid"), "{}", output.out);
    assert_eq!(output.code, Some(1));
}

#[test]
fn model_of_absent_local_server_names_the_server() {
    let sandbox = with_ollama(Sandbox::new(), "http://127.0.0.1:9");
    for model in [&["--model", "vllm/qwen3"][..], &["--provider", "vllm"]] {
        let output = sandbox.run(&[model, &["-p", "hello"]].concat());
        assert!(output.err.contains("vLLM isn't responding"), "{}", output.err);
        assert!(
            output.err.contains("VLLM_BASE_URL") && !output.err.contains("tiller login"),
            "{}",
            output.err
        );
    }
}

#[test]
fn key_of_the_command_line_is_for_the_provider_of_the_model() {
    let server = MockServer::start([answer("Hi.")]);
    let sandbox = Sandbox::new().with_variable("OPENAI_BASE_URL", &format!("{}/v1", server.url));
    let output = sandbox.run(&["-p", "--api-key", KEY, "--model", "openai/gpt-5", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    assert_eq!(server.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
    let output = sandbox.run(&["-p", "--api-key", KEY, "--model", "zai-org/glm", "hello"]);
    assert!(output.err.contains("--api-key needs a provider"), "{}", output.err);
}

#[test]
fn prices_that_a_router_lists_count_for_cataloged_models() {
    let list = r#"{"data": [{"id": "z-ai/glm-5.3", "pricing": {"prompt": "0.001", "completion": "0.002"}}]}"#;
    let server = MockServer::start([Reply::status(200, list)]);
    let sandbox = Sandbox::new()
        .with_variable("OPENROUTER_API_KEY", KEY)
        .with_variable("OPENROUTER_BASE_URL", &format!("{}/v1", server.url));
    assert_eq!(sandbox.run(&["models", "refresh"]).code, Some(0));
    let listed = sandbox.run(&["models", "openrouter/*glm-5.3"]);
    assert!(listed.out.contains("1000 / 2000"), "{}", listed.out);
}

#[test]
fn key_is_the_first_of_flag_models_file_environment_and_files() {
    let server = MockServer::start(std::iter::repeat_n(answer("Hi."), 5));
    let sandbox = Sandbox::new();
    let dir = sandbox.home().join("tiller");
    write_models(&sandbox, &json!({ "anthropic": { "baseUrl": server.url, "apiKey": "of-models-file" } }));
    fs::write(dir.join(".env"), "ANTHROPIC_API_KEY=of-env-file\n").unwrap();
    fs::write(dir.join("auth.json"), r#"{"anthropic": {"type": "api_key", "key": "of-auth-file"}}"#).unwrap();
    let ask = ["-p", "--provider", "anthropic", "hello"];
    let sandbox = sandbox.with_variable("ANTHROPIC_API_KEY", "of-environment");
    assert_eq!(sandbox.run(&[&ask[..], &["--api-key", "of-flag"]].concat()).code, Some(0));
    assert_eq!(sandbox.run(&ask).code, Some(0));
    write_models(&sandbox, &json!({ "anthropic": { "baseUrl": server.url } }));
    assert_eq!(sandbox.run(&ask).code, Some(0));
    let sandbox = sandbox.without_variable("ANTHROPIC_API_KEY");
    assert_eq!(sandbox.run(&ask).code, Some(0));
    fs::remove_file(dir.join(".env")).unwrap();
    assert_eq!(sandbox.run(&ask).code, Some(0));
    let keys: Vec<String> =
        server.requests().into_iter().map(|request| request.headers["x-api-key"].clone()).collect();
    assert_eq!(keys, ["of-flag", "of-models-file", "of-environment", "of-env-file", "of-auth-file"]);
}

#[test]
fn refreshed_models_are_listed_and_usable() {
    let list = r#"{"data": [{"id": "claude-opus-5-5"}, {"id": "claude-next"}], "has_more": false}"#;
    let server = MockServer::start([Reply::status(200, list), answer("Hi.")]);
    let sandbox = Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", KEY)
        .with_variable("ANTHROPIC_BASE_URL", &server.url);
    let output = sandbox.run(&["models", "refresh"]);
    let expected = "anthropic: 2 models, 1 of them new: anthropic/claude-next\n";
    assert_eq!((output.out.as_str(), output.code), (expected, Some(0)), "{}", output.err);
    assert!(sandbox.run(&["models"]).out.contains("anthropic/claude-next"));
    let output = sandbox.run(&["-p", "--model", "claude-next", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
}

#[test]
fn refresh_takes_a_key_from_a_flag_and_says_why_it_asks_nobody() {
    let server = MockServer::start([Reply::status(200, r#"{"data": [{"id": "gpt-5"}]}"#)]);
    let sandbox = Sandbox::new().with_variable("GROQ_BASE_URL", &server.url);
    let output = sandbox.run(&["--provider", "groq", "--api-key", KEY, "models", "refresh"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(server.requests()[0].headers["authorization"], format!("Bearer {KEY}"));
    let cases = [
        ("ollama", "the models of Ollama can't be cached"),
        ("openai", "no API key for openai"),
        ("nobody", "no provider named `nobody`"),
    ];
    for (provider, expected) in cases {
        let output = Sandbox::new().run(&["models", "refresh", provider]);
        assert_eq!(output.code, Some(2));
        assert!(output.err.contains(expected), "{}", output.err);
    }
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A header of a user's own server, which is secret too.
const SECRET_HEADER: &str = "another-secret-value-987654";

/// An error response that repeats the secrets.
fn quoting(status: u16) -> Reply {
    let message = format!("no: {KEY} {SECRET_HEADER}");
    Reply::status(status, &json!({ "error": { "message": message } }).to_string())
}

/// Checks that no file of the sandbox has one of these secrets, except these files.
fn check_files(sandbox: &Sandbox, secrets: &[&str], except: &[&str]) {
    let written: Vec<PathBuf> = [sandbox.home(), sandbox.project()].into_iter().flat_map(files).collect();
    assert!(written.len() > 3, "{written:?}");
    for path in written.iter().filter(|path| !except.iter().any(|name| path.ends_with(name))) {
        let bytes = fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{}", path.display());
    }
}

#[test]
fn key_gets_nowhere_in_runs_that_fail_in_every_way() {
    for api in ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"] {
        let replies = [
            quoting(500),
            Reply::status(307, "").header("location", &format!("http://elsewhere/?key={KEY}")),
            Reply::Bytes(format!("data: {{\"error\": {{\"message\": \"{KEY}\"}}}}\n\n").into_bytes()),
            Reply::Bytes(format!("data: {{\"{KEY}\"\n\n").into_bytes()),
            Reply::status(200, &format!("<html><title>{KEY}</title></html>"))
                .header("content-type", "text/html"),
            quoting(400),
            quoting(401),
            quoting(403),
            quoting(404),
            quoting(429).header("retry-after", "1000"),
        ];
        let count = replies.len();
        let server = MockServer::start(replies);
        let sandbox = Sandbox::new()
            .with_variable("TILLER_RETRY_MAX", "0")
            .with_variable("TILLER_LOG", "trace")
            .with_variable("WORK_TOKEN", SECRET_HEADER);
        let own = |base_url: String| {
            json!({
                "baseUrl": base_url, "api": api,
                "apiKey": format!("!printf {}; printf {}", &KEY[..10], &KEY[10..]),
                "headers": { "x-token": "$WORK_TOKEN" }, "models": [{ "id": "coder" }],
            })
        };
        let gone = own("http://127.0.0.1:1/v1".to_owned());
        write_models(&sandbox, &json!({ "work": own(format!("{}/v1", server.url)), "gone": gone }));
        let mut printed = String::new();
        for number in 0..=count {
            let trace = sandbox.home().join(format!("trace-{number}.jsonl")).display().to_string();
            let model = if number < count { "work/coder" } else { "gone/coder" };
            let fixed = ["--mode", "json", "--trace", &trace, "--model", model, "hello"];
            let resume = if number == 0 { &[][..] } else { &["-c"] };
            let output = sandbox.run(&[&fixed, resume].concat());
            assert_eq!(output.code, Some(1), "{}", output.err);
            printed.push_str(&output.out);
            printed.push_str(&output.err);
        }
        assert_eq!(server.requests().len(), count, "{api}");
        server.push(quoting(401));
        let refreshed = sandbox.run(&["models", "refresh"]);
        printed.push_str(&(refreshed.out + &refreshed.err));
        let html = sandbox.project().join("page.html").display().to_string();
        let log = sandbox.logs()[0].display().to_string();
        let exported = sandbox.run(&["sessions", "export", &log, "--output", &html]);
        assert_eq!(exported.code, Some(0), "{}", exported.err);
        assert!(printed.contains("[key]"), "{printed}");
        assert!(!printed.contains(KEY) && !printed.contains(SECRET_HEADER), "{printed}");
        check_files(&sandbox, &[KEY, SECRET_HEADER], &[]);
    }
}

#[test]
fn key_of_every_source_gets_nowhere() {
    for source in ["--api-key", "variable", ".env", "auth.json"] {
        let server = MockServer::start([quoting(401), quoting(500)]);
        let mut sandbox = Sandbox::new()
            .with_variable("OPENAI_BASE_URL", &format!("{}/v1", server.url))
            .with_variable("TILLER_RETRY_MAX", "1")
            .with_variable("TILLER_RETRY_BASE_MS", "0")
            .with_variable("TILLER_LOG", "trace");
        let mut arguments = vec!["-p", "--provider", "openai", "--model", "gpt-5.1", "hello"];
        match source {
            "--api-key" => arguments.extend(["--api-key", KEY]),
            "variable" => sandbox = sandbox.with_variable("OPENAI_API_KEY", KEY),
            ".env" => {
                fs::create_dir_all(sandbox.home().join("tiller")).unwrap();
                fs::write(sandbox.home().join("tiller/.env"), format!("OPENAI_API_KEY={KEY}\n")).unwrap();
            }
            _ => {
                let stored = sandbox.run_with_stdin(&["login", "openai"], KEY);
                assert_eq!(stored.code, Some(0), "{}", stored.err);
            }
        }
        for _ in 0..2 {
            let output = sandbox.run(&arguments);
            assert_eq!(output.code, Some(1), "{}", output.err);
            let printed = output.out + &output.err;
            assert!(printed.contains("[key]") && !printed.contains(KEY), "{source}: {printed}");
        }
        assert!(server.requests()[0].headers["authorization"].contains(KEY), "{source}");
        check_files(&sandbox, &[KEY], &["tiller/.env", "tiller/auth.json"]);
    }
}
