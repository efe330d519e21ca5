//! How much memory the real binary takes for logs that are far too long. Linux alone tells.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::long_log::{self, Length};

const MB: usize = 1 << 20;

/// What buffers take, and what one run takes more than another.
const ROOM: usize = 4 * MB;

/// Between two looks at how much it has taken.
const LOOK_AGAIN: Duration = Duration::from_micros(500);

/// What `sessions show --stats` says of a log, and how many bytes of memory it had at its peak.
fn shown(path: &Path) -> (Value, usize) {
    let home = TempDir::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tiller"))
        .args(["sessions", "show", "--stats", "--json"])
        .arg(path)
        .env("TILLER_HOME", home.path())
        .stdin(Stdio::null())
        .stdout(File::create(home.path().join("out")).unwrap())
        .stderr(File::create(home.path().join("err")).unwrap())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        // The kernel keeps the peak itself; what is missed is only what grows within the last moment.
        peak = peak.max(peak_of(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(LOOK_AGAIN);
    };
    let err = fs::read_to_string(home.path().join("err")).unwrap();
    assert!(status.success(), "{err}");
    assert!(peak > MB, "its memory was not seen");
    let out = fs::read(home.path().join("out")).unwrap();
    (serde_json::from_slice(&out).unwrap(), peak)
}

/// The most memory that a process ever had at once, in bytes.
fn peak_of(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
}

/// What the binary takes for itself, unoptimised and whole, with a log of one message, and for its buffers. It is over so soon that
/// its peak may go by unseen, so the highest of several counts.
fn constant() -> usize {
    let place = Place::new();
    let path = log_with(&place, |_| ());
    let peaks = (0..8).map(|_| shown(&path).1);
    peaks.max().unwrap_or_default() + ROOM
}

/// A log of a first message and whatever is written then.
fn log_with(place: &Place, write: impl FnOnce(&mut dyn Write)) -> PathBuf {
    let path = place.log(&[&line("a", None, "one")]);
    let mut file = BufWriter::new(File::options().append(true).open(&path).unwrap());
    write(&mut file);
    file.flush().unwrap();
    path
}

fn assert_within(peak: usize, limit: usize) {
    assert!(peak <= limit, "it took {} MB, and {} would be enough", peak / MB, limit / MB);
    println!("{} MB of {}", peak / MB, limit / MB);
}

#[test]
fn a_line_of_100_mb_takes_three_times_its_length_and_no_more() {
    let place = Place::new();
    let long = "x".repeat(100 * MB);
    let path = log_with(&place, |file| {
        writeln!(file, "{}\n{}", line("b", Some("a"), &long), line("c", Some("b"), "two")).unwrap();
    });
    let (stats, peak) = shown(&path);
    assert_eq!((&stats["entries"], &stats["contextMessages"]), (&3.into(), &3.into()));
    assert_within(peak, 3 * 100 * MB + constant());
}

#[test]
fn a_last_line_of_100_mb_without_an_end_takes_three_times_its_length_and_no_more() {
    let place = Place::new();
    let long = line("b", Some("a"), &"x".repeat(100 * MB));
    let path = log_with(&place, |file| file.write_all(&long.as_bytes()[..long.len() - 9]).unwrap());
    let (stats, peak) = shown(&path);
    assert_eq!((&stats["entries"], &stats["warnings"][0]["line"]), (&1.into(), &3.into()));
    assert_within(peak, 3 * 100 * MB + constant());
}

#[test]
fn a_million_lines_of_garbage_take_no_memory_to_speak_of() {
    const LINES: usize = 1_000_000;
    let place = Place::new();
    let path = log_with(&place, |file| {
        for _ in 0..LINES {
            file.write_all(b"garbage\n").unwrap();
        }
        writeln!(file, "{}", line("c", Some("a"), "two")).unwrap();
    });
    let (stats, peak) = shown(&path);
    assert_eq!(stats["entries"], 2);
    let warnings = stats["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 100, "the first hundred are named, the rest is counted");
    let last = &warnings[99];
    assert_eq!(
        (last["line"].as_u64(), last["what"].as_str().unwrap().contains("the 999900 lines after it")),
        (Some(102), true)
    );
    assert_within(peak, constant());
}

#[test]
fn a_compacted_log_of_50_mb_is_opened_with_its_context_below_64() {
    let place = Place::new();
    let length = Length { entries: 20_000, bytes: 50 * MB, compacted_every: 400 };
    let path = long_log::write(place.root.path(), length);
    assert!(fs::metadata(&path).unwrap().len() > 45 * MB as u64);
    let (stats, peak) = shown(&path);
    assert_eq!(stats["entries"], 20_000);
    assert_within(peak, 64 * MB);
}
