//! Extension processes: scripts that follow the protocol, or violate it.

use std::os::unix::fs::PermissionsExt;

use tiller_core::event::EventKind;
use tiller_engine::ResourcePaths;
use tiller_engine::extension::process::{Launch, ProcessOptions};

use super::*;

/// Reads the hello and every request; each case answers with `say` and a line of JSON. `$id` is the request's
/// id.
const PRELUDE: &str = r#"#!/bin/bash
say() { printf '%s\n' "$1"; }
answer() { say "{\"type\": \"answer\", \"id\": $id, \"result\": $1}"; }
read -r hello
"#;

/// Reads until the end of stdin, and passes every request to `on_request HOOK LINE`.
const LOOP: &str = r#"
while read -r line; do
  echo "$line" >> lines
  if [[ $line =~ ^\{\"type\":\"request\",\"id\":([0-9]+),\"hook\":\"([a-z_]+)\" ]]; then
    id=${BASH_REMATCH[1]}
    on_request "${BASH_REMATCH[2]}" "$line"
  fi
done
"#;

struct Scripts {
    dir: TempDir,
    launches: Vec<Launch>,
}

impl Scripts {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), launches: Vec::new() }
    }

    /// Adds an extension with its declaration and its `on_request` code.
    fn with_extension(mut self, name: &str, ready_line: &Value, on_request: &str) -> Self {
        let ready_line = format!("say '{ready_line}'\non_request() {{\n:\n{on_request}\n}}\n");
        self.add(name, &format!("{PRELUDE}{ready_line}{LOOP}"));
        self
    }

    fn add(&mut self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.launches.push(Launch { path, permit: Arc::new(|| true) });
    }

    fn options(&self) -> ProcessOptions {
        ProcessOptions {
            runner: Runner::with_supervisor(env!("CARGO_BIN_EXE_engine-supervisor")),
            session: "s1".into(),
            cwd: self.dir.path().canonicalize().unwrap(),
            withheld_variables: vec!["CARGO_MANIFEST_DIR".into()],
        }
    }

    /// Creates a harness with these extensions.
    async fn harness(
        self,
        answers: Vec<ScriptedAnswer>,
        timeout: Duration,
        change: impl FnOnce(&mut SessionParts),
    ) -> Harness {
        let mut extensions = Extensions::with_timeout(timeout);
        extensions.start(self.launches.clone(), &self.options()).await;
        let placement = Placement::Flat(self.dir.path().join("logs"));
        let manager = SessionManager::new(placement, self.dir.path().canonicalize().unwrap());
        let harness = Harness::configured(self.dir, (manager, None), Access::Writes, answers, |parts| {
            parts.extensions = extensions;
            change(parts);
        });
        harness.permits.add_permits(100);
        harness
    }
}

fn ready_line(fields: Value) -> Value {
    let mut ready_line = json!({"type": "ready", "protocol": 1});
    ready_line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    ready_line
}

fn warning(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    }
}

fn no_change(_: &mut SessionParts) {}

