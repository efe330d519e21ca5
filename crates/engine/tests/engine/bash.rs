//! The user's shell commands through the handle.

use tiller_core::message::BashExecutionMessage;

use super::*;

#[tokio::test]
async fn bash_record_is_returned_and_a_second_command_refused() {
    let mut harness = Harness::new(Access::Reads, vec![]);
    let (line, agent) = ("echo begun; read -r x < gate; echo $x; exit 3", harness.agent.clone());
    nix::unistd::mkfifo(&harness.dir.path().join("gate"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let record = tokio::spawn(async move { agent.execute_bash(line, BashContext::Include).await });
    harness
        .wait_for_event(|event| matches!(event, EventKind::BashExecutionUpdate { .. }).then_some(()))
        .await;
    let error = harness.agent.bash("true", BashContext::Include).await.unwrap_err();
    assert_eq!(error.to_string(), "a command is already running; wait for it, or abort it");
    let error = harness.agent.execute_bash("true", BashContext::Exclude).await.unwrap_err();
    assert!(matches!(error, AgentError::BashRunning), "{error}");
    std::fs::write(harness.dir.path().join("gate"), "through\n").unwrap();
    let BashExecutionMessage { output, exit_code, cancelled, truncated, .. } = record.await.unwrap().unwrap();
    assert_eq!(
        (output.as_str(), exit_code, cancelled, truncated),
        ("begun\nthrough\n", Some(3), false, false)
    );
    assert_eq!(harness.message_lines().len(), 1, "its record is in the log");
}

#[tokio::test]
async fn bash_abort_leaves_the_run_alone() {
    let mut harness = Harness::new(Access::Writes, vec![calls(&[json!({})]), text_answer("done")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let agent = harness.agent.clone();
    let record =
        tokio::spawn(async move { agent.execute_bash("echo on; sleep 60", BashContext::Include).await });
    harness
        .wait_for_event(|event| matches!(event, EventKind::BashExecutionUpdate { .. }).then_some(()))
        .await;
    harness.agent.abort_bash().await.unwrap();
    let record = record.await.unwrap().unwrap();
    assert_eq!((record.output.trim(), record.cancelled, record.exit_code), ("on", true, None));
    assert!(
        harness.message_lines().iter().all(|line| !line.starts_with("bash")),
        "it waits for the turn's end"
    );
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let lines = harness.message_lines();
    assert_eq!(lines[2..4], ["result through", "bash echo on; sleep 60 None on"], "{lines:?}");
    harness.agent.abort_bash().await.unwrap();
}

#[tokio::test]
async fn bash_output_in_many_pieces_is_batched_and_complete() {
    let mut harness = Harness::new(Access::Reads, vec![]);
    let line = "for n in $(seq 300); do echo $n; sleep 0.002; done; read -r x < gate; printf '\\033[31m99%%'";
    nix::unistd::mkfifo(&harness.dir.path().join("gate"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let started = std::time::Instant::now();
    harness.agent.bash(line, BashContext::Include).await.unwrap();
    let (mut output, mut count) = (String::new(), 0);
    while !output.ends_with("\n300\n") {
        output += &harness.wait_for_event(of_output).await;
        count += 1;
    }
    let times = started.elapsed().as_millis() / 100 + 2;
    assert!(count <= times, "{count} times, not {times}");
    let live = harness.agent.snapshot().await.unwrap().in_progress.bash.unwrap();
    assert_eq!(live.output.styled_text().text, output, "events and output agree");
    assert!(live.last_lines().text.starts_with("261\n"), "{}", live.last_lines().text);
    std::fs::write(harness.dir.path().join("gate"), "\n").unwrap();
    assert_eq!(harness.wait_for_event(of_output).await, "\u{1b}[31m99%", "the last of it too");
    let complete: String = (1..=300).map(|number| format!("{number}\n")).collect();
    assert_eq!(output, complete);
}

fn of_output(event: &EventKind) -> Option<String> {
    match event {
        EventKind::BashExecutionUpdate { delta, .. } => Some(delta.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn bash_command_that_fails_to_start_has_a_record() {
    let dir = TempDir::new().unwrap();
    let missing_dir = dir.path().join("gone");
    let manager = SessionManager::new(Placement::Memory, missing_dir);
    let harness = Harness::configured(dir, (manager, None), Access::Reads, vec![], |_| {});
    let record = harness.agent.execute_bash("true", BashContext::Exclude).await.unwrap();
    assert!(record.cancelled && record.output.contains("not a directory"), "{record:?}");
    assert!(record.exclude_from_context);
}

#[tokio::test]
async fn bash_output_over_the_limit_is_in_a_file_of_the_record() {
    let limits = OutputLimits { max_lines: 3, max_chars: 1_000 };
    let dir = TempDir::new().unwrap();
    let manager = SessionManager::new(Placement::Flat(dir.path().join("logs")), dir.path().into());
    let harness = Harness::configured(dir, (manager, None), Access::Reads, vec![], |parts| {
        parts.options.output.limits = limits
    });
    let record = harness.agent.execute_bash("seq 1 5000", BashContext::Include).await.unwrap();
    assert!(record.truncated && record.output.starts_with("4998\n4999\n5000\n"), "{}", record.output);
    let path = record.full_output_path.clone().unwrap();
    assert!(path.starts_with(harness.dir.path().join("outputs").to_str().unwrap()), "{path}");
    let complete: String = (1..=5000).map(|number| format!("{number}\n")).collect();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), complete);
    let log = std::fs::read_to_string(harness.agent.reader().path().unwrap()).unwrap();
    assert!(log.contains(&format!(r#""fullOutputPath":"{path}""#)) && log.contains(r#""truncated":true"#));
}

#[tokio::test]
async fn bash_command_cut_off_by_close_keeps_output_and_file() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    harness.prompt("go").await;
    harness.settled().await;
    harness.agent.bash("seq 1 50000; echo over; sleep 600", BashContext::Include).await.unwrap();
    let is_over = |event: &EventKind| match event {
        EventKind::BashExecutionUpdate { delta, .. } => delta.contains("over").then_some(()),
        _ => None,
    };
    harness.wait_for_event(is_over).await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.close().await.unwrap();
    let log = std::fs::read_to_string(path).unwrap();
    let entry: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let record = &entry["message"];
    assert_eq!((&record["cancelled"], &record["truncated"]), (&json!(true), &json!(true)));
    assert!(record["output"].as_str().unwrap().contains("lines omitted …]\n4"), "{record}");
    let complete = std::fs::read_to_string(record["fullOutputPath"].as_str().unwrap()).unwrap();
    assert!(complete.starts_with("1\n2\n") && complete.ends_with("50000\nover\n"));
}

#[tokio::test]
async fn bash_truncated_output_is_marked_without_its_file() {
    let limits = OutputLimits { max_lines: 1, max_chars: 1_000 };
    let dir = TempDir::new().unwrap();
    let in_the_way = dir.path().join("file");
    std::fs::write(&in_the_way, "").unwrap();
    let manager = SessionManager::new(Placement::Memory, dir.path().into());
    let harness = Harness::configured(dir, (manager, None), Access::Reads, vec![], |parts| {
        parts.options.output.limits = limits;
        parts.options.output.scratch = in_the_way;
    });
    let record = harness.agent.execute_bash("seq 1 3", BashContext::Include).await.unwrap();
    assert!(record.truncated && record.full_output_path.is_none(), "{record:?}");
    assert!(record.output.contains("could not be saved"), "{}", record.output);
}

#[tokio::test]
async fn bash_close_stops_the_command_and_replies_with_its_output() {
    let harness = Harness::new(Access::Writes, vec![calls(&[json!({})])]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    let mut events = harness.agent.subscribe();
    let agent = harness.agent.clone();
    let line = "echo $$ > pid; echo seen; sleep 600";
    let record = tokio::spawn(async move { agent.execute_bash(line, BashContext::Include).await });
    loop {
        let event = tokio::time::timeout(TIMEOUT, events.next()).await.unwrap().unwrap().unwrap();
        if matches!(event.kind, EventKind::BashExecutionUpdate { .. }) {
            break;
        }
    }
    harness.agent.close().await.unwrap();
    assert!(record.await.unwrap().unwrap().cancelled);
    let reader = Reader::open(&path).unwrap();
    let lines = message_lines(&reader);
    assert_eq!(lines[..2], ["user go", "answer  ToolUse"]);
    assert!(lines[2].starts_with("result aborted"), "{lines:?}");
    assert_eq!(lines[3], "bash echo $$ > pid; echo seen; sleep 600 None seen");
    SessionManager::new(Placement::Memory, harness.dir.path().into()).open(&path).expect("the lock is free");
    let pid = std::fs::read_to_string(harness.dir.path().join("pid")).unwrap();
    let process = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
    let exit = async {
        while nix::sys::signal::kill(process, None).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, exit).await.expect("the command is gone");
}
