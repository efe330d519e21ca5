//! The GitHub tools against a local server.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_core::message::joined_text;
use tiller_test_support::mock_server::{MockServer, Reply};
use tiller_tools::process::Runner;
use tiller_tools::tool::{
    GithubRepository, GithubToken, ToolEnvironment, ToolInvocation, ToolProgress, Tools,
};
use tiller_tools::workspace::Workspace;

/// Calls a tool with the repository ada/conf on a server; returns its text and true if it failed.
async fn call(server: &MockServer, tool: &str, arguments: Value) -> (String, bool) {
    let dir = TempDir::new().unwrap();
    let workspace = Workspace::new(dir.path()).unwrap();
    let token = GithubToken::Known("t0ken".to_owned().into());
    let github = GithubRepository::find("git@127.0.0.1:ada/conf.git", &server.url, token);
    assert!(github.is_some());
    let environment =
        ToolEnvironment { github, ..ToolEnvironment::new(workspace, Runner::none(), dir.path().join("s")) };
    let tool = Tools::built_in(environment).find(tool).unwrap();
    tool.check(&arguments).unwrap();
    let output = tool.run(ToolInvocation { arguments, progress: ToolProgress::new(|_| {}) }).await;
    (joined_text(&output.content), output.is_error)
}

fn ok(body: &Value) -> Reply {
    Reply::status(200, &body.to_string())
}

fn issue(number: u64, title: &str) -> Value {
    json!({
        "number": number, "title": title, "state": "open", "user": {"login": "ada"}, "body": "It fails.\r\nOften.",
        "labels": [{"name": "bug"}],
    })
}

#[test]
fn github_tools_are_offered_with_a_repository_only() {
    let dir = TempDir::new().unwrap();
    let workspace = Workspace::new(dir.path()).unwrap();
    let tools = Tools::built_in(ToolEnvironment::new(workspace, Runner::none(), dir.path().join("s")));
    assert_eq!(tools.expand_sets(&["github".into()]), Vec::<String>::new());
}

#[tokio::test]
async fn github_get_issue_shows_issue_and_comments() {
    let comment =
        json!({"user": {"login": "bob"}, "created_at": "2026-11-20T10:00:00Z", "body": "Same here."});
    let server = MockServer::start([ok(&issue(12, "Crash")), ok(&json!([comment]))]);
    let (text, is_error) = call(&server, "github_get_issue", json!({"number": 12})).await;
    let expected =
        "#12 Crash (open, bug) by ada\n\nIt fails.\nOften.\n\n--- bob, 2026-11-20T10:00:00Z\nSame here.\n";
    assert_eq!((text.as_str(), is_error), (expected, false));
    let requests = server.requests();
    assert_eq!(requests[0].path, "/repos/ada/conf/issues/12");
    let token = requests[0].headers.iter().find(|header| header.0 == "authorization");
    assert_eq!(token.unwrap().1, "Bearer t0ken");
}

#[tokio::test]
async fn github_list_issues_follows_pages_up_to_the_limit() {
    let server = MockServer::start([]);
    let link = format!("<{0}/page2>; rel=\"next\", <{0}/page9>; rel=\"last\"", server.url);
    server.push(ok(&json!([issue(3, "c"), issue(2, "b")])).header("link", &link));
    let mut pull = issue(1, "a");
    pull["pull_request"] = json!({});
    server.push(ok(&json!([pull])));
    let (text, _) = call(&server, "github_list_issues", json!({"labels": "bug", "limit": 5})).await;
    let expected =
        "#3 c (open, bug) by ada\n#2 b (open, bug) by ada\n#1 a (open, bug, pull request) by ada\n";
    assert_eq!(text, expected);
    assert_eq!(server.requests()[1].path, "/page2");
}

