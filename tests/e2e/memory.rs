//! The peak memory of the real binary with damaged and very large logs.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_test_support::long_log::{self, LogLength};

const MB: usize = 1 << 20;

/// Allowance for buffers, and for differences between two runs.
const MARGIN: usize = 4 * MB;

/// Names the log that [`measured_child`] opens.
const LOG: &str = "TILLER_TEST_LOG";

/// Names the directory that [`measured_child`] writes its results to.
const RESULTS: &str = "TILLER_TEST_RESULTS";

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/home/dev/project"}"#;

/// A line of the log that holds a user message.
fn line(id: &str, parent: Option<&str>, text: &str) -> String {
    json!({
        "type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-21T03:16:58.249Z",
        "message": { "role": "user", "content": text, "timestamp": 1_795_231_018_249_u64 },
    })
    .to_string()
}

/// Returns the output of `sessions show --stats` for a log, and the peak of its memory in bytes.
///
/// The kernel reports one peak for all children of a process, so the command runs below a separate process:
/// this test binary, running [`measured_child`] alone.
fn show(log: &Path) -> (Value, usize) {
    let results = TempDir::new().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::measured_child", "--ignored"])
        .env(LOG, log)
        .env(RESULTS, results.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    let read = |name: &str| fs::read(results.path().join(name)).unwrap_or_default();
    assert!(status.success(), "{}", String::from_utf8_lossy(&read("err")));
    let peak = String::from_utf8(read("peak")).unwrap().parse::<usize>().unwrap();
    (serde_json::from_slice(&read("out")).unwrap(), peak)
}

#[test]
#[ignore = "run by the other tests of this file"]
fn measured_child() {
    let results = PathBuf::from(std::env::var_os(RESULTS).unwrap());
    let status = Command::new(env!("CARGO_BIN_EXE_tiller"))
        .args(["sessions", "show", "--stats", "--json"])
        .arg(std::env::var_os(LOG).unwrap())
        .env("TILLER_HOME", &results)
        .stdin(Stdio::null())
        .stdout(File::create(results.join("out")).unwrap())
        .stderr(File::create(results.join("err")).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    // In KiB: getrusage(2).
    let peak = usize::try_from(getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()).unwrap() << 10;
    fs::write(results.join("peak"), peak.to_string()).unwrap();
}

/// Returns the peak with a log of one message, plus a margin.
fn baseline() -> usize {
    let dir = TempDir::new().unwrap();
    show(&log_with(&dir, |_| ())).1 + MARGIN
}

/// Writes a log of a first message and of the lines that `write` adds.
fn log_with(dir: &TempDir, write: impl FnOnce(&mut dyn Write)) -> PathBuf {
    let path = dir.path().join("log.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    writeln!(file, "{HEADER}\n{}", line("a", None, "one")).unwrap();
    write(&mut file);
    file.flush().unwrap();
    path
}

fn assert_within(peak: usize, limit: usize) {
    assert!(peak <= limit, "it took {} MB, and {} would be enough", peak / MB, limit / MB);
    println!("{} MB of {}", peak / MB, limit / MB);
}

#[test]
fn memory_line_of_100_mb_takes_at_most_three_times_its_length() {
    let dir = TempDir::new().unwrap();
    let long = "x".repeat(100 * MB);
    let path = log_with(&dir, |file| {
        writeln!(file, "{}\n{}", line("b", Some("a"), &long), line("c", Some("b"), "two")).unwrap();
    });
    let (stats, peak) = show(&path);
    assert_eq!((&stats["entries"], &stats["contextMessages"]), (&3.into(), &3.into()));
    assert_within(peak, 3 * 100 * MB + baseline());
}

#[test]
fn memory_torn_line_of_100_mb_takes_three_times_its_length() {
    let dir = TempDir::new().unwrap();
    let long = line("b", Some("a"), &"x".repeat(100 * MB));
    let path = log_with(&dir, |file| file.write_all(&long.as_bytes()[..long.len() - 9]).unwrap());
    let (stats, peak) = show(&path);
    assert_eq!((&stats["entries"], &stats["warnings"][0]["line"]), (&1.into(), &3.into()));
    assert_within(peak, 3 * 100 * MB + baseline());
}

#[test]
fn memory_million_lines_of_garbage_is_constant() {
    const LINES: usize = 1_000_000;
    let dir = TempDir::new().unwrap();
    let path = log_with(&dir, |file| {
        for _ in 0..LINES {
            file.write_all(b"garbage\n").unwrap();
        }
        writeln!(file, "{}", line("c", Some("a"), "two")).unwrap();
    });
    let (stats, peak) = show(&path);
    assert_eq!(stats["entries"], 2);
    let warnings = stats["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 100, "the first hundred are named, the rest is counted");
    let last = &warnings[99];
    assert_eq!(
        (last["line"].as_u64(), last["what"].as_str().unwrap().contains("the 999900 lines after it")),
        (Some(102), true)
    );
    assert_within(peak, baseline());
}

#[test]
fn memory_compacted_log_of_50_mb_is_below_64_mb() {
    let dir = TempDir::new().unwrap();
    let length = LogLength { entries: 20_000, bytes: 50 * MB, compacted_every: 400 };
    let path = long_log::write(dir.path(), length);
    assert!(fs::metadata(&path).unwrap().len() > 45 * MB as u64);
    let (stats, peak) = show(&path);
    assert_eq!(stats["entries"], 20_000);
    assert_within(peak, 64 * MB);
}
