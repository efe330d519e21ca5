//! Crashes of tiller: the terminal is restored, and a report is written.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tiller::tui::{self, TuiFiles, TuiOptions};

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Size, Terminal, TerminalKey, TerminalStart};

/// Names the directory for crash reports of [`panicking_child`].
const REPORTS: &str = "REPORTS";

/// Names the file that [`panicking_child`] waits for before it panics.
const GATE: &str = "GATE";

/// The whole TUI around a session whose opening panics.
#[test]
#[ignore = "a program for the test beside it"]
fn panicking_child() {
    let files =
        TuiFiles { crash_reports: std::env::var_os(REPORTS).map(PathBuf::from), ..TuiFiles::default() };
    let options = TuiOptions { cwd: "/".into(), files, ..TuiOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let gate = std::env::var_os(GATE).map(PathBuf::from);
    let run = tui::run::<()>(options, async move {
        while gate.as_ref().is_some_and(|gate| !gate.exists()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the floor gave way");
    });
    let _ = runtime.block_on(run);
}

#[test]
fn panic_restores_terminal_and_writes_report() {
    let dir = tempfile::tempdir().unwrap();
    let (reports, gate) = (dir.path().join("reports"), dir.path().join("gate"));
    let arguments = ["--ignored", "--exact", "--nocapture", "--test-threads=1"];
    let name = "screen::faults::panicking_child";
    let mut terminal = Terminal::start(&TerminalStart {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.into_iter().chain([name]).map(str::to_owned).collect(),
        cwd: dir.path().to_owned(),
        variables: [(REPORTS, &reports), (GATE, &gate)]
            .map(|(name, path)| (name.to_owned(), path.display().to_string()))
            .to_vec(),
        size: Size(100, 30),
    });
    terminal.wait_for("❯");
    assert!(terminal.inspect(vt100::Screen::alternate_screen));
    fs::write(&gate, "").unwrap();
    terminal.wait();
    assert!(!terminal.inspect(vt100::Screen::alternate_screen) && terminal.is_cooked());
    let screen = terminal.screen();
    assert!(screen.contains("tiller crashed because of an internal error"), "{screen}");
    let output = terminal.output();
    let (_, after) = output.split_once("tiller crashed").unwrap();
    assert!(!after.contains("\u{1b}[?"), "what was said of it stays as it is: {after:?}");
    let report = fs::read_dir(&reports).unwrap().next().unwrap().unwrap().path();
    let report = fs::read_to_string(report).unwrap();
    assert!(report.starts_with("the floor gave way (tests/e2e/screen/faults.rs:"), "{report}");
    assert!(report.contains(env!("CARGO_PKG_VERSION")), "{report}");
}

#[test]
fn external_append_is_shown_in_order() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "One."}"#, r#"{"text": "Two."}"#], &["first"]);
    terminal.wait_for_answer("One.");
    let log = sandbox.logs().remove(0);
    let leaf = sandbox.log().last().unwrap()["id"].clone();
    let message = json!({"role": "user", "content": "said elsewhere", "timestamp": 1});
    let line = json!({"type": "message", "id": "x", "parentId": leaf, "timestamp": "2026-11-21T03:16:58.249Z",
                      "message": message});
    let text = fs::read_to_string(&log).unwrap() + &format!("{line}\n");
    fs::write(&log, text).unwrap();
    terminal.send("second");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Two.");
    let screen = terminal.screen();
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("no {words}: {screen}"));
    assert!(at("▌ said elsewhere") < at("▌ second") && at("▌ second") < at("Two."), "{screen}");
    assert!(screen.contains("another program appended to it (1 entry)"), "{screen}");
}

#[test]
fn log_page_shows_newest_line_first() {
    let sandbox = Sandbox::new();
    let mut terminal =
        sandbox.open_scripted(&[r#"{"text": "One."}"#], &["--log-level", "info", "a private question"]);
    terminal.wait_for_answer("One.");
    terminal.send("/logs");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("tiller/state/tiller.log");
    terminal.wait_for("session opened");
    let screen = terminal.screen();
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("no {words}: {screen}"));
    assert!(at("run ended") < at("run begun") && at("run begun") < at("session opened"), "{screen}");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("session opened");
    assert_eq!(terminal.quit().exit_code(), 0);
    let log = fs::read_to_string(sandbox.home().join("tiller/state/tiller.log")).unwrap();
    assert!(log.contains("session closed") && !log.contains("private"), "{log}");
}

#[test]
fn problems_of_user_files_are_logged_once() {
    let sandbox = Sandbox::new();
    let config = sandbox.home().join("tiller");
    fs::create_dir_all(config.join("themes")).unwrap();
    fs::write(config.join("settings.json"), r#"{"mouse": "maybe", "nonsense": 1}"#).unwrap();
    fs::write(config.join("keybindings.json"), r#"{"quitt": "f2"}"#).unwrap();
    fs::write(config.join("themes/mine.json"), "{").unwrap();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "One."}"#], &[]);
    terminal.wait_for("unknown action `quitt`");
    fs::write(config.join("keybindings.json"), "{\"quitt\": \"f2\",\n\"send\": 7}").unwrap();
    fs::write(config.join("settings.json"), r#"{"mouse": "maybe", "nonsense": 1, "folly": 2}"#).unwrap();
    terminal.send("/reload\r");
    terminal.wait_for("unknown setting `folly`");
    terminal.send("/logs\r");
    terminal.wait_for("tiller/state/tiller.log");
    let log = fs::read_to_string(sandbox.home().join("tiller/state/tiller.log")).unwrap();
    for words in
        ["`maybe` is not one of", "`nonsense`", "`folly`", "`quitt`", "send takes a key", "mine.json"]
    {
        assert_eq!(log.matches(words).count(), 1, "{words}:\n{log}");
    }
    assert!(log.lines().all(|line| line.contains(" WARN ")), "{log}");
}
