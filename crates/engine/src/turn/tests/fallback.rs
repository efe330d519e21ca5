//! Switches to other models after failures.

use super::*;

#[test]
fn fallback_model_answers_until_the_end_of_the_run() {
    let mut turn = machine(TurnOptions { max_turns: Some(1), ..TurnOptions::default() });
    step(&mut turn, prompt("go"));
    step(&mut turn, failure(1, retry()));
    step(&mut turn, Input::RetryDue { turn: 1 });
    assert_eq!(
        step(&mut turn, failure(2, switch_model("a", &["b", "c"]))),
        lines(&[
            &answer("Error"),
            &[
                "emit auto_retry_end false 1 Some(\"busy\")".into(),
                "emit turn_end 0".into(),
                "emit agent_end to retry 1".into(),
                "switch to p/b: p is down".into(),
                "emit agent_start".into()
            ],
            &request_sent(3)
        ])
    );
    assert_eq!(turn.retries(), 0, "the next model has all its retries");
    step(&mut turn, follow_up("next"));
    let lines_of_follow_up = step(&mut turn, text_answer(3, StopReason::Stop));
    assert!(!lines_of_follow_up.contains(&"restore model".to_owned()), "{lines_of_follow_up:?}");
    assert_eq!(
        step(&mut turn, text_answer(4, StopReason::Stop)),
        lines(&[
            &answer("Stop"),
            &["emit turn_end 0".into(), "restore model".into()],
            &settled("Completed", 3)
        ])
    );
}

#[test]
fn fallback_model_is_tried_once_in_a_run() {
    let mut turn = machine(TurnOptions::default());
    let listed = ["a", "b", "c"];
    for _ in 0..2 {
        step(&mut turn, prompt("go"));
        let number = turn.streaming().unwrap();
        let switch = |failed| switch_model(failed, &listed);
        let mut next = |at: u64, failed| {
            let lines = step(&mut turn, failure(number + at, switch(failed)));
            lines.into_iter().find(|line| line.starts_with("switch") || line == "restore model")
        };
        assert_eq!(next(0, "x").unwrap(), "switch to p/a: p is down");
        assert_eq!(next(1, "a").unwrap(), "switch to p/b: p is down");
        assert_eq!(next(2, "b").unwrap(), "switch to p/c: p is down");
        assert_eq!(next(3, "c").unwrap(), "restore model");
        assert!(!turn.is_running());
    }
}

#[test]
fn fallback_without_candidates_fails_the_run() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert_eq!(
        step(&mut turn, failure(1, switch_model("a", &[]))),
        lines(&[&answer("Error"), &["emit turn_end 0".into()], &settled("Failed", 2)])
    );
}