#[tokio::test]
async fn github_list_issues_names_the_limit_only_if_there_are_more() {
    let note = "[there are more than these 2; raise limit or narrow it down]";
    let issues = || ok(&json!([issue(3, "c"), issue(2, "b")]));
    for (issues, expected) in [
        (issues(), ""),
        (issues().header("link", "<http://127.0.0.1:1/page2>; rel=\"next\""), note),
        (ok(&json!([issue(3, "c"), issue(2, "b"), issue(1, "a")])), note),
    ] {
        let server = MockServer::start([issues]);
        let (text, _) = call(&server, "github_list_issues", json!({"limit": 2})).await;
        assert_eq!(text, format!("#3 c (open, bug) by ada\n#2 b (open, bug) by ada\n{expected}"));
    }
}

#[tokio::test]
async fn github_list_issues_other_host_gets_no_token() {
    let first = ok(&json!([issue(3, "c")])).header("link", "<http://127.0.0.1:1/page2>; rel=\"next\"");
    let server = MockServer::start([first]);
    let (text, is_error) = call(&server, "github_list_issues", json!({})).await;
    assert_eq!((text.as_str(), is_error), ("#3 c (open, bug) by ada\n", false));
}

#[tokio::test]
async fn github_create_comment_posts_the_body() {
    let server = MockServer::start([ok(&json!({"html_url": "https://github.com/ada/conf/issues/12#c1"}))]);
    let (text, _) = call(&server, "github_create_comment", json!({"number": 12, "body": "Fixed."})).await;
    assert_eq!(text, "commented: https://github.com/ada/conf/issues/12#c1");
    let request = &server.requests()[0];
    assert_eq!(
        (request.path.as_str(), &request.body),
        ("/repos/ada/conf/issues/12/comments", &json!({"body": "Fixed."}))
    );
}

#[tokio::test]
async fn github_short_rate_limit_is_waited_for() {
    let limited =
        Reply::status(403, "{}").header("x-ratelimit-remaining", "0").header("x-ratelimit-reset", "9");
    let server = MockServer::start([limited, ok(&json!([issue(3, "c")]))]);
    let (text, _) = call(&server, "github_list_issues", json!({})).await;
    assert_eq!(text, "#3 c (open, bug) by ada\n");
}

#[tokio::test]
async fn github_list_issues_keeps_pages_before_a_failure() {
    let server = MockServer::start([]);
    let link = format!("<{}/page2>; rel=\"next\"", server.url);
    server.push(ok(&json!([issue(3, "c")])).header("link", &link));
    server.push(Reply::status(502, r#"{"message": "Bad gateway"}"#));
    let (text, is_error) = call(&server, "github_list_issues", json!({})).await;
    let expected =
        "#3 c (open, bug) by ada\n[the rest is missing: GitHub: status 502 Bad Gateway: Bad gateway]";
    assert_eq!((text.as_str(), is_error), (expected, false));
}

#[tokio::test]
async fn github_failures_say_what_to_do() {
    let reset = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3_590;
    let limited = Reply::status(403, "{}")
        .header("x-ratelimit-remaining", "0")
        .header("x-ratelimit-reset", &reset.to_string());
    let later = Reply::status(429, "{}").header("retry-after", "90");
    let secondary = r#"{"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}"#;
    for (reply, expected) in [
        (Reply::status(403, secondary), "GitHub's rate limit was reached; try again in 1 min"),
        (Reply::status(429, "{}"), "GitHub's rate limit was reached; try again in 1 min"),
        (limited, "GitHub's rate limit was reached; try again in 60 min"),
        (later, "GitHub's rate limit was reached; try again in 2 min"),
        (
            Reply::status(401, r#"{"message": "Bad credentials"}"#),
            "GitHub: status 401 Unauthorized: Bad credentials; the token is invalid",
        ),
        (
            Reply::status(404, r#"{"message": "Not Found"}"#),
            "GitHub: status 404 Not Found: Not Found; it may not exist, or the token has no access",
        ),
        (Reply::status(200, "{}"), "expected a list from GitHub"),
    ] {
        let server = MockServer::start([reply]);
        let (text, is_error) = call(&server, "github_list_issues", json!({})).await;
        assert_eq!((text.as_str(), is_error), (expected, true));
    }
}
