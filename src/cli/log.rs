//! tiller's own diagnostic log: a file, and stderr with `--verbose`; never the screen or a session.

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
use crate::setting::LogLevel;

/// Size, in bytes, above which the log is rotated at the next start; one old log is kept.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Returns the path of the log file; `None` if logging is off.
pub(super) fn path(config: &Config) -> Option<PathBuf> {
    let name = config.settings.log_file().unwrap_or("tiller.log");
    (config.settings.log_level() != LogLevel::Off).then(|| config.dirs.state.join(name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogTargets {
    file: bool,
    stderr: bool,
}

impl LogTargets {
    /// Chooses the destinations for a session. `--no-session` also disables the log file, and the TUI doesn't
    /// log to stderr.
    pub(super) fn choose(arguments: &CliArgs, front: FrontEnd) -> Self {
        Self {
            file: !arguments.session.no_session,
            stderr: arguments.environment.verbose && front != FrontEnd::Tui,
        }
    }

    /// Chooses the destinations for a command without a session, such as `tiller sessions`.
    pub(super) fn for_command(arguments: &CliArgs) -> Self {
        Self { file: true, stderr: arguments.environment.verbose }
    }
}

/// Starts logging. The file is created with the first line; if that fails, the result is a warning, not an
/// error.
pub(super) fn begin(config: &Config, targets: LogTargets) -> Option<String> {
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
    let level = match config.settings.log_level() {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // Only tiller's own messages: libraries may log private data.
    let filter = filter::Targets::new().with_target("tiller", level);
    // A subscriber that an embedder has installed takes precedence.
    let _ = tracing_subscriber::registry().with(filter).with(file).with(stderr).try_init();
    warning
}

/// Returns the log file, ready for writing; `None` if logging is off.
fn log_file(config: &Config) -> Option<Result<LazyFile, String>> {
    // Earlier versions created the directory with the umask's permissions.
    if config.dirs.state.is_dir()
        && let Err(error) = files::make_private(&config.dirs.state)
    {
        let dir = config.dirs.state.display();
        return Some(Err(format!(
            "{dir}: can't restrict its permissions; other users may be able to read its files: {error}"
        )));
    }
    let path = path(config)?;
    Some(match prepare(&path) {
        Ok(()) => Ok(LazyFile { path, file: None }),
        Err(error) => Err(format!("can't write {}: {error}", path.display())),
    })
}

/// Rotates a large log, and checks that the log can be written.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        files::make_private_dir(dir)?;
    }
    match fs::metadata(path) {
        Ok(facts) if facts.len() > MAX_BYTES => fs::rename(path, path.with_extension("old.log")),
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

/// A file that is created by its first write.
struct LazyFile {
    path: PathBuf,
    file: Option<File>,
}

impl Write for LazyFile {
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
    fn log_created_by_first_line_and_rotated_when_large() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/tiller.log");
        prepare(&path).unwrap();
        assert!(!path.exists());
        let mut log = LazyFile { path: path.clone(), file: None };
        log.flush().unwrap();
        assert!(!path.exists());
        log.write_all(b"a line\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a line\n");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600), "for the user alone");
        File::options().write(true).open(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        prepare(&path).unwrap();
        assert!(!path.exists() && dir.path().join("state/tiller.old.log").exists());
    }

    #[test]
    fn log_unwritable_path_is_an_error_at_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tiller.log");
        fs::create_dir(&path).unwrap();
        assert!(prepare(&path).is_err());
    }
}
