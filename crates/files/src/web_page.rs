//! Opens a web page in the user's browser.

use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum wait for a browser command to exit; one that still runs then is the browser itself.
const START_TIMEOUT: Duration = Duration::from_secs(3);

/// Polling interval while a browser command runs.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Opens a URL in the user's browser, which outlives tiller. Waits for the browser command, so call it on a
/// blocking thread.
///
/// # Errors
/// If no browser is available, such as in an SSH session, or if it can't be started.
pub fn open_web_page(url: &str) -> io::Result<()> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let browser = env::var("BROWSER").unwrap_or_default();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no browser");
    for (program, arguments) in browser_commands(&browser, cfg!(target_os = "macos"), is_set) {
        match start(&program, &arguments, url) {
            Ok(()) => return Ok(()),
            Err(error) => last = io::Error::new(error.kind(), format!("{program}: {error}")),
        }
    }
    Err(last)
}

/// Starts a browser in its own process group, so that keys of this terminal don't stop it.
fn start(program: &str, arguments: &[String], url: &str) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    let started = Instant::now();
    while started.elapsed() < START_TIMEOUT {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(status.to_string())),
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
    Ok(())
}

/// Returns the commands that may open a page, with the arguments before its URL. Without a display, only the
/// one in `BROWSER`: `xdg-open` would start a text browser in this terminal.
fn browser_commands(
    browser: &str,
    is_mac: bool,
    is_set: impl Fn(&str) -> bool,
) -> Vec<(String, Vec<String>)> {
    let named = browser.split(':').next().unwrap_or_default();
    let mut words = named.split_whitespace().filter(|word| *word != "%s").map(str::to_owned);
    let mut browser_commands: Vec<(String, Vec<String>)> =
        words.next().map(|program| (program, words.collect())).into_iter().collect();
    let others: &[&str] = match () {
        () if is_mac => &["open"],
        () if is_set("WSL_DISTRO_NAME") => &["wslview", "xdg-open"],
        () if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") => &["xdg-open"],
        () => &[],
    };
    browser_commands.extend(others.iter().map(|program| ((*program).to_owned(), Vec::new())));
    browser_commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(browser: &str, is_mac: bool, set: &[&str]) -> Vec<String> {
        let browser_commands = browser_commands(browser, is_mac, |name| set.contains(&name));
        browser_commands
            .into_iter()
            .map(|(program, arguments)| [vec![program], arguments].concat().join(" "))
            .collect()
    }

    #[test]
    fn starters_need_a_display_or_a_named_browser() {
        assert_eq!(programs("", false, &[]), [""; 0]);
        assert_eq!(programs("", false, &["WAYLAND_DISPLAY"]), ["xdg-open"]);
        assert_eq!(programs("", true, &[]), ["open"]);
        assert_eq!(programs("firefox --new-tab %s:chromium", false, &[]), ["firefox --new-tab"]);
        assert_eq!(programs("", false, &["WSL_DISTRO_NAME", "DISPLAY"]), ["wslview", "xdg-open"]);
    }
}
