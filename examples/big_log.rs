//! Generates a session of any length, and measures the time and memory that opening one takes.
//!
//! ```sh
//! cargo run --profile dist --example big_log -- write DIRECTORY 100000 500MB [ENTRIES BETWEEN COMPACTIONS, 0 FOR NONE]
//! cargo run --profile dist --example big_log -- open FILE
//! ```
//!
//! `open` does what resuming a session does before the first prompt: index, context, totals, queue. It prints
//! the time and, on Linux, the peak memory.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use tiller::session::Reader;
use tiller_test_support::long_log::{self, LogLength};

/// Default number of entries between two compactions.
const COMPACTED_EVERY: usize = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["write", dir, entries, size, between @ ..] => {
            let length = LogLength {
                entries: entries.parse()?,
                bytes: bytes(size).ok_or("a size is a number with KB, MB or GB")?,
                compacted_every: between.first().map_or(Ok(COMPACTED_EVERY), |every| every.parse())?,
            };
            let path = long_log::write(Path::new(dir), length);
            println!("{} ({} bytes)", path.display(), fs::metadata(&path)?.len());
            Ok(())
        }
        ["open", file] => open(Path::new(file)),
        _ => Err("usage: big_log write DIR ENTRIES SIZE | big_log open FILE".into()),
    }
}

fn open(path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let reader = Reader::open(path)?;
    let indexed = start.elapsed();
    let leaf = reader.leaf().ok_or("the session is empty")?;
    let (projection, damaged) = reader.projection(&leaf)?;
    let (facts, _) = reader.tiller_entries()?;
    let duration = start.elapsed();
    println!("entries           {}", reader.entry_count());
    println!("context messages  {}", projection.message_count());
    println!("total tokens      {}", reader.usage().total());
    println!("own facts         {}", facts.len());
    println!("findings          {}", reader.findings().len() + damaged.len());
    println!("indexed after     {:.1} ms", indexed.as_secs_f64() * 1e3);
    println!("context after     {:.1} ms", duration.as_secs_f64() * 1e3);
    if let Ok(status) = fs::read_to_string("/proc/self/status")
        && let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))
    {
        println!("most memory       {}", peak.trim());
    }
    Ok(())
}

/// Parses `500MB` as bytes.
fn bytes(size: &str) -> Option<usize> {
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &size[digits.len()..] {
        "" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}
