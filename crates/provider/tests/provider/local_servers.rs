//! The search for model servers on this machine.

use std::net::TcpListener;
use std::time::Duration;

use tiller_core::unit::Tokens;
use tiller_provider::descriptor::ProviderDescriptor;
use tiller_provider::local_servers::find_all;
use tiller_provider::{ApiKey, Endpoint};
use tiller_test_support::mock_server::{MockServer, Reply};

/// Longer than any answer takes.
const LIMIT: Duration = Duration::from_secs(60);

fn endpoint(name: &str, url: &str) -> Endpoint {
    ProviderDescriptor::find(name).unwrap().endpoint(Some(url))
}

fn vllm_list() -> Reply {
    Reply::status(200, r#"{"data": [{"id": "q", "max_model_len": 32768}]}"#)
}

#[tokio::test]
async fn local_server_that_says_nothing_hides_no_other() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let server = MockServer::start([vllm_list()]);
    let servers = [endpoint("llamacpp", &silent_url), endpoint("vllm", &server.url)];
    let found = find_all(servers, Duration::from_secs(2)).await;
    let names: Vec<&str> = found.iter().map(|(endpoint, _)| endpoint.name.as_str()).collect();
    assert_eq!(names, ["vllm"]);
}

#[tokio::test]
async fn local_server_with_a_refusal_has_the_reason() {
    let refused = [("vllm", 401), ("llamacpp", 503), ("vllm", 404)];
    let server = MockServer::start(refused.map(|(_, status)| Reply::status(status, "")));
    let mut reasons = Vec::new();
    for (name, _) in refused {
        let found = find_all([endpoint(name, &server.url)], LIMIT).await;
        reasons.extend(found.into_iter().map(|(_, models)| models.unwrap_err()));
    }
    let expected = [
        "its server returns HTTP status 401; no key: set VLLM_API_KEY, or store a key with \
         `tiller login vllm` or /login",
        "its server returns HTTP status 503; it may still be loading its model",
    ];
    assert_eq!(reasons, expected, "with 404 it is another program");
}

#[tokio::test]
async fn local_server_is_asked_with_its_key_and_headers() {
    let server = MockServer::start([vllm_list()]);
    let headers = vec![("x-team".to_owned(), ApiKey::new("blue".into()))];
    let endpoint = Endpoint { headers, ..endpoint("vllm", &server.url).with_key("k".into()) };
    let (_, models) = find_all([endpoint], LIMIT).await.remove(0);
    let models = models.unwrap();
    assert_eq!((models[0].id.as_str(), models[0].window), ("q", Tokens(32_768)));
    let request = &server.requests()[0];
    assert_eq!((&*request.headers["authorization"], &*request.headers["x-team"]), ("Bearer k", "blue"));
}

#[tokio::test]
async fn local_server_behind_a_path_is_asked_there() {
    let tags = || Reply::status(200, r#"{"models": [{"name": "qwen3:8b"}]}"#);
    for (base, prefix) in [("/v1", ""), ("/ollama/v1/", "/ollama"), ("", "")] {
        let server = MockServer::start([tags(), tags(), tags()]);
        let found = find_all([endpoint("ollama", &format!("{}{base}", server.url))], LIMIT).await;
        assert!(found[0].1.is_ok(), "{base}");
        let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(
            paths,
            ["/api/tags", "/api/ps", "/api/show"].map(|path| format!("{prefix}{path}")),
            "{base}"
        );
    }
}
