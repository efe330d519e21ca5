//! Grammars come when code is to be told apart, and go when they are at rest.

use std::time::Duration;

use tiller::render::{Language, Telling, highlight, let_go_of_grammars};

#[test]
fn grammars_that_were_let_go_of_tell_the_same_when_they_are_wanted_again() {
    let told = || highlight("fn main() { let x = \"y\"; }", Language::Named("rust"), Telling::Now);
    let before = told();
    assert!(before[0].spans.len() > 5, "{before:?}");
    assert!(!let_go_of_grammars(Duration::from_secs(3_600)), "they were just at work");
    assert!(let_go_of_grammars(Duration::ZERO));
    assert_eq!(told(), before);
}
