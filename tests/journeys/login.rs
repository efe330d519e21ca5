//! `tiller login` and `tiller logout`: keys that are kept.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::house::House;
use crate::support::{MockServer, Reply, Say};
use crate::terminal::Key;

const ASK: [&str; 5] = ["-p", "--provider", "openai", "--model", "gpt-5"];

#[test]
fn a_key_from_stdin_is_kept_and_asks_until_it_is_taken_away() {
    let server = MockServer::start([Reply::says([Say::text("Here I am.")])]);
    let house = House::new();
    let auth = house.home().join("tiller/auth.json");
    let unknown = house.run_with_stdin(&["login", "nobody"], "sk-hush\n");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("these do: anthropic, openai"), "{}", unknown.err);
    assert!(!auth.exists());
    let kept = house.run_with_stdin(&["login", "openai"], "sk-hush-hush\n");
    assert_eq!(kept.code, Some(0), "{}", kept.err);
    assert!(kept.out.contains("openai can be asked now") && !kept.out.contains("hush"), "{}", kept.out);
    assert_eq!(auth.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let listed = house.run(&["login"]);
    assert!(listed.out.contains("openai      key in auth.json"), "{}", listed.out);
    let house = house.with("OPENAI_BASE_URL", &server.url);
    let ran = house.run(&[&ASK[..], &["are you there?"]].concat());
    assert_eq!((ran.out.trim(), ran.code), ("Here I am.", Some(0)), "{}", ran.err);
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer sk-hush-hush");
    let gone = house.run(&["logout", "openai"]);
    assert!(gone.out.contains("no longer in"), "{} {}", gone.out, gone.err);
    assert_eq!(fs::read_to_string(&auth).unwrap(), "{}\n");
    let again = house.run(&["logout", "openai"]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("there is no key of openai"), "{}", again.err);
}

#[test]
fn a_key_of_the_environment_names_its_variable_when_it_is_to_go() {
    let house = House::new().with("ANTHROPIC_API_KEY", "sk-hush");
    let ran = house.run(&["logout", "anthropic"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("unset ANTHROPIC_API_KEY") && !ran.err.contains("hush"), "{}", ran.err);
    let kept = house.run_with_stdin(&["login", "anthropic"], "sk-other\n");
    assert!(kept.out.contains("ANTHROPIC_API_KEY has the last word"), "{}", kept.out);
}

#[test]
fn a_key_typed_at_a_terminal_is_not_shown_and_the_terminal_is_as_before() {
    let house = House::new();
    let mut terminal = house.open(&["login", "anthropic"]);
    terminal.wait_for("Key of anthropic");
    terminal.send("sk-hush-hush");
    terminal.key(Key::Enter);
    assert_eq!(terminal.wait().exit_code(), 0);
    assert!(!terminal.written().contains("hush"), "{}", terminal.written());
    assert!(terminal.is_cooked());
    let auth = fs::read_to_string(house.home().join("tiller/auth.json")).unwrap();
    assert!(auth.contains("sk-hush-hush"), "{auth}");
    let mut terminal = house.open(&["login", "openai"]);
    terminal.wait_for("Key of openai");
    terminal.key(Key::Ctrl('c'));
    assert_eq!(terminal.wait().exit_code(), 130);
    assert!(terminal.is_cooked());
}
