//! Tiller's own log, for those who look for a fault: a file, and with `--verbose` stderr; never the screen, never a session.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::filter::{self, LevelFilter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::args::CliArgs;
use super::console;
use super::frontend::FrontEnd;
use crate::config::Config;
use crate::files;
use crate::setting;

/// Bytes beyond which the log is put aside at the next start, in the place of the one that was put aside before.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Where the log is; `None` when nothing is logged.
pub(super) fn path(config: &Config) -> Option<PathBuf> {
    let level = config.settings.text(&setting::LOG_LEVEL).unwrap_or("off");
    let name = config.settings.text(&setting::LOG_FILE).unwrap_or("tiller.log");
    (level != "off").then(|| config.folders.state.join(name))
}

/// The places that the log is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Targets {
    file: bool,
    stderr: bool,
}

impl Targets {
    /// Without a session nothing is kept on disk, the log file included. The screen leaves no room for stderr.
    pub(super) fn choose(arguments: &CliArgs, front: FrontEnd) -> Self {
        Self {
            file: !arguments.session.no_session,
            stderr: arguments.place.verbose && front != FrontEnd::Tui,
        }
    }

    /// The places for a command that runs no session, such as `tiller sessions`.
    pub(super) fn of_command(arguments: &CliArgs) -> Self {
        Self { file: true, stderr: arguments.place.verbose }
    }
}

/// Begins to log. The file is made with the first line; one that can't be made costs a warning, not the session.
pub(super) fn begin(config: &Config, targets: Targets) -> Option<String> {
    let (file, warning) = match targets.file.then(|| log_file(config)).flatten() {
        Some(Ok(file)) => (Some(file), None),
        Some(Err(warning)) => (None, Some(warning)),
        None => (None, None),
    };
    let stderr = targets
        .stderr
        .then(|| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(console::stderr));
    let file =
        file.map(|file| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file)));
    if file.is_none() && stderr.is_none() {
        return warning;
    }
    let level = config.settings.text(&setting::LOG_LEVEL).unwrap_or("off");
    // Only tiller's own words: what libraries log may hold what a user would not want in a file.
    let filter = filter::Targets::new().with_target("tiller", level.parse().unwrap_or(LevelFilter::OFF));
    // An embedder may have its own; then that one is used.
    let _ = tracing_subscriber::registry().with(filter).with(file).with(stderr).try_init();
    warning
}

/// The log file, ready to be written; `None` when nothing is logged.
fn log_file(config: &Config) -> Option<Result<Lazy, String>> {
    // Earlier versions left it to the umask.
    if config.folders.state.is_dir()
        && let Err(error) = files::make_private(&config.folders.state)
    {
        let folder = config.folders.state.display();
        return Some(Err(format!("{folder}: others may read what is in it: {error}")));
    }
    let path = path(config)?;
    Some(match prepare(&path) {
        Ok(()) => Ok(Lazy { path, file: None }),
        Err(error) => Err(format!("{}: can't be written: {error}", path.display())),
    })
}

/// Puts a large log aside, and looks whether it can be written.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        files::make_private_folder(folder)?;
    }
    match fs::metadata(path) {
        Ok(facts) if facts.len() > LARGEST => fs::rename(path, path.with_extension("old.log")),
        Ok(_) => open(path).map(drop),
        Err(_) => Ok(()),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        files::make_private(path)?;
    }
    Ok(file)
}

/// A file that is made when something is written to it.
struct Lazy {
    path: PathBuf,
    file: Option<File>,
}

impl Write for Lazy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_log_is_made_with_its_first_line_and_put_aside_when_it_is_large() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/tiller.log");
        prepare(&path).unwrap();
        assert!(!path.exists());
        let mut log = Lazy { path: path.clone(), file: None };
        log.flush().unwrap();
        assert!(!path.exists());
        log.write_all(b"a line\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a line\n");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600), "for the user alone");
        File::options().write(true).open(&path).unwrap().set_len(LARGEST + 1).unwrap();
        prepare(&path).unwrap();
        assert!(!path.exists() && folder.path().join("state/tiller.old.log").exists());
    }

    #[test]
    fn a_log_that_cannot_be_written_is_known_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiller.log");
        fs::create_dir(&path).unwrap();
        assert!(prepare(&path).is_err());
    }
}
