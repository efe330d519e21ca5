//! Headless Chromium, driven through the Chrome DevTools protocol: JSON messages that end with a zero byte, over pipes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest wait for a condition; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names of the program.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A page in a separate browser.
pub(super) struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    /// Events in the order of their arrival.
    events: VecDeque<Value>,
    page: Option<String>,
    last_id: u64,
    _profile: TempDir,
}

/// Returns the path of Chromium, if this machine has it.
fn program() -> Option<String> {
    let is_there = |name: &str| {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", name]).output();
        found.is_ok_and(|found| found.status.success())
    };
    PROGRAMS.into_iter().find(|name| is_there(name)).map(str::to_owned)
}

impl Browser {
    /// Starts the browser with an empty page; `None` where there is none.
    pub(super) fn start() -> Option<Self> {
        let profile = TempDir::new().unwrap();
        // The browser reads commands from file descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2", &program()?])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                "about:blank",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let messages = BufReader::new(child.stdout.take().unwrap());
        let mut browser = Self {
            child,
            commands,
            messages,
            events: VecDeque::new(),
            page: None,
            last_id: 0,
            _profile: profile,
        };
        let target = browser.send("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.page =
            Some(browser.send("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.send(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command; returns its result.
    pub(super) fn send(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(page) = &self.page {
            command["sessionId"] = json!(page);
        }
        write!(self.commands, "{command}\0").unwrap();
        loop {
            let mut bytes = Vec::new();
            self.messages.read_until(0, &mut bytes).unwrap();
            bytes.pop();
            let message: Value = serde_json::from_slice(&bytes).expect("a message of the browser");
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    pub(super) fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.send("Emulation.setDeviceMetricsOverride", metrics);
    }

    pub(super) fn open(&mut self, address: &str) {
        self.send("Page.navigate", json!({"url": address}));
    }

    /// Evaluates JavaScript; returns its value.
    pub(super) fn run(&mut self, code: &str) -> Value {
        let params = json!({"expression": code, "awaitPromise": true, "returnByValue": true});
        let result = self.send("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{code}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(super) fn wait_for(&mut self, condition: &str) {
        let start = Instant::now();
        // An error counts as false: the page may not be loaded.
        let checked =
            format!("(() => {{ try {{ return Boolean({condition}); }} catch {{ return false; }} }})()");
        while self.run(&checked) != true {
            if start.elapsed() > PATIENCE {
                let text = self.run("document.body.innerText");
                panic!("never true: {condition}\n{}", text.as_str().unwrap_or_default());
            }
            self.run("new Promise((resolve) => setTimeout(resolve, 20))");
        }
    }

    /// Types a string into the focused element, then presses a key with these modifiers (1 is Alt, 8 Shift).
    pub(super) fn type_and_press(&mut self, text: &str, key: &str, modifiers: u8) {
        self.send("Input.insertText", json!({"text": text}));
        for kind in ["rawKeyDown", "keyUp"] {
            self.send("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "modifiers": modifiers}));
        }
    }

    /// The addresses of all requests so far, and the problems that the browser reported: exceptions, errors in the
    /// console, violations of the policy.
    pub(super) fn requests_and_problems(&mut self) -> (Vec<String>, Vec<String>) {
        self.run("0");
        let (mut requests, mut problems) = (Vec::new(), Vec::new());
        for event in &self.events {
            let text = || event["params"].to_string();
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => {
                    requests.push(event["params"]["request"]["url"].as_str().unwrap().to_owned());
                }
                "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled" => {
                    problems.push(text())
                }
                _ => {}
            }
        }
        (requests, problems)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
