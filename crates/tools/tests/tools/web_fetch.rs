//! `web_fetch` against local servers.

use serde_json::json;
use tempfile::TempDir;
use tiller_core::message::joined_text;
use tiller_test_support::mock_server::{MockServer, Reply};
use tiller_tools::process::Runner;
use tiller_tools::tool::{OutputLimits, ToolEnvironment, ToolInvocation, ToolOutput, ToolProgress, Tools};
use tiller_tools::workspace::Workspace;

fn page(kind: &str, body: &str) -> Reply {
    Reply::status(200, body).header("content-type", kind)
}

async fn fetch(address: &str, limits: OutputLimits) -> ToolOutput {
    let dir = TempDir::new().unwrap();
    let workspace = Workspace::new(dir.path()).unwrap();
    let scratch = dir.path().join("scratch");
    let environment = ToolEnvironment { limits, ..ToolEnvironment::new(workspace, Runner::none(), scratch) };
    let tool = Tools::built_in(environment).find("web_fetch").unwrap();
    let arguments = json!({ "url": address });
    tool.check(&arguments).unwrap();
    tool.run(ToolInvocation { arguments, progress: ToolProgress::new(|_| {}) }).await
}

async fn fetch_text(replies: impl IntoIterator<Item = Reply>) -> (String, bool) {
    let server = MockServer::start(replies);
    let output = fetch(&format!("{}/start", server.url), OutputLimits::default()).await;
    (joined_text(&output.content).replace(&server.url, "SERVER"), output.is_error)
}

#[tokio::test]
async fn web_fetch_page_becomes_markdown_and_text_stays() {
    let html = "<html><head><title>t</title><style>x{}</style></head><body><h1>Title</h1><script>1</script>\
        <p>See <a href='/x'>this</a>.</p></body></html>";
    for (kind, body, expected) in [
        ("text/html; charset=utf-8", html, "# Title\n\nSee [this](/x)."),
        ("application/json", "{\"a\": \"<b>\"}", "{\"a\": \"<b>\"}"),
        ("text/plain", "<h1>\n", "<h1>\n"),
        ("text/html", "", "[empty page]"),
    ] {
        assert_eq!(fetch_text([page(kind, body)]).await, (expected.to_owned(), false), "{kind}");
    }
}

#[tokio::test]
async fn web_fetch_undeclared_page_is_recognized() {
    for (body, expected) in [
        ("\n <!doctype HTML><h1>Title</h1>", "# Title"),
        ("<HTML><h1>Title</h1>", "# Title"),
        ("<h1>Title</h1>", "<h1>Title</h1>"),
        ("About <html>", "About <html>"),
    ] {
        assert_eq!(fetch_text([Reply::status(200, body)]).await, (expected.to_owned(), false), "{body}");
    }
}

#[tokio::test]
async fn web_fetch_redirect_to_another_scheme_is_refused() {
    let moved = Reply::status(302, "").header("location", "file:///etc/passwd");
    let expected = "SERVER/start: redirected to file:///etc/passwd, which isn't an http or https address";
    assert_eq!(fetch_text([moved]).await, (expected.to_owned(), true));
}

#[tokio::test]
async fn web_fetch_redirect_to_another_host_is_only_reported() {
    let moved = |target: &str| Reply::status(302, "").header("location", target);
    assert_eq!(fetch_text([moved("/other"), page("text/plain", "x")]).await, ("x".to_owned(), false));
    let (text, is_error) = fetch_text([moved("http://example.org/y")]).await;
    assert_eq!(text, "[redirected to http://example.org/y; to follow, fetch this address]");
    assert!(!is_error);
    let (text, is_error) = fetch_text((0..9).map(|_| moved("/start"))).await;
    assert_eq!((text.as_str(), is_error), ("SERVER/start: more than 5 redirects", true));
}

#[tokio::test]
async fn web_fetch_failures_say_what_happened() {
    let missing = Reply::status(404, "<p>gone</p>").header("content-type", "text/html");
    assert_eq!(fetch_text([missing]).await, ("SERVER/start: status 404 Not Found\ngone".to_owned(), true));
    let binary = page("application/zip", "PK\0");
    let expected = "SERVER/start is not text (application/zip); use bash to download it";
    assert_eq!(fetch_text([binary]).await, (expected.to_owned(), true));
    let refused = fetch("http://127.0.0.1:1/", OutputLimits::default()).await;
    let text = joined_text(&refused.content);
    assert!(refused.is_error && text.starts_with("http://127.0.0.1:1/: can't connect"), "{text}");
}

#[tokio::test]
async fn web_fetch_long_page_is_cut_and_kept() {
    let server = MockServer::start([page("text/plain", "1\n2\n3\n")]);
    let limits = OutputLimits { max_lines: 2, max_chars: 100 };
    let output = fetch(&server.url, limits).await;
    let text = joined_text(&output.content);
    let cut = "1\n2\n[OUTPUT TRUNCATED: showing 4 of 6 characters from web_fetch; full output in ";
    assert!(text.starts_with(cut), "{text}");
    assert!(output.warning.is_some());
}
