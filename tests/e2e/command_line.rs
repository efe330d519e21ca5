//! Output and exit codes of the command line.

use std::collections::HashSet;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::sandbox::Sandbox;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};
use tiller_test_support::terminal::TerminalKey;

fn scripted(sandbox: &Sandbox, lines: &[&str], extra_arguments: &[&str]) -> super::sandbox::RunOutput {
    let script = sandbox.script(lines);
    sandbox.run(&[&["-p", "--provider", "scripted", "--model", &script], extra_arguments].concat())
}

#[test]
fn print_without_model_never_uses_the_demo() {
    let output = Sandbox::new().run(&["--model", "nosuch", "-p", "hi"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)));
    assert!(
        !output.err.contains("demo/tour") && output.err.contains("try --provider demo"),
        "{}",
        output.err
    );
    let output = Sandbox::new().run(&["-p", "hi"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)));
    assert!(
        output.err.contains("no model available") && output.err.contains("ANTHROPIC_API_KEY"),
        "{}",
        output.err
    );
}

#[test]
fn usage_error_exits_with_2_and_names_the_problem() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 13] = [
        (&["stats", "--days", "0"], "expected a whole number from 1 to 65535"),
        (&["race", "--resume"], "hint: `tiller` starts a new session;"),
        (&["--no-such-flag"], "--no-such-flag"),
        (&["race", "--provider", "demo", "hi"], "tip: session options come before `race`"),
        (&["serve", "--model", "demo/tour"], "tip: session options come before `serve`"),
        (&["race", "--no-such-flag", "hi"], "to pass '--no-such-flag' as a value"),
        (&["-p", "--provider", "nobody", "hi"], "no provider named `nobody`"),
        (&["-p", "--provider", "anthropic", "hi"], "no API key for anthropic"),
        (&["-p", "--api-key", "sk-mine", "--model", "sonnet", "hi"], "specify it with --provider"),
        (&["-p", "--provider", "demo"], "no prompt"),
        (&["-p", "--provider", "demo", "-c", "hi"], "has no session to continue"),
        (
            &["-p", "--provider", "demo", "--session", "zzzz", "hi"],
            "no session id begins or ends with `zzzz`",
        ),
        (&["-p", "--provider", "demo", "--max-turns", "0", "hi"], "--max-turns: `0` is not a whole number"),
    ];
    for (arguments, expected) in cases {
        let output = sandbox.run(arguments);
        assert_eq!(output.code, Some(2), "{arguments:?}: {}", output.err);
        assert!(output.err.contains(expected), "{arguments:?}: {}", output.err);
    }
    assert!(sandbox.logs().is_empty());
}

#[test]
fn unknown_command_is_not_sent_as_a_prompt() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let fixed = ["--provider", "scripted", "--model", &script, "-p"];
    for line in [&["plugins"][..], &["update"], &["config", "set"], &["server"], &["sesions"]] {
        let output = sandbox.run(&[&fixed[..], line].concat());
        assert_eq!((output.out.as_str(), output.code), ("", Some(2)), "{line:?}: {}", output.err);
        let expected = format!("`tiller -- {}` sends this", line.join(" "));
        assert!(output.err.contains(&expected), "{line:?}: {}", output.err);
        let prompt_output = sandbox.run(&[&fixed[..], &["--"], line].concat());
        assert_eq!(
            (prompt_output.out.as_str(), prompt_output.code),
            ("Hi.\n", Some(0)),
            "{line:?}: {}",
            prompt_output.err
        );
    }
    let lst = sandbox.run(&["sessions", "lst"]);
    assert!(lst.code == Some(2) && lst.err.contains("'list'"), "{}", lst.err);
    let prompt_output = sandbox.run(&[&fixed[..], &["update the docs"]].concat());
    assert_eq!((prompt_output.out.as_str(), prompt_output.code), ("Hi.\n", Some(0)), "{}", prompt_output.err);
}

