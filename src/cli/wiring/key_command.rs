//! Keys and header values that are printed by a command, such as a password manager.

use std::process::{Command, Stdio};

use secrecy::SecretString;

/// Runs a shell command and returns the first line of its output. It may block, and may prompt the user.
/// `subject` describes the output, for errors.
pub(super) fn run(command: &str, subject: &str) -> Result<SecretString, String> {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("the command for the {subject} can't be run: {error}"))?;
    if !output.status.success() {
        // The command's own messages could quote a key.
        return Err(format!("the command for the {subject} failed ({})", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next().map(str::trim) {
        Some(key) if !key.is_empty() => Ok(SecretString::from(key.to_owned())),
        Some(_) | None => Err(format!("the command for the {subject} printed nothing")),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn key_is_the_first_line_of_the_output() {
        assert_eq!(run("printf 'sk-1 \\nnote\\n'", "key").unwrap().expose_secret(), "sk-1");
        assert_eq!(run("true", "key").unwrap_err(), "the command for the key printed nothing");
        let error = run("echo locked >&2; exit 3", "header `x`").unwrap_err();
        assert_eq!(error, "the command for the header `x` failed (exit status: 3)");
    }
}
