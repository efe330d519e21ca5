//! macOS's sandbox: `sandbox-exec` with a profile in its own language.

use super::profile::{NetworkAccess, SandboxProfile};

/// The profile before the writable paths. The last matching rule decides.
const HEAD: &str =
    "(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write* (subpath \"/dev\"))\n";

/// The program that applies a profile.
#[cfg(target_os = "macos")]
const PROGRAM: &str = "/usr/bin/sandbox-exec";

#[cfg(target_os = "macos")]
pub(super) fn detect() -> super::profile::SandboxSupport {
    if std::path::Path::new(PROGRAM).is_file() {
        super::profile::SandboxSupport::Seatbelt
    } else {
        super::profile::SandboxSupport::Missing
    }
}

#[cfg(target_os = "macos")]
pub(super) fn wrap(profile: &SandboxProfile, program: std::ffi::OsString) -> Vec<std::ffi::OsString> {
    vec![PROGRAM.into(), "-p".into(), text(profile).into(), program]
}

/// Returns the profile's text. Omits paths that don't exist or aren't UTF-8.
fn text(profile: &SandboxProfile) -> String {
    let mut text = HEAD.to_owned();
    // The system compares paths after resolving links, and `/tmp` is a link.
    let paths = profile.writable.iter().filter_map(|path| path.canonicalize().ok());
    for path in paths {
        let Some(path) = path.to_str() else { continue };
        text.push_str(&format!("(allow file-write* (subpath {}))\n", quote(path)));
    }
    if profile.network == NetworkAccess::Denied {
        text.push_str("(deny network* (remote tcp))\n(deny network* (local tcp))\n");
    }
    text
}

fn quote(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seatbelt_text_quotes_paths_and_denies_tcp() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let odd = root.join("a \"b\\");
        std::fs::create_dir(&odd).unwrap();
        let mut profile =
            SandboxProfile { writable: vec![odd, root.join("gone")], network: NetworkAccess::Denied };
        let allowed = format!("(allow file-write* (subpath \"{}/a \\\"b\\\\\"))\n", root.to_str().unwrap());
        let denied = "(deny network* (remote tcp))\n(deny network* (local tcp))\n";
        assert_eq!(text(&profile), format!("{HEAD}{allowed}{denied}"));
        profile.network = NetworkAccess::Allowed;
        assert_eq!(text(&profile), format!("{HEAD}{allowed}"));
    }
}