#[tokio::test]
async fn process_gets_the_hooks_it_declared() {
    let hooks = ["before_agent_start", "turn_start", "turn_end", "tool_call", "tool_result", "session_event"];
    let on_request = r#"case $1 in
      before_agent_start) answer '{"prompt": "go gently"}' ;;
      turn_start) answer '{"system": "Changed."}' ;;
      tool_call) answer '{"verdict": "rewrite", "arguments": {"n": 7}}' ;;
      tool_result) answer '{"content": "seen", "isError": false}' ;;
    esac"#;
    let scripts = Scripts::new().with_extension("all.sh", &ready_line(json!({"hooks": hooks})), on_request);
    let mut harness =
        scripts.harness(vec![calls(&[json!({"n": 1})]), text_answer("done")], TIMEOUT, no_change).await;
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines(), ["user go", "answer  ToolUse", "result seen", "answer done Stop"]);
    let request = harness.requests().remove(0);
    assert_eq!(request.system, "Changed.");
    harness.agent.close().await.unwrap();

    let lines = std::fs::read_to_string(harness.dir.path().join("lines")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap(), &json!({"type": "close"}));
    let start = &lines.iter().find(|line| line["hook"] == "turn_start").unwrap()["params"];
    assert_eq!((&start["prompt"], &start["tools"]), (&json!("go gently"), &json!(["gate"])));
    let call = &lines.iter().find(|line| line["hook"] == "tool_call").unwrap()["params"];
    assert_eq!((&call["toolName"], &call["args"]), (&json!("gate"), &json!({"n": 1})));
    let result = &lines.iter().find(|line| line["hook"] == "tool_result").unwrap()["params"];
    assert_eq!((&result["args"], &result["content"][0]["text"]), (&json!({"n": 7}), &json!("through")));
    let turn_ends = lines.iter().filter(|line| line["type"] == "turn_end").count();
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"]["type"].as_str()).collect();
    assert_eq!((turn_ends, events.first(), events.last()), (2, Some(&"agent_start"), Some(&"agent_settled")));
    assert!(!events.contains(&"message_update"), "{events:?}");
}

#[tokio::test]
async fn process_gets_hello_and_no_secrets() {
    let mut scripts = Scripts::new();
    let text = format!(
        "{PRELUDE}echo \"$hello\" > hello; echo \"[$CARGO_MANIFEST_DIR]\" > secret; say '{}'; {LOOP}",
        ready_line(json!({}))
    );
    scripts.add("a", &text);
    let cwd = scripts.options().cwd;
    let harness = scripts.harness(vec![], TIMEOUT, no_change).await;
    let read = |name| std::fs::read_to_string(harness.dir.path().join(name)).unwrap();
    let hello: Value = serde_json::from_str(&read("hello")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        hello,
        json!({"type": "hello", "protocol": 1, "tiller": version, "session": "s1", "cwd": cwd})
    );
    assert_eq!(read("secret"), "[]\n");
}

