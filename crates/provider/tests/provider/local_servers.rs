//! The search for model servers on this machine.

use tiller_core::unit::Tokens;
use tiller_provider::Endpoint;
use tiller_provider::descriptor::ProviderDescriptor;
use tiller_provider::local_servers::find_all;
use tiller_test_support::mock_server::{MockServer, Reply};

#[tokio::test]
async fn local_server_is_asked_with_its_key_and_headers() {
    let server =
        MockServer::start([Reply::status(200, r#"{"data": [{"id": "q", "max_model_len": 32768}]}"#)]);
    let endpoint = ProviderDescriptor::find("vllm").unwrap().endpoint(Some(&server.url));
    let headers = vec![("x-team".to_owned(), "blue".into())];
    let endpoint = Endpoint { headers, ..endpoint.with_key("k".into()) };
    let (_, models) = find_all([endpoint]).await.remove(0);
    assert_eq!((models[0].id.as_str(), models[0].window), ("q", Tokens(32_768)));
    let request = &server.requests()[0];
    assert_eq!((&*request.headers["authorization"], &*request.headers["x-team"]), ("Bearer k", "blue"));
}
