//! A second tiller on a session that a first one has open.

use super::house::House;
use crate::terminal::{Key, Terminal};

const ANSWERS: [&str; 3] =
    [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#, r#"{"text": "Answer three."}"#];

/// A first tiller in a terminal, idle after one answer.
fn first(house: &House) -> Terminal {
    let terminal = house.play(&ANSWERS, &["first prompt"]);
    terminal.wait_for("Answer one.");
    terminal
}

/// A second one that asks what to do.
fn second(house: &House) -> Terminal {
    let terminal = house.play(&ANSWERS, &["-c"]);
    terminal.wait_for("[f]ork it, [r]ead along, [q]uit?");
    terminal
}

/// The process that has the only log open, as the note beside it says.
fn holder(house: &House) -> u64 {
    let note = format!("{}.lock", house.logs()[0].display());
    let note: serde_json::Value = serde_json::from_slice(&std::fs::read(note).unwrap()).unwrap();
    note["pid"].as_u64().unwrap()
}

#[test]
fn a_second_tiller_in_print_mode_is_refused_at_once_and_told_who_has_the_session() {
    let house = House::new();
    let _first = first(&house);
    let (log, pid) = (house.logs().remove(0), holder(&house));
    let before = std::fs::read(&log).unwrap();
    let script = house.script(&ANSWERS);
    let ran = house.run(&["-c", "-p", "--provider", "scripted", "--model", &script, "me too"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    let told = format!("error: session file {}: another tiller has it open (pid {pid} on ", log.display());
    assert!(ran.err.starts_with(&told) && ran.err.contains("tiller --fork"), "{}", ran.err);
    assert_eq!(std::fs::read(&log).unwrap(), before);
}

#[test]
fn a_second_tiller_in_a_terminal_can_go_on_in_a_fork() {
    let house = House::new();
    let mut first = first(&house);
    let log = house.logs().remove(0);
    let before = std::fs::read(&log).unwrap();
    let mut second = second(&house);
    assert!(second.screen().contains(&format!("(pid {} on ", holder(&house))), "{}", second.screen());
    second.send("what?\r");
    second.wait_for("Please type f, r or q");
    second.send("f\r");
    second.wait_for("this is a fork of");
    second.wait_for("Answer one.");
    second.send("second prompt\r");
    second.wait_for("Answer two.");
    second.wait_without("esc stops");
    second.key(Key::Ctrl('d'));
    assert!(second.wait().success());
    assert_eq!(std::fs::read(&log).unwrap(), before);
    assert_eq!(house.logs().len(), 2);

    first.send("my own second\r");
    first.wait_for("Answer two.");
}

#[test]
fn a_second_tiller_in_a_terminal_can_read_along_and_writes_nothing() {
    let house = House::new();
    let mut first = first(&house);
    let mut second = second(&house);
    second.send("r\r");
    second.wait_for("> first prompt");
    second.wait_for("Answer one.");
    first.send("second prompt\r");
    second.wait_for("> second prompt");
    second.wait_for("Answer two.");
    second.key(Key::Ctrl('c'));
    assert_eq!(second.wait().exit_code(), 130);
    first.key(Key::Ctrl('d'));
    assert!(first.wait().success());
    let runs = house.log().iter().filter(|line| line["customType"] == "tiller.run").count();
    assert_eq!(runs, 1, "only the first one wrote");
    assert_eq!(house.said().len(), 4);
}

#[test]
fn a_second_tiller_in_a_terminal_can_leave_it_at_that() {
    let house = House::new();
    let _first = first(&house);
    let mut second = second(&house);
    second.send("q\r");
    assert!(second.wait().success());
    assert_eq!(house.logs().len(), 1);
}