#[tokio::test]
async fn process_tools_and_commands_are_offered_validated_and_run() {
    let tool = json!({
        "name": "add", "description": "adds", "access": "reads",
        "parameters": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
    });
    let wrong = json!({"name": "wrong", "parameters": {"type": "string"}});
    let command = json!({"name": "todo", "description": "notes", "argumentHint": "TEXT"});
    let ready_line = ready_line(json!({"tools": [tool, wrong], "commands": [command]}));
    let on_request = r#"case $1 in
      tool) say "{\"type\": \"progress\", \"id\": $id, \"text\": \"half\"}"
            answer '{"content": [{"type": "text", "text": "42"}], "details": {"sum": 42}}' ;;
      command) answer '{"notice": "noted"}' ;;
    esac"#;
    let answer: ScriptedAnswer = serde_json::from_value(
        json!({"calls": [{"name": "add", "arguments": {"n": "x"}}, {"name": "add", "arguments": {"n": 2}}]}),
    )
    .unwrap();
    let mut harness = Scripts::new()
        .with_extension("adder", &ready_line, on_request)
        .harness(vec![answer, text_answer("done")], TIMEOUT, no_change)
        .await;
    let left_out =
        "extension adder: its tool wrong is skipped: the schema of its parameters is not of type object";
    assert_eq!(harness.agent.notices(), [left_out]);
    harness.prompt("go").await;
    let progress = |event: &EventKind| match event {
        EventKind::ToolExecutionUpdate { partial_result, .. } => Some(joined_text(&partial_result.content)),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(progress).await, "half");
    harness.settled().await;
    let lines = harness.message_lines();
    assert_eq!(lines[2], "result invalid arguments: argument `n`: want integer, but got string");
    assert_eq!(lines[3], "result 42");

    harness.prompt("/todo buy milk").await;
    let notice = |event: &EventKind| match event {
        EventKind::Notice { message } => Some(message.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(notice).await, "noted");
    let lines = std::fs::read_to_string(harness.dir.path().join("lines")).unwrap();
    assert!(
        lines.contains(r#""hook":"command","params":{"name":"todo","arguments":"buy milk"}}"#),
        "{lines}"
    );
}

#[tokio::test]
async fn process_aborted_call_is_cancelled() {
    let ready_line = ready_line(json!({"tools": [{"name": "wait", "access": "reads"}]}));
    let answer: ScriptedAnswer = serde_json::from_value(json!({"calls": [{"name": "wait"}]})).unwrap();
    let mut harness = Scripts::new()
        .with_extension("slow", &ready_line, "")
        .harness(vec![answer], TIMEOUT, no_change)
        .await;
    harness.prompt("go").await;
    let lines = harness.dir.path().join("lines");
    let wait = async |words: &str| {
        while !std::fs::read_to_string(&lines).unwrap_or_default().contains(words) {
            tokio::task::yield_now().await;
        }
    };
    wait(r#""hook":"tool""#).await;
    harness.agent.abort().await.unwrap();
    harness.settled().await;
    wait(r#"{"type":"cancel","id":1}"#).await;
}

#[tokio::test]
async fn process_guard_that_dies_lets_no_call_through() {
    let guard = ready_line(json!({"hooks": ["tool_call", "turn_start"]}));
    let on_request = r#"case $1 in turn_start) answer null ;; tool_call) echo "no idea" >&2; exit 3 ;; esac"#;
    let answers = vec![calls(&[json!({})]), calls(&[json!({})]), text_answer("done")];
    let mut harness = Scripts::new()
        .with_extension("guard.sh", &guard, on_request)
        .harness(answers, TIMEOUT, |parts| {
            parts.options.approver = Approver::Absent;
            parts.options.policy.ask_behavior = tiller_tools::policy::AskBehavior::Yes;
        })
        .await;
    harness.prompt("go").await;
    let events = harness.wait_for_event(warning).await;
    assert_eq!(events, "extension guard ended with exit code 3; last output: no idea; /reload restarts it");
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let denied = "result denied: extension guard, which reviews calls, failed: it ended with exit code 3";
    let lines = harness.message_lines();
    assert!(lines[2].starts_with(denied) && lines[4].starts_with(denied), "{lines:?}");
}

#[tokio::test]
async fn process_that_ended_is_restarted_on_reload() {
    let hooks = ready_line(json!({"hooks": ["turn_start"]}));
    let on_request = r#"[ -e second ] || { touch second; exit 0; }; answer '{"system": "Changed."}'"#;
    let mut harness = Scripts::new()
        .with_extension("frail", &hooks, on_request)
        .harness(vec![text_answer("one"), text_answer("two"), text_answer("three")], TIMEOUT, no_change)
        .await;
    for prompt in ["first", "second"] {
        harness.prompt(prompt).await;
        assert_eq!(harness.settled().await, RunOutcome::Completed);
    }
    harness.agent.reload().await.unwrap();
    harness.prompt("third").await;
    harness.settled().await;
    let changed: Vec<bool> = harness.requests().iter().map(|request| request.system == "Changed.").collect();
    assert_eq!(changed, [false, false, true]);
}

#[tokio::test]
async fn process_that_changed_is_restarted_and_new_ones_announced() {
    let script = |system: &str, tools: Value| {
        let ready_line = format!("say '{}'\n", ready_line(json!({"hooks": ["turn_start"], "tools": tools})));
        format!("{PRELUDE}{ready_line}on_request() {{ answer '{{\"system\": \"{system}\"}}'; }}\n{LOOP}")
    };
    let mut scripts = Scripts::new();
    scripts.add("mine", &script("Old.", json!([])));
    let (own_script, new) = (scripts.dir.path().join("mine"), scripts.dir.path().join("new.sh"));
    let found = vec![own_script.clone(), new.clone()];
    let mut harness = scripts
        .harness(vec![text_answer("one"), text_answer("two"), text_answer("three")], TIMEOUT, |parts| {
            parts.extensions.watch_for_new(move || found.clone());
        })
        .await;
    harness.prompt("first").await;
    harness.settled().await;
    harness.agent.reload().await.unwrap();
    let is_new = format!("extension new is new; restart tiller to use it: {}", new.display());
    assert_eq!(harness.wait_for_event(warning).await, is_new);
    harness.prompt("second").await;
    harness.settled().await;
    // Replaced, not overwritten, because the shell keeps reading a running script.
    std::fs::write(&new, script("New.", json!([{"name": "more"}]))).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&new, &own_script).unwrap();
    harness.agent.reload().await.unwrap();
    let other_tools = "extension mine has changed its tools; restart tiller to use them";
    assert_eq!(
        [harness.wait_for_event(warning).await, harness.wait_for_event(warning).await]
            .iter()
            .filter(|events| *events == other_tools)
            .count(),
        1
    );
    harness.prompt("third").await;
    harness.settled().await;
    let systems: Vec<String> = harness.requests().iter().map(|request| request.system.clone()).collect();
    assert_eq!(systems, ["Old.", "Old.", "New."]);
}

#[tokio::test]
async fn process_skills_and_templates_are_listed() {
    let mut scripts = Scripts::new().with_extension(
        "more",
        &ready_line(json!({
            "skills": ["skills"], "prompts": ["prompts"],
            "commands": [{"name": "todo", "description": "notes"}, {"name": "model"}],
        })),
        "",
    );
    let duplicate = json!({"commands": [{"name": "todo", "description": "mine"}]});
    scripts = scripts.with_extension("twin", &ready_line(duplicate), "");
    let dir = scripts.dir.path().to_owned();
    for (name, text) in [
        ("skills/knit/SKILL.md", "---\nname: knit\ndescription: Knits.\n---\nKnit."),
        ("prompts/purl.md", "Purl $1."),
        ("prompts/todo.md", "Never reached."),
    ] {
        std::fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        std::fs::write(dir.join(name), text).unwrap();
    }
    let mut extensions = Extensions::with_timeout(TIMEOUT);
    extensions.start(scripts.launches.clone(), &scripts.options()).await;
    let unreachable = extensions.unreachable_commands(&["model".to_owned()]);
    assert_eq!(
        unreachable,
        [
            "extension more: its command /model is not available in the terminal UI: tiller has a command with that name",
            "extension twin: its command /todo is ignored: more has a command with that name",
        ]
    );
    let mut sources = ResourcePaths::default();
    extensions.add_resource_paths(&mut sources);
    let resources = Resources::load(sources);
    let problem = resources.problems()[0].to_string();
    assert!(problem.contains("prompts/todo.md"), "{problem}");
    let harness = scripts
        .harness(vec![], TIMEOUT, |parts| {
            parts.resources = resources;
        })
        .await;
    let commands = harness.agent.slash_commands().await.unwrap();
    let names: Vec<String> =
        commands.iter().map(|command| format!("{:?} {}", command.source, command.name)).collect();
    assert_eq!(names, ["Extension todo", "Extension model", "Prompt purl", "Skill skill:knit"]);
    assert_eq!(commands[0].description, "notes");
}

#[tokio::test]
async fn process_that_never_gets_ready_makes_calls_ask() {
    let mut scripts = Scripts::new();
    scripts.add("broken.py", "#!/bin/bash\necho 'syntax error' >&2; exit 1");
    scripts.add("mute", "#!/bin/bash\nexec sleep 1000");
    scripts = scripts.with_extension("typo", &ready_line(json!({"hooks": ["tool_cal"]})), "");
    scripts.add("ahead", &format!("#!/bin/bash\necho '{}'; {LOOP}", json!({"type": "ready", "protocol": 2})));
    let mut harness = scripts
        .harness(vec![calls(&[json!({})]), text_answer("done")], Duration::from_millis(500), |parts| {
            parts.options.approver = Approver::Absent;
        })
        .await;
    let notices = harness.agent.notices().to_vec();
    let reason = |name: &str| notices.iter().find(|notice| notice.contains(name)).unwrap().clone();
    assert!(
        reason("broken").contains("could not be started: ended with exit code 1; last output: syntax error")
    );
    assert!(
        reason("mute")
            .contains("could not be started: it was not ready within 500 ms; tool calls need approval")
    );
    let unknown = "could not be started: unknown hook `tool_cal`; available: session_start, ";
    assert!(reason("typo").contains(unknown), "{notices:?}");
    assert!(reason("ahead").contains("it uses protocol version 2, tiller uses version 1"));
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let denied =
        "result denied: extension broken, which reviews calls, failed: it is not running, and no one";
    assert!(harness.message_lines()[2].starts_with(denied), "{:?}", harness.message_lines());
}

#[tokio::test]
async fn process_invalid_lines_are_skipped_and_reported_once() {
    let start = ready_line(json!({"hooks": ["turn_start"]}));
    let on_request = r#"say 'hello there'; say '{"type": "answer"'; say "$(head -c 9000000 /dev/zero | tr '\0' x)"; answer '{"system": "Changed."}'"#;
    let mut harness = Scripts::new()
        .with_extension("noisy", &start, on_request)
        .harness(vec![text_answer("done")], TIMEOUT, no_change)
        .await;
    let mut events = harness.agent.subscribe();
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.requests()[0].system, "Changed.");
    harness.agent.close().await.unwrap();
    let mut warnings = Vec::new();
    while let Some(Ok(event)) = events.next().await {
        warnings.extend(warning(&event.kind));
    }
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].ends_with(": hello there"), "{warnings:?}");
}

