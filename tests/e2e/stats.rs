//! `tiller stats`.

use std::fs;

use serde_json::{Value, json};
use tiller::unit::UnixMs;

use super::sandbox::Sandbox;

/// Writes a log with one answer of now.
fn write_session(sandbox: &Sandbox, id: &str, cwd: &str) {
    let now = UnixMs::from(std::time::SystemTime::now()).to_iso();
    let dir = sandbox.home().join("tiller/sessions/project");
    let header = json!({"type": "session", "version": 3, "id": id, "timestamp": now, "cwd": cwd});
    let usage = json!({"input": 100, "output": 20, "cacheRead": 300, "cost": {"total": 0.25}});
    let message = json!({"role": "assistant", "provider": "p", "model": "m", "content": [], "usage": usage});
    let answer =
        json!({"type": "message", "id": "a", "parentId": null, "timestamp": now, "message": message});
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(format!("2026-11-21T03-16-58-249Z_{id}.jsonl")), format!("{header}\n{answer}\n"))
        .unwrap();
}

#[test]
fn stats_sums_all_projects() {
    let sandbox = Sandbox::new();
    let empty = sandbox.run(&["stats"]);
    assert!(empty.out.is_empty() && empty.err.contains("no usage since"), "{}{}", empty.out, empty.err);
    write_session(&sandbox, "01A", "/work/a");
    write_session(&sandbox, "01B", "/work/b");
    let json: Value = serde_json::from_str(&sandbox.run(&["stats", "--days", "2", "--json"]).out).unwrap();
    let sums = |input: u64, output: u64, read: u64, cost: f64| {
        json!({"input": input, "output": output, "cacheRead": read, "cacheWrite": 0,
               "totalTokens": input + output + read, "cost": cost, "cacheHitRate": 0.75})
    };
    assert_eq!(json["total"], sums(200, 40, 600, 0.5));
    let names = |key: &str| -> Vec<&str> {
        json[key].as_array().unwrap().iter().map(|sums| sums["name"].as_str().unwrap()).collect()
    };
    assert_eq!((names("models"), names("projects")), (vec!["p/m"], vec!["/work/a", "/work/b"]));
    let text = sandbox.run(&["stats"]).out;
    assert!(text.contains("  $0.50  #####") && text.ends_with("  75%  total\n"), "{text}");
}

#[test]
fn stats_days_are_those_of_the_named_time_zone() {
    // Their clocks differ by 26 hours.
    let [east, west] = ["Pacific/Kiritimati", "Etc/GMT+12"].map(|zone| {
        let output = Sandbox::new().with_variable("TZ", zone).run(&["stats", "--json"]);
        let stats: Value = serde_json::from_str(&output.out).unwrap();
        stats["lastDay"].as_str().unwrap().to_owned()
    });
    assert!(east > west, "{east} {west}");
}
