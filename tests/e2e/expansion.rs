//! Skills, templates and context files on their way to the model, in print mode.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::sandbox::Sandbox;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};

fn sandbox(server: &MockServer) -> Sandbox {
    Sandbox::new().with_variable("ANTHROPIC_API_KEY", "k").with_variable("ANTHROPIC_BASE_URL", &server.url)
}

fn ask(sandbox: &Sandbox, extra_arguments: &[&str]) -> super::sandbox::RunOutput {
    let fixed = ["-p", "--provider", "anthropic", "--model", "claude-sonnet-5-5"];
    sandbox.run(&[&fixed, extra_arguments].concat())
}

fn fine() -> MockServer {
    MockServer::start([Reply::answer([AnswerPart::text("Fine.")])])
}

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n{body}\n")
}

/// The text of the first message of the first request.
fn sent_messages(server: &MockServer) -> String {
    server.requests()[0].body["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn system(server: &MockServer) -> String {
    server.requests()[0].body["system"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn skill_is_expanded_and_listed_with_its_path() {
    let server = fine();
    let sandbox = sandbox(&server);
    write(sandbox.project(), ".agents/skills/tidy/SKILL.md", &skill("tidy", "Tidy $1 up."));
    let output = ask(&sandbox, &["/skill:tidy", "the", "parser"]);
    assert_eq!((output.out.as_str(), output.err.as_str(), output.code), ("Fine.\n", "", Some(0)));
    let path = sandbox.project().canonicalize().unwrap().join(".agents/skills/tidy/SKILL.md");
    let path = path.display();
    assert_eq!(
        sent_messages(&server),
        format!("<skill name=\"tidy\" location=\"{path}\">\nTidy $1 up.\n</skill>\n\nthe parser")
    );
    let system = system(&server);
    let row = "<skill>\n    <name>tidy</name>\n    <description>Does tidy.</description>";
    assert!(system.contains(&format!("{row}\n    <location>{path}</location>")), "{system}");
    assert!(system.contains("<name>commit</name>"), "the built-in skills are there too: {system}");
    let list = sandbox.run(&["sessions", "list"]).out;
    assert!(list.contains("/skill:tidy the parser") && !list.contains("<skill"), "{list}");
}

#[test]
fn skill_built_in_can_be_read() {
    let sandbox = Sandbox::new();
    let location = sandbox.home().join("tiller/state/skills/debug/SKILL.md");
    let read = AnswerPart::call("c1", "read_file", json!({"path": location}));
    let server = MockServer::start([Reply::answer([read]), Reply::answer([AnswerPart::text("Read.")])]);
    let sandbox =
        sandbox.with_variable("ANTHROPIC_API_KEY", "k").with_variable("ANTHROPIC_BASE_URL", &server.url);
    let output = ask(&sandbox, &["read it"]);
    assert_eq!(output.out, "Read.\n", "{}", output.err);
    assert!(system(&server).contains(&format!("<location>{}</location>", location.display())));
    let result = server.requests()[1].body["messages"][2]["content"][0].to_string();
    assert!(result.contains("# Debug"), "{result}");
}

#[test]
fn skill_built_in_without_session_is_temporary() {
    let server = fine();
    let sandbox = sandbox(&server);
    ask(&sandbox, &["--no-session", "hello"]);
    let system = system(&server);
    let (_, rest) = system.split_once("<location>").unwrap();
    let location = Path::new(rest.split_once("</location>").unwrap().0);
    assert!(
        location.ends_with("skills/code-review/SKILL.md") && !location.exists(),
        "{}",
        location.display()
    );
    assert!(!sandbox.home().join("tiller/state/skills").exists());
}

#[test]
fn template_takes_arguments_and_nearer_one_wins() {
    let server = fine();
    let sandbox = sandbox(&server);
    fs::create_dir_all(sandbox.project().join(".git")).unwrap();
    write(sandbox.project(), ".tiller/prompts/greet.md", "Far away.");
    write(sandbox.project(), "sub/.tiller/prompts/greet.md", "Greet $1 in ${2:-English}, then ${@:3}.");
    let output = ask(&sandbox, &["--cwd", "sub", "/greet 'Ada Lovelace' '' sing and dance"]);
    assert_eq!(output.out, "Fine.\n", "{}", output.err);
    assert_eq!(sent_messages(&server), "Greet Ada Lovelace in English, then sing and dance.");
    let near = sandbox.project().canonicalize().unwrap().join("sub/.tiller/prompts/greet.md");
    assert!(output.err.contains(&format!("{} already has that name", near.display())), "{}", output.err);
}

#[test]
fn context_files_are_read_in_order_of_distance() {
    let server = fine();
    let sandbox = sandbox(&server);
    fs::create_dir_all(sandbox.project().join(".git")).unwrap();
    write(sandbox.home(), "tiller/AGENTS.md", "of the user");
    write(sandbox.home(), "AGENTS.md", "above everything");
    write(sandbox.project(), "AGENTS.md", "of the repository");
    write(sandbox.project(), "a/CLAUDE.md", "of a");
    write(sandbox.project(), "a/b/AGENT.md", "of b");
    let output = ask(&sandbox, &["--cwd", "a/b", "hello"]);
    assert_eq!(output.out, "Fine.\n", "{}", output.err);
    let system = system(&server);
    let places =
        ["of the user\n", "of the repository\n", "of a\n", "of b\n"].map(|text| system.find(text).unwrap());
    assert!(places.is_sorted(), "{system}");
    assert!(!system.contains("above everything"), "{system}");
}

#[test]
fn expansion_flags_restrict_to_given_files() {
    let server = fine();
    let sandbox = sandbox(&server);
    write(sandbox.project(), ".tiller/skills/own.md", &skill("own", "Own."));
    write(sandbox.project(), ".tiller/prompts/own.md", "Own.");
    write(sandbox.project(), "AGENTS.md", "of the project");
    write(sandbox.home(), "elsewhere/given.md", &skill("given", "Given."));
    let file = sandbox.home().join("elsewhere/given.md");
    let flags = ["--no-skills", "--no-templates", "--no-context-files", "--skill", file.to_str().unwrap()];
    let output = ask(&sandbox, &[&flags[..], &["/own"]].concat());
    assert_eq!((output.out.as_str(), output.err.as_str()), ("Fine.\n", ""));
    assert_eq!(sent_messages(&server), "/own");
    let system = system(&server);
    assert!(system.contains("<name>given</name>"), "{system}");
    assert!(!system.contains("<name>own</name>") && !system.contains("<name>commit</name>"), "{system}");
    assert!(!system.contains("of the project"), "{system}");
    let settings = sandbox.run(&["--no-skills", "settings", "--json"]).out;
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let row = settings.as_array().unwrap().iter().find(|row| row["name"] == "skills").unwrap().clone();
    assert_eq!((&row["value"], &row["source"]), (&json!("off"), &json!("--no-skills")));
}

#[test]
fn skill_flag_allows_reading_only_that_file() {
    let read = |id: &str, path: &str| AnswerPart::call(id, "read_file", json!({"path": path}));
    let elsewhere = tempfile::TempDir::new().unwrap();
    let dir = elsewhere.path().canonicalize().unwrap();
    write(&dir, "given.md", &skill("given", "Body of it."));
    write(&dir, "secret.txt", "a secret");
    let (file, secret) = (dir.join("given.md"), dir.join("secret.txt"));
    let server = MockServer::start([
        Reply::answer([read("c1", file.to_str().unwrap()), read("c2", secret.to_str().unwrap())]),
        Reply::answer([AnswerPart::text("Fine.")]),
    ]);
    let output = ask(&sandbox(&server), &["--skill", file.to_str().unwrap(), "go"]);
    assert_eq!(output.out, "Fine.\n", "{}", output.err);
    let results = server.requests()[1].body["messages"][2]["content"].to_string();
    assert!(results.contains("Body of it.") && !results.contains("a secret"), "{results}");
}

#[test]
fn skill_unknown_is_a_usage_error() {
    let server = fine();
    let sandbox = sandbox(&server);
    let output = ask(&sandbox, &["/skill:comit now"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("unknown skill `comit`; did you mean `commit`?"), "{}", output.err);
    assert!(server.requests().is_empty() && sandbox.logs().is_empty());
}

#[test]
fn template_after_piped_text_is_expanded() {
    let server = fine();
    let sandbox = sandbox(&server);
    write(sandbox.project(), ".tiller/prompts/greet.md", "Greet $1.");
    let fixed = ["-p", "--provider", "anthropic", "--model", "claude-sonnet-5-5"];
    let output = sandbox.run_with_stdin(&[&fixed[..], &["/greet Ada"]].concat(), "Names:  'a' \\d\n");
    assert_eq!(output.out, "Fine.\n", "{}", output.err);
    assert_eq!(sent_messages(&server), "Names:  'a' \\d\n\nGreet Ada.");
    let unknown = sandbox.run_with_stdin(&[&fixed[..], &["/skill:comit"]].concat(), "x");
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    assert!(unknown.err.contains("did you mean `commit`?"), "{}", unknown.err);
}

#[test]
fn skill_list_needs_a_reading_tool() {
    let server = fine();
    ask(&sandbox(&server), &["--tools", "bash", "hello"]);
    assert!(!system(&server).contains("available_skills"));
}