#[tokio::test]
async fn process_that_floods_is_killed() {
    let guard = ready_line(json!({"hooks": ["tool_call"]}));
    let answers = vec![calls(&[json!({})]), text_answer("done")];
    let mut harness = Scripts::new()
        .with_extension("flood", &guard, "while :; do say nonsense; done")
        .harness(answers, TIMEOUT, |parts| parts.options.approver = Approver::Absent)
        .await;
    harness.prompt("go").await;
    assert!(harness.wait_for_event(warning).await.contains("ignored an invalid line"));
    let reason = "was killed: 100 consecutive lines were invalid";
    assert_eq!(
        harness.wait_for_event(warning).await,
        format!("extension flood {reason}; /reload restarts it")
    );
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert!(harness.message_lines()[2].contains(reason), "{:?}", harness.message_lines());
}

#[tokio::test]
async fn process_late_reply_is_ignored() {
    let hooks = ready_line(json!({"hooks": ["turn_start"]}));
    let on_request = r#"[ -e first ] || { touch first; sleep 0.5; }; answer '{"system": "Changed."}'"#;
    let mut harness = Scripts::new()
        .with_extension("late", &hooks, on_request)
        .harness(vec![text_answer("one"), text_answer("two")], Duration::from_millis(200), no_change)
        .await;
    harness.prompt("go").await;
    assert_eq!(harness.wait_for_event(warning).await, "extension late: turn_start took longer than 200 ms");
    harness.settled().await;
    assert_ne!(harness.requests()[0].system, "Changed.");
    // The reply to the first request arrives before the one to the second, and must be dropped.
    let cancelled = || std::fs::read_to_string(harness.dir.path().join("lines")).unwrap().contains("cancel");
    while !cancelled() {
        tokio::task::yield_now().await;
    }
    harness.prompt("go on").await;
    harness.settled().await;
    assert_eq!(harness.requests()[1].system, "Changed.");
}