#[test]
fn completions_are_printed_for_every_shell() {
    let sandbox = Sandbox::new();
    for (shell, expected) in [
        ("bash", "complete -F _tiller"),
        ("zsh", "#compdef tiller"),
        ("fish", "complete -c tiller"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let output = sandbox.run(&["completions", shell]);
        assert_eq!(output.code, Some(0), "{shell}: {}", output.err);
        assert!(output.out.contains(expected) && output.out.contains("add-dir"), "{shell}: {}", output.out);
    }
    assert_eq!(sandbox.run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn man_prints_a_page_with_every_command() {
    let output = Sandbox::new().run(&["man"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    for expected in [".TH tiller", "tiller\\-sessions", "\\-\\-trace"] {
        assert!(output.out.contains(expected), "{expected}: {}", output.out);
    }
}

#[test]
fn models_are_listed_with_limits_and_key_status() {
    let sandbox = Sandbox::new().with_variable("ANTHROPIC_API_KEY", "k");
    let output = sandbox.run(&["models", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&output.out).unwrap();
    let of_provider = |provider: &str| rows.iter().find(|row| row["provider"] == provider).unwrap();
    let (claude, gpt) = (of_provider("anthropic"), of_provider("openai"));
    assert_eq!([&claude["hasKey"], &claude["usable"]], [&json!(true), &json!(true)]);
    assert_eq!([&gpt["hasKey"], &gpt["usable"]], [&json!(false), &json!(false)]);
    let problem = "no key: set OPENAI_API_KEY, or run `tiller login openai`";
    assert_eq!([&claude["problem"], &gpt["problem"]], [&json!(null), &json!(problem)]);
    assert_eq!(claude["pdf"], json!(true));
    assert!(claude["window"].as_u64() > claude["maxOutput"].as_u64(), "{claude}");
    assert!(claude["price"]["input"].is_number() && claude["thinking"].is_array(), "{claude}");

    let output = sandbox.run(&["models", "GPT-5"]);
    assert!(output.out.starts_with("MODEL ") && !output.out.contains("claude"), "{}", output.out);
    assert!(output.out.lines().skip(1).all(|line| line.contains("gpt-5") && line.ends_with("missing")));
    let output = sandbox.run(&["models", "nothing-of-the-kind"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(1)), "{}", output.err);
}

#[test]
fn models_of_custom_server_need_no_key() {
    let sandbox = Sandbox::new().with_variable("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let output = sandbox.run(&["--provider", "openai", "--model", "qwen3:8b", "models", "qwen"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let row = output.out.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("openai/qwen3:8b") && row.ends_with("not needed"), "{}", output.out);
}

#[test]
fn agent_mode_off_is_a_chat_without_tools() {
    let server = MockServer::start([
        Reply::answer([AnswerPart::text("Hi.")]),
        Reply::answer([AnswerPart::text("Hi.")]),
    ]);
    let sandbox = Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "k")
        .with_variable("ANTHROPIC_BASE_URL", &server.url);
    let plain = sandbox.with_variable("AGENT_MODE", "false");
    let output = plain.run(&["-p", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    let output = plain.run(&["-p", "--tools", "on", "hello"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let tools: Vec<bool> = server.requests().iter().map(|it| it.body["tools"].is_array()).collect();
    assert_eq!(tools, [false, true]);
}

#[test]
fn resume_query_without_match_has_a_hint() {
    let sandbox = Sandbox::new();
    for has_session in [false, true] {
        if has_session {
            scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["hello"]);
        }
        let output = sandbox.run(&["-p", "--provider", "demo", "-r", "zzzz", "go on"]);
        assert_eq!(output.code, Some(2), "{}", output.err);
        for expected in ["matches `zzzz`", "`tiller -r` opens the list", "tiller sessions search"] {
            assert!(output.err.contains(expected), "{expected}: {}", output.err);
        }
        assert!(!output.err.contains("-c"), "{}", output.err);
    }
}

#[test]
fn settings_are_shown_with_their_sources() {
    let sandbox = Sandbox::new().with_variable("TILLER_BASH_TIMEOUT_S", "7");
    let settings: Value = serde_json::from_str(&sandbox.run(&["settings", "--json"]).out).unwrap();
    let row =
        |name: &str| settings.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!(row("bash.timeout_s")["value"], "7");
    assert_eq!(row("bash.timeout_s")["source"], "TILLER_BASH_TIMEOUT_S");
    assert_eq!(row("steering_point")["source"], "default");
    let plain = sandbox.run(&["settings"]).out;
    assert!(plain.contains("TILLER_BASH_TIMEOUT_S"), "{plain}");
    let values = plain.lines().filter(|line| line.contains(" (unset) ")).map(|line| line.find("(unset)"));
    assert_eq!(values.collect::<HashSet<_>>().len(), 1, "the column isn't wide enough: {plain}");
}

#[test]
fn print_with_unknown_theme_warns() {
    let sandbox = Sandbox::new();
    let output = scripted(&sandbox, &[r#"{"text": "Hello."}"#], &["--theme", "gruvboxx", "hi"]);
    assert_eq!((output.out.as_str(), output.code), ("Hello.\n", Some(0)), "{}", output.err);
    assert!(output.err.contains("warning: --theme: no theme named `gruvboxx`"), "{}", output.err);
}

#[test]
fn race_outside_a_repository_is_one_usage_error() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["--provider", "demo", "race", "hi"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)), "{}", output.err);
    assert_eq!(output.err.matches("is not in a Git repository").count(), 1, "{}", output.err);
}

#[test]
fn typo_of_a_command_is_refused_unless_after_two_dashes() {
    let sandbox = Sandbox::new();
    let output = scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["sesions", "list"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    assert!(output.err.contains("did you mean `tiller sessions list`?"), "{}", output.err);
    assert!(output.err.contains("`tiller -- sesions list` sends this as a prompt"), "{}", output.err);
    let output = scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["--", "sesions", "list"]);
    assert_eq!((output.code, output.out.as_str()), (Some(0), "Hi.\n"), "{}", output.err);
}

#[test]
fn settings_errors_stop_print_but_not_the_settings_command() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("tiller/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"approval": "maybe", "max_turns": "x"}"#).unwrap();
    let output = scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["hello"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(
        output.err.contains("`maybe` is not one of") && output.err.contains("`x` is not a whole"),
        "{}",
        output.err
    );
    let settings = sandbox.run(&["settings"]);
    assert_eq!(settings.code, Some(0), "{}", settings.err);
    assert!(
        settings.err.contains("`maybe`") && settings.err.contains("read-only, the strictest"),
        "{}",
        settings.err
    );
    let row = settings.out.lines().find(|line| line.starts_with("approval ")).unwrap();
    assert!(row.contains("read-only") && row.contains("value in the file is invalid"), "{row}");
    std::fs::write(&file, "{\n  \"sync\": \"never\",\n}").unwrap();
    let output = scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["hello"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output.err.contains("settings.json, line 3, column 1: invalid JSON: trailing comma"),
        "{}",
        output.err
    );
}

#[test]
fn flags_are_accepted_before_and_after_a_command() {
    let sandbox = Sandbox::new();
    let project = sandbox.project().canonicalize().unwrap().display().to_string();
    scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["--session-dir", "logs", "hello"]);
    let orders: [&[&str]; 3] = [
        &["--cwd", &project, "--session-dir", "logs", "sessions", "list", "--json"],
        &["sessions", "--session-dir", "logs", "list", "--json"],
        &["sessions", "list", "--json", "--session-dir", "logs", "--cwd", &project],
    ];
    for order in orders {
        let output = sandbox.run(order);
        assert_eq!(output.code, Some(0), "{order:?}: {}", output.err);
        let list: Value = serde_json::from_str(&output.out).unwrap();
        assert_eq!(list[0]["firstPrompt"], "hello", "{order:?}");
    }
    let settings = sandbox.run(&["--model", "opus", "settings", "--json"]);
    let settings: Value = serde_json::from_str(&settings.out).unwrap();
    let model = settings.as_array().unwrap().iter().find(|row| row["name"] == "model").unwrap();
    assert_eq!((&model["value"], &model["source"]), (&json!("opus"), &json!("--model")));
}

#[test]
fn log_names_requests_without_text_or_keys() {
    let sandbox = Sandbox::new().with_variable("ANTHROPIC_API_KEY", "hush-hush-key-of-mine");
    // No server listens on this address.
    let sandbox = sandbox
        .with_variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        .with_variable("TILLER_RETRY_ENABLED", "off");
    let output =
        sandbox.run(&["--log-level", "debug", "--provider", "anthropic", "-p", "a private question"]);
    assert_eq!(output.code, Some(1), "{}", output.err);
    let log = std::fs::read_to_string(sandbox.home().join("tiller/state/tiller.log")).unwrap();
    for words in [
        "session opened",
        "sending the request",
        "host=\"127.0.0.1:9\" bytes=",
        "request failed",
        "run ended",
    ] {
        assert!(log.contains(words), "{words}:\n{log}");
    }
    assert!(!log.contains("hush") && !log.contains("private"), "{log}");
}

#[test]
fn no_session_stores_nothing() {
    let sandbox = Sandbox::new();
    let output = scripted(&sandbox, &[r#"{"text": "Hi."}"#], &["--no-session", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Hi.\n", Some(0)), "{}", output.err);
    assert!(!sandbox.home().join("tiller").exists());
}

#[test]
fn no_session_tui_stores_nothing() {
    let mut sandbox = Sandbox::new();
    let temporary = sandbox.project().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    sandbox = sandbox.with_variable("TMPDIR", &temporary.display().to_string());
    let long = r#"{"calls": [{"name": "bash", "arguments": {"command": "seq 9000; ls $TMPDIR > made"}}]}"#;
    let mut terminal = sandbox.open_scripted(&[long, r#"{"text": "Counted."}"#], &["--no-session"]);
    terminal.wait_for("❯");
    terminal.send("count to 9000");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Counted.");
    terminal.send("/session");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("resume with    not possible: the session is in memory only");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("resume with");
    terminal.send("half a thought");
    terminal.wait_for("❯ half a thought");
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.wait().exit_code(), 130);
    let screen = terminal.screen();
    assert!(screen.contains("this session was not saved"), "{screen}");
    assert!(!screen.contains("tiller --session"), "{screen}");
    let created = std::fs::read_to_string(sandbox.project().join("made")).unwrap();
    assert!(created.starts_with("tiller-"), "{created}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!sandbox.home().join("tiller").exists());
}

#[test]
fn a_session_is_listed_shown_and_drawn() {
    let sandbox = Sandbox::new();
    scripted(
        &sandbox,
        &[r#"{"calls": [{"name": "list_files", "arguments": {}}]}"#, r#"{"text": "Two files."}"#],
        &["--name", "files", "what is here?"],
    );
    let list: Value = serde_json::from_str(&sandbox.run(&["sessions", "list", "--json"]).out).unwrap();
    assert_eq!((&list[0]["name"], &list[0]["firstPrompt"]), (&json!("files"), &json!("what is here?")));
    let id = list[0]["id"].as_str().unwrap();
    let short = &id[id.len() - 6..];
    assert!(sandbox.run(&["sessions", "list"]).out.starts_with(short));

    let settings = sandbox.run(&["sessions", "show", short]).out;
    assert!(
        settings.contains("> what is here?\n") && settings.contains("[call list_files: {}]"),
        "{settings}"
    );
    assert!(settings.ends_with("Two files.\n"), "{settings}");

    let stats: Value =
        serde_json::from_str(&sandbox.run(&["sessions", "show", short, "--stats", "--json"]).out).unwrap();
    assert_eq!((&stats["contextMessages"], &stats["branches"]), (&json!(4), &json!(1)));
    assert_eq!(stats["warnings"], json!([]));

    let context: Value =
        serde_json::from_str(&sandbox.run(&["sessions", "show", short, "--context", "--json"]).out).unwrap();
    let roles: Vec<&str> = context.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);

    let tree = sandbox.run(&["sessions", "tree", short]).out;
    assert_eq!(tree.lines().count(), 4, "{tree}");
    assert!(tree.lines().all(|line| line.starts_with("* ")), "{tree}");
}

#[test]
fn fork_has_the_path_of_its_parent() {
    let sandbox = Sandbox::new();
    scripted(&sandbox, &[r#"{"text": "One."}"#], &["first"]);
    let parent = sandbox.logs()[0].clone();
    let output = scripted(
        &sandbox,
        &[r#"{"text": "One."}"#, r#"{"text": "Two."}"#],
        &["--fork", parent.to_str().unwrap(), "second"],
    );
    assert_eq!(output.out, "Two.\n", "{}", output.err);
    let fork = sandbox.logs().into_iter().find(|path| *path != parent).unwrap();
    let lines = |path| std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(&parent), lines(&fork));
    assert_eq!(before[1..], after[1..before.len()], "the lines are the very same");
    let header: Value = serde_json::from_str(&after[0]).unwrap();
    assert_eq!(header["parentSession"], parent.to_str().unwrap());
}

#[test]
fn models_flag_selects_the_first_model() {
    let sandbox = Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "k")
        .with_variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let sandbox = sandbox.with_variable("TILLER_RETRY_ENABLED", "off");
    sandbox.run(&["-p", "--models", "haiku-4-5:low,opus", "hi"]);
    let log = sandbox.log();
    let model = log.iter().find(|line| line["type"] == "model_change").unwrap();
    assert!(model["modelId"].as_str().unwrap().contains("haiku-4-5"), "{model}");
}

#[test]
fn thinking_flag_applies_to_resumed_session() {
    let sandbox = Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "k")
        .with_variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let sandbox = sandbox.with_variable("TILLER_RETRY_ENABLED", "off");
    let ask = |extra_arguments: &[&str]| {
        sandbox.run(&[&["-p", "--provider", "anthropic"], extra_arguments, &["hi"]].concat())
    };
    ask(&["--thinking", "low"]);
    ask(&["-c", "--thinking", "high"]);
    let levels: Vec<Value> = sandbox
        .log()
        .iter()
        .filter(|l| l["type"] == "thinking_level_change")
        .map(|l| l["thinkingLevel"].clone())
        .collect();
    assert_eq!(levels, ["low", "high"]);
}

#[test]
fn fork_of_path_with_at_sign() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.project().join("me@home")).unwrap();
    let answers = [r#"{"text": "One."}"#, r#"{"text": "Two."}"#];
    scripted(&sandbox, &answers, &["--session-dir", "me@home", "first"]);
    let mut logs = std::fs::read_dir(sandbox.project().join("me@home")).unwrap();
    let parent = logs.next().unwrap().unwrap().path().display().to_string();
    let output = scripted(&sandbox, &answers, &["--fork", &parent, "second"]);
    assert_eq!(output.out, "Two.\n", "{}", output.err);

    let text = std::fs::read_to_string(&parent).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let first = entries.into_iter().find(|entry| entry["message"]["role"] == "user").unwrap();
    let entry_path = format!("{parent}@{}", first["id"].as_str().unwrap());
    let output = scripted(&sandbox, &answers, &["--fork", &entry_path, "instead"]);
    assert_eq!(output.out, "One.\n", "{}", output.err);
}

#[test]
fn add_dir_allows_that_dir_only() {
    let (sandbox, other) = (Sandbox::new(), tempfile::tempdir().unwrap());
    std::fs::write(other.path().join("note"), "from elsewhere").unwrap();
    let path = other.path().canonicalize().unwrap().display().to_string();
    let call = |tool: &str, extra_arguments: &str| {
        format!(
            r#"{{"calls": [{{"name": "{tool}", "arguments": {{"path": "{path}/note"{extra_arguments}}}}}]}}"#
        )
    };
    let (read, write) = (call("read_file", ""), call("write_file", r#", "content": "x""#));
    let run = |expected: &str, call: &str, arguments: &[&str]| {
        let end = format!(r#"{{"expect": "{expected}", "text": "As expected."}}"#);
        let script = sandbox.script(&[call, &end]);
        let fixed = ["-p", "--no-session", "--provider", "scripted", "--model", &script];
        let output = sandbox.run(&[&fixed, arguments, &["go"]].concat());
        assert_eq!((output.out.trim(), output.code), ("As expected.", Some(0)), "{}", output.err);
    };
    run("--add-dir DIR lets tools reach it", &read, &[]);
    run("from elsewhere", &read, &["--add-dir", &path]);
    let read_only = format!("{path}:ro");
    run("from elsewhere", &read, &["--add-dir", &read_only]);
    run("is read-only", &write, &["--add-dir", &read_only]);
    run("note", &write, &["--add-dir", &path]);
    assert_eq!(std::fs::read_to_string(other.path().join("note")).unwrap(), "x");
    let output = sandbox.run(&["-p", "--provider", "demo", "--add-dir", "no/such/directory", "hi"]);
    assert!(output.code == Some(2) && output.err.contains("--add-dir no/such/directory"), "{}", output.err);
}

#[test]
fn base_url_error_disables_only_its_provider() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Fine.")])]);
    let sandbox = Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "k")
        .with_variable("ANTHROPIC_BASE_URL", &server.url)
        .with_variable("OPENAI_API_KEY", "k")
        .with_variable("OPENAI_BASE_URL", "htp:/nowhere");
    let reason = "openai is misconfigured: OPENAI_BASE_URL `htp:/nowhere` is invalid: expected http://";
    let output = sandbox.run(&["-p", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("Fine.\n", Some(0)), "{}", output.err);
    assert!(output.err.contains(reason), "{}", output.err);
    for arguments in [["--provider", "openai"], ["--model", "openai/gpt-5"], ["--model", "gpt-5"]] {
        let output = sandbox.run(&[&arguments[..], &["-p", "hello"]].concat());
        assert_eq!((output.out.as_str(), output.code), ("", Some(2)), "{arguments:?}");
        assert!(
            output.err.contains("OPENAI_BASE_URL `htp:/nowhere` is invalid"),
            "{arguments:?}: {}",
            output.err
        );
    }
    let without_models = Sandbox::new().with_variable("OPENAI_BASE_URL", "htp:/nowhere");
    let output = without_models.run(&["-p", "hello"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains(reason), "{}", output.err);
}
