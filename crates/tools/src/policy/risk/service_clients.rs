//! Programs that pass work on to a service or another program, which the command's sandbox doesn't restrict.

/// Programs that are clients with any arguments.
const CLIENTS: &[&str] = &[
    "abduco",
    "adb",
    "at",
    "batch",
    "busctl",
    "byobu",
    "crontab",
    "dbus-send",
    "distrobox-host-exec",
    "docker",
    "docker-compose",
    "dtach",
    "emacsclient",
    "flatpak-spawn",
    "gdbus",
    "gnome-terminal",
    "gtk-launch",
    "incus",
    "launchctl",
    "lxc",
    "machinectl",
    "nerdctl",
    "open",
    "osascript",
    "pm2",
    "podman",
    "qdbus",
    "screen",
    "systemctl",
    "systemd-run",
    "tmux",
    "xdg-open",
    "zellij",
];

/// Programs that are clients with one of these arguments, or with an argument that begins with it.
const CLIENTS_WITH_ARGUMENT: &[(&str, &[&str])] = &[
    ("curl", &["--abstract-unix-socket", "--unix-socket"]),
    ("gio", &["launch", "open"]),
    ("kitty", &["@"]),
    ("nvim", &["--remote", "--server"]),
    ("socat", &["abstract", "unix"]),
    ("vim", &["--remote", "--servername"]),
    ("wezterm", &["cli"]),
];

/// Returns true if a program is a client with these arguments.
pub(super) fn is_client(name: &str, arguments: &[String]) -> bool {
    let begin = CLIENTS_WITH_ARGUMENT.iter().filter(|(program, _)| *program == name).flat_map(|row| row.1);
    let begins = |word: &String| {
        let word = word.to_ascii_lowercase();
        begin.clone().any(|begin| word.starts_with(begin))
    };
    CLIENTS.contains(&name) || arguments.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::is_client;

    #[test]
    fn client_depends_on_program_and_arguments() {
        let is_client = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            is_client(&words[0], &words[1..])
        };
        for line in [
            "docker-compose up",
            "curl --unix-socket /run/docker.sock http://x",
            "socat - UNIX-CONNECT:/run/x",
            "nvim --server /run/x --remote-send x",
            "kitty @ launch x",
            "gio open x",
            "adb shell x",
        ] {
            assert!(is_client(line), "{line}");
        }
        for line in ["curl http://x", "socat - TCP:localhost:80", "nvim x", "gio trash x", "kitty"] {
            assert!(!is_client(line), "{line}");
        }
    }
}