#[tokio::test]
async fn process_changed_since_it_was_trusted_is_not_run() {
    let mut scripts = Scripts::new().with_extension("a", &ready_line(json!({})), "");
    scripts.launches[0].permit = Arc::new(|| false);
    let harness = scripts.harness(vec![], TIMEOUT, no_change).await;
    let notice = &harness.agent.notices()[0];
    assert!(notice.contains("could not be started: it has changed since it was trusted"), "{notice}");
}

/// Returns true if Python is available for the example in the docs.
fn has_python() -> bool {
    let found =
        std::process::Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !found {
        eprintln!("skipped: there is no python3");
    }
    found
}

#[tokio::test]
async fn process_example_keeps_a_list_and_denies_its_entries() {
    if !has_python() {
        return;
    }
    let mut scripts = Scripts::new();
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/extensions/todo.py"))
        .unwrap();
    scripts.add("todo.py", &text);
    let bash = |command: &str| json!({"name": "bash", "arguments": {"command": command}});
    let todo = json!({"name": "todo", "arguments": {"done": 1}});
    let lines = [bash("ls"), bash("cd x && rm -v -fr ."), bash("rm -r -f src"), todo.clone(), todo];
    let answer: ScriptedAnswer = serde_json::from_value(json!({"calls": lines})).unwrap();
    let mut harness = scripts
        .harness(vec![answer, text_answer("done")], TIMEOUT, |parts| {
            let spec = ToolSpec {
                name: "bash".into(),
                description: String::new(),
                parameters: Arc::new(json!({"type": "object"})),
                traits: ToolTraits::new(Access::Executes),
            };
            let (started, permits) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(100)));
            parts.tools = Tools::new([Arc::new(BlockingTool { spec, started, permits }) as Arc<dyn Tool>]);
            parts.options.policy.ask_behavior = tiller_tools::policy::AskBehavior::Yes;
        })
        .await;
    let notice = |event: &EventKind| match event {
        EventKind::Notice { message } => Some(message.clone()),
        _ => None,
    };
    harness.prompt("/todo add buy milk").await;
    assert_eq!(harness.wait_for_event(notice).await, "1. buy milk");
    harness.settled().await;
    let wrong = harness.agent.prompt("/todo buy", PromptOptions::default()).await.unwrap_err().to_string();
    assert_eq!(
        wrong,
        "extension todo: command /todo failed: usage: /todo, /todo add TEXT or /todo done NUMBER"
    );
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let request = harness.requests().remove(0);
    assert!(request.system.ends_with("The user's list:\n1. buy milk"));
    let todo = request.tools.iter().find(|tool| tool.name == "todo").unwrap();
    assert_eq!(todo.traits, ToolTraits::new(Access::Writes));
    let denied = "result denied: rm -rf is not allowed; remove single files instead (extension todo)";
    let expected = [
        "result through",
        denied,
        denied,
        "result nothing to do",
        "result the extension todo failed: no item 1",
    ];
    assert_eq!(harness.message_lines()[2..7], expected);
}

