//! Failed requests and their classification.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tiller_provider::compat::Compat;
use tiller_provider::descriptor::ProviderDescriptor;
use tiller_provider::{
    Anthropic, ApiKey, Endpoint, FailureKind, Gemini, OpenAiChat, OpenAiResponses, Provider, Timeouts,
};
use tiller_test_support::mock_server::{AnswerPart, MockServer, PING, Reply, StreamEnd};

use crate::{
    FORMATS, anthropic, anthropic_endpoint, collect, failure, gemini_endpoint, hello, open_ai_endpoint,
    providers, server_for_all,
};

const TRANSIENT: FailureKind = FailureKind::Transient { retry_after: None };

#[tokio::test]
async fn failure_has_the_status_and_provider_message() {
    let wait = Some(Duration::from_secs(7));
    let cases = [
        (
            Reply::status(429, r#"{"error":{"type":"rate_limit_error","message":"Slow down"}}"#)
                .header("retry-after", "7"),
            FailureKind::Transient { retry_after: wait },
            "Slow down (HTTP status 429)",
        ),
        (
            Reply::status(529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            TRANSIENT,
            "Overloaded (HTTP status 529)",
        ),
        (
            Reply::status(500, "<html><title>Oops</title></html>").header("content-type", "text/html"),
            TRANSIENT,
            "a web page: Oops (HTTP status 500)",
        ),
        (
            Reply::status(
                401,
                r#"{"error":{"message":"Incorrect API key provided: hush-hush-key or sk-abcdef***xyz"}}"#,
            ),
            FailureKind::Auth,
            "Incorrect API key provided: [key] or [key] (HTTP status 401)",
        ),
        (
            Reply::status(
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
            ),
            FailureKind::Overflow,
            "prompt is too long: 9 > 8 (HTTP status 400)",
        ),
        (
            Reply::status(302, "").header("location", "https://elsewhere.example/"),
            FailureKind::Fatal,
            "redirected to https://elsewhere.example/ (HTTP status 302)",
        ),
        (Reply::status(302, ""), FailureKind::Fatal, "redirected to another address (HTTP status 302)"),
        (
            Reply::status(200, "<html>Welcome</html>").header("content-type", "text/html"),
            FailureKind::Fatal,
            "expected an event stream, got a web page",
        ),
        (
            Reply::status(200, r#"{"error":{"message":"Rate limit reached"}}"#)
                .header("content-type", "application/json"),
            TRANSIENT,
            "Rate limit reached",
        ),
    ];
    for (reply, expected, message) in cases {
        let server = server_for_all(&reply);
        for provider in providers(&server) {
            let error = failure(&*provider, hello("m")).await;
            assert_eq!((error.failure, error.message.as_str()), (expected, message));
            assert_eq!(error.provider, provider.name());
        }
    }
}

#[tokio::test]
async fn failure_class_follows_each_status() {
    let wait = |seconds| FailureKind::Transient { retry_after: Some(Duration::from_secs(seconds)) };
    let cases = [
        (400, FailureKind::Fatal),
        (401, FailureKind::Auth),
        (402, FailureKind::Quota),
        (403, FailureKind::Auth),
        (404, FailureKind::Fatal),
        (408, wait(3)),
        (413, FailureKind::Overflow),
        (422, FailureKind::Fatal),
        (429, wait(3)),
        (500, wait(3)),
        (502, wait(3)),
        (503, wait(3)),
        (504, wait(3)),
        (529, wait(3)),
    ];
    let bodies = ["", "<html><title>No</title></html>", r#"{"error":{"message":"No."}}"#];
    let all = bodies.iter().flat_map(|body| cases.map(|(status, class)| (*body, status, class)));
    for (body, status, expected) in all {
        let server = server_for_all(&Reply::status(status, body).header("retry-after", "3"));
        for provider in providers(&server) {
            let error = failure(&*provider, hello("m")).await;
            assert_eq!(error.failure, expected, "{status} {body}");
            assert!(error.message.contains(&format!("HTTP status {status}")), "{error}");
        }
    }
}

#[tokio::test]
async fn failure_400_without_message_is_overflow_at_cerebras() {
    let server =
        MockServer::start([Reply::status(400, ""), Reply::status(400, "{}"), Reply::status(400, "No.")]);
    let endpoint = ProviderDescriptor::find("cerebras").unwrap().endpoint(Some(&server.url));
    let provider = OpenAiChat::new(endpoint, Compat::COMMON).unwrap();
    for expected in [FailureKind::Overflow, FailureKind::Overflow, FailureKind::Fatal] {
        assert_eq!(failure(&provider, hello("m")).await.failure, expected);
    }
}

#[tokio::test]
async fn page_of_another_content_type_is_no_answer() {
    let page = "\n<!doctype html><title>Sign in</title>".repeat(2);
    let server = server_for_all(&Reply::status(200, &page).header("content-type", "text/plain"));
    for provider in providers(&server) {
        let error = failure(&*provider, hello("m")).await;
        let message = "expected an event stream, got a web page: Sign in";
        assert_eq!((error.failure, &*error.message), (FailureKind::Fatal, message), "{}", provider.api());
    }
}

#[tokio::test]
async fn failure_text_that_is_cut_within_a_key_has_no_part_of_it() {
    const KEY: &str = "hush-hush-key";
    let json = |body: String| Reply::status(500, &body);
    let stream = |data: String| Reply::Bytes(format!("data: {data}\n\n").into_bytes());
    let html = |body: &str| Reply::status(200, body).header("content-type", "text/html");
    // Wherever it is cut, that is within a key.
    let text = KEY.repeat(1_000);
    let replies = [
        json(text.clone()),
        json(format!("<title>{text}</title>")),
        json(format!(r#"{{"error":{{"message":"{text}"}}}}"#)),
        json(format!(r#"{{"error":{{"message":["{text}"]}}}}"#)),
        json(format!(r#"{{"error":{{"message":"no","metadata":{{"raw":"{text}"}}}}}}"#)),
        html(&text),
        html(&format!("<title>{text}</title>")),
        stream(format!(r#"{{"error":{{"message":"{text}"}}}}"#)),
        stream(format!(r#"{{"type":"error","error":{{"message":"{text}"}}}}"#)),
        stream(format!(r#"{{"type":"response.failed","response":{{"error":{{"message":"{text}"}}}}}}"#)),
        stream(format!(r#"{{"type":"unknown","object":"unknown","x":"{text}"}}"#)),
        stream(text.clone()),
    ];
    for reply in replies {
        let server = server_for_all(&reply);
        for provider in providers(&server) {
            let shown = format!("{:?}", collect(&*provider, hello("m")).await);
            assert!(shown.contains("[key]") && !shown.contains("hu"), "{shown}");
        }
    }
}

#[tokio::test]
async fn failure_of_a_huge_event_names_the_limit() {
    let event = format!("data: {}\n\n", "x".repeat(20 * 1024 * 1024));
    let server = server_for_all(&Reply::Bytes(event.into_bytes()));
    for provider in providers(&server) {
        let error = failure(&*provider, hello("m")).await;
        let expected = (FailureKind::Fatal, "an event of the stream is longer than 16 MiB");
        assert_eq!((error.failure, error.message.as_str()), expected);
    }
}

#[tokio::test]
async fn redirect_to_another_host_sends_nothing_there() {
    for status in [301, 302, 303, 307, 308] {
        let other = MockServer::start([]);
        let location = format!("{}/v1/chat/completions", other.url.replace("127.0.0.1", "localhost"));
        let server = server_for_all(&Reply::status(status, "").header("location", &location));
        for provider in providers(&server) {
            let error = failure(&*provider, hello("m")).await;
            assert_eq!(error.failure, FailureKind::Fatal);
            assert_eq!(error.message, format!("redirected to {location} (HTTP status {status})"));
        }
        assert_eq!(other.requests().len(), 0);
    }
}

#[tokio::test]
async fn failure_of_refused_key_has_a_hint_with_its_name() {
    let server = MockServer::start([Reply::status(401, ""), Reply::status(403, "")]);
    let error = failure(&anthropic(&server), hello("m")).await;
    assert_eq!(error.hint.as_deref(), Some("check ANTHROPIC_API_KEY"));
    let mut endpoint = open_ai_endpoint(&server);
    endpoint.key = None;
    let error = failure(&OpenAiChat::new(endpoint, Compat::COMMON).unwrap(), hello("m")).await;
    assert_eq!(
        error.hint.as_deref(),
        Some("no key: set OPENAI_API_KEY, or store a key with `tiller login openai` or /login")
    );
    assert!(!server.requests()[1].headers.contains_key("authorization"));
}

#[tokio::test]
async fn request_with_expired_token_is_sent_again_with_a_new_one() {
    let refused = || Reply::status(401, "expired");
    let answered = Reply::answer([AnswerPart::text("hi")]);
    let server = MockServer::start([refused(), answered, refused(), refused(), refused()]);
    let loads = AtomicUsize::new(0);
    let key =
        ApiKey::lazy(move || Ok(format!("token-{}", loads.fetch_add(1, Ordering::Relaxed).min(2)).into()));
    let endpoint = Endpoint { key: Some(key), ..anthropic_endpoint(&server) };
    let provider = Anthropic::new(endpoint).unwrap();
    collect(&provider, hello("m")).await.pop().unwrap().unwrap();
    assert_eq!(failure(&provider, hello("m")).await.failure, FailureKind::Auth, "only once");
    assert_eq!(
        failure(&provider, hello("m")).await.failure,
        FailureKind::Auth,
        "the same token isn't sent again"
    );
    let keys: Vec<_> = server.requests().iter().map(|sent| sent.headers["x-api-key"].clone()).collect();
    assert_eq!(keys, ["token-0", "token-1", "token-1", "token-2", "token-2"]);
}

#[tokio::test]
async fn request_with_expired_header_is_sent_again_with_a_new_one() {
    let server = MockServer::start([Reply::status(403, ""), Reply::answer([AnswerPart::text("hi")])]);
    let loads = AtomicUsize::new(0);
    let value = ApiKey::lazy(move || Ok(format!("value-{}", loads.fetch_add(1, Ordering::Relaxed)).into()));
    let endpoint = Endpoint { headers: vec![("x-token".into(), value)], ..anthropic_endpoint(&server) };
    collect(&Anthropic::new(endpoint).unwrap(), hello("m")).await.pop().unwrap().unwrap();
    let sent: Vec<_> = server.requests().iter().map(|sent| sent.headers["x-token"].clone()).collect();
    assert_eq!(sent, ["value-0", "value-1"]);
}

#[tokio::test]
async fn failure_of_interrupted_stream_keeps_earlier_events() {
    for end in [StreamEnd::Early(5), StreamEnd::Reset(5)] {
        let reply = Reply::answer([AnswerPart::text("a long text in many pieces")]).with_end(end);
        let server = server_for_all(&reply);
        for provider in providers(&server) {
            let mut parts = collect(&*provider, hello("m")).await;
            let error = parts.pop().unwrap().unwrap_err();
            assert_eq!(error.failure, FailureKind::Interrupted, "{end:?} {error}");
            assert!(parts.len() >= 3 && parts.iter().all(Result::is_ok));
        }
    }
}

#[tokio::test]
async fn timeout_without_data_is_interrupted() {
    let (short, long) = (Duration::from_millis(200), Duration::from_secs(60));
    let timeouts = |first_byte, stall| Timeouts { connect: long, first_byte, stall };
    let cases = [
        (0, timeouts(short, long), "no response within 0.2 s"),
        (3, timeouts(long, short), "the answer stalled: nothing within 0.2 s"),
    ];
    for (count, timeouts, message) in cases {
        let server =
            MockServer::start([Reply::answer([AnswerPart::text("hello")]).with_end(StreamEnd::Stall(count))]);
        let provider = Anthropic::new(Endpoint { timeouts, ..anthropic_endpoint(&server) }).unwrap();
        let error = tokio::time::timeout(long / 2, failure(&provider, hello("m"))).await.unwrap();
        assert_eq!((error.failure, error.message.as_str()), (FailureKind::Interrupted, message));
    }
}

#[tokio::test]
async fn timeout_is_extended_by_pings() {
    let limit = PING * 10;
    let (long, count) = (Duration::from_secs(60), 15);
    let timeouts = Timeouts { connect: long, first_byte: long, stall: limit };
    let reply =
        Reply::answer([AnswerPart::text("hello, hello")]).with_end(StreamEnd::Pings { after: 3, count });
    let server = server_for_all(&reply);
    let open_ai = || Endpoint { timeouts, ..open_ai_endpoint(&server) };
    let providers: [Arc<dyn Provider>; FORMATS] = [
        Arc::new(Anthropic::new(Endpoint { timeouts, ..anthropic_endpoint(&server) }).unwrap()),
        Arc::new(OpenAiChat::new(open_ai(), Compat::COMMON).unwrap()),
        Arc::new(OpenAiResponses::new(open_ai()).unwrap()),
        Arc::new(Gemini::new(Endpoint { timeouts, ..gemini_endpoint(&server) }).unwrap()),
    ];
    for provider in providers {
        let start = std::time::Instant::now();
        let parts = collect(&*provider, hello("m")).await;
        assert!(
            matches!(parts.last(), Some(Ok(tiller_provider::StreamEvent::Finished(_)))),
            "{:?}",
            parts.last()
        );
        assert!(start.elapsed() > limit, "it took longer than the data timeout");
    }
}

#[tokio::test]
async fn failure_of_missing_server_names_it() {
    let url = MockServer::start([]).url.clone();
    let host = url.trim_start_matches("http://").to_owned();
    let endpoint = Endpoint::new("local", url, "LOCAL_KEY");
    let error = failure(&OpenAiChat::new(endpoint, Compat::COMMON).unwrap(), hello("m")).await;
    assert_eq!(error.failure, TRANSIENT);
    assert_eq!(error.message, format!("nothing is listening at {host} (is the server running?)"));
    assert_eq!(error.message_with_hint(), format!("{error} → start the server, or check the base URL"));
}

#[tokio::test]
async fn stream_sends_when_polled_and_nothing_after_its_end() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("hi")])]);
    let provider = anthropic(&server);
    drop(provider.stream(hello("m")));
    assert_eq!(server.requests().len(), 0);
    let parts = collect(&provider, hello("m")).await;
    assert!(matches!(parts.last(), Some(Ok(tiller_provider::StreamEvent::Finished(_)))));
    assert_eq!(server.requests().len(), 1);
}
