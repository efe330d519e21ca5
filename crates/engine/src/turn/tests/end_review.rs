//! The review of a run's end.

use super::*;

/// Returns a machine whose run has nothing left to do, with the last effects.
fn ending() -> (Turn, Vec<String>) {
    let mut turn = machine(TurnOptions::default()).with_end_review();
    step(&mut turn, prompt("go"));
    let effects = step(&mut turn, text_answer(1, StopReason::Stop));
    (turn, effects)
}

fn reviewed(turn: TurnNumber, instruction: Option<&str>) -> Input {
    let verdict = instruction.map_or(EndVerdict::End, |text| EndVerdict::Instruct(text.to_owned()));
    Input::EndReviewed { turn, verdict }
}

fn go_on(turn: TurnNumber) -> Vec<String> {
    lines(&[&single_line("append tiller.run_end test it"), &request_sent(turn)])
}

#[test]
fn end_review_without_instruction_settles() {
    let (mut turn, effects) = ending();
    let review = ["emit turn_end 0".to_owned(), "review end 1 false".to_owned()];
    assert_eq!((effects, turn.is_running()), (lines(&[&answer("Stop"), &review]), true));
    assert_eq!(step(&mut turn, reviewed(0, Some("late"))), Vec::<String>::new());
    assert_eq!(step(&mut turn, reviewed(1, None)), settled("Completed", 2));
    assert!(!turn.is_running());
}

#[test]
fn end_review_tells_the_model_of_tasks_as_often_as_they_end() {
    let (mut turn, _) = ending();
    for number in 1..4 {
        let told = Input::EndReviewed { turn: number, verdict: EndVerdict::TellNotes };
        assert_eq!(step(&mut turn, told), lines(&[&request_sent(number + 1)]));
        step(&mut turn, text_answer(number + 1, StopReason::Stop));
    }
    assert_eq!(step(&mut turn, reviewed(4, None)), settled("Completed", 5));
}

#[test]
fn end_review_lets_a_run_go_on_once() {
    let (mut turn, _) = ending();
    assert_eq!(step(&mut turn, reviewed(1, Some("test it"))), go_on(2));
    let effects = step(&mut turn, text_answer(2, StopReason::Stop));
    assert_eq!(effects.last().map(String::as_str), Some("review end 2 true"));
    let effects = step(&mut turn, reviewed(2, Some("again")));
    assert_eq!(effects[1..], settled("Completed", 3));
    assert!(effects[0].starts_with("emit warning"), "{effects:?}");
    // The next run may continue once again.
    step(&mut turn, prompt("more"));
    let effects = step(&mut turn, text_answer(3, StopReason::Stop));
    assert_eq!(effects.last().map(String::as_str), Some("review end 3 false"));
    assert_eq!(step(&mut turn, reviewed(3, Some("test it"))), go_on(4));
}

#[test]
fn end_review_yields_to_messages_and_abort() {
    let (mut turn, _) = ending();
    step(&mut turn, prompt("wait"));
    let effects = step(&mut turn, reviewed(1, Some("test it")));
    assert_eq!(effects[0], "append user wait after 0 skipped 0");
    assert_eq!(effects.last().map(String::as_str), Some("request 2"));

    let (mut turn, _) = ending();
    step(&mut turn, follow_up("then"));
    let effects = step(&mut turn, reviewed(1, None));
    assert_eq!(effects[0], "append user then");

    let (mut turn, _) = ending();
    let effects = step(&mut turn, abort(None));
    assert_eq!(effects, lines(&[&single_line("stop stream"), &settled("Aborted", 2)]));
    assert_eq!(step(&mut turn, reviewed(1, Some("late"))), Vec::<String>::new());
}