#[tokio::test]
async fn process_takes_part_in_prompts_and_the_end_of_runs() {
    let on_request = r#"case $1 in
      session_start) answer '{"context": "be brief"}' ;;
      prompt_submit) if [[ $2 == *secret* ]]; then answer '{"verdict": "reject", "reason": "no secrets"}'; else answer null; fi ;;
      run_end) answer '{"verdict": "continue", "instruction": "test it"}' ;;
    esac"#;
    let hooks = json!({"hooks": ["session_start", "prompt_submit", "run_end"]});
    let scripts = Scripts::new().with_extension("all.sh", &ready_line(hooks), on_request);
    let mut harness =
        scripts.harness(vec![text_answer("done"), text_answer("tested")], TIMEOUT, no_change).await;
    let error = harness.agent.prompt("a secret", PromptOptions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "not sent: no secrets (extension all)");
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let expected = ["user go\n\n<hook>\nbe brief\n</hook>", "answer done Stop", "answer tested Stop"];
    assert_eq!(harness.message_lines(), expected);
    let lines = std::fs::read_to_string(harness.dir.path().join("lines")).unwrap();
    let ends: Vec<bool> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["hook"] == "run_end")
        .map(|line| line["params"]["isContinued"].as_bool().unwrap())
        .collect();
    assert_eq!(ends, [false, true]);
}
