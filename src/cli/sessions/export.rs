//! `tiller sessions export` and `/export`: writes a session as HTML, Markdown or JSON lines.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::json;

use super::html_worker;
use super::output::{print_json, warn};
use super::tree::is_message;
use crate::cli::args::ExportFormat;
use crate::cli::failure::CliFailure;
use crate::cli::stdout::print_text;
use crate::cli::{startup, stdout};
use crate::id::EntryId;
use crate::session::export::{self, transcript};
use crate::session::{Entry, Reader, SessionError};

#[derive(Default)]
pub(in crate::cli) struct ExportRequest<'a> {
    pub(in crate::cli) format: Option<ExportFormat>,
    pub(in crate::cli) part: ExportPart<'a>,
    pub(in crate::cli) output: Option<&'a Path>,
    pub(in crate::cli) force: bool,
    /// The program that renders HTML pages if its first argument is
    /// [`WORKER_ARGUMENT`](crate::html::WORKER_ARGUMENT). `None` renders in this process, which then keeps
    /// the memory of the loaded grammars.
    pub(in crate::cli) html_worker: Option<&'a Path>,
}

/// The part of a session to export.
#[derive(Clone, Copy, Default)]
pub(in crate::cli) enum ExportPart<'a> {
    /// The current branch.
    #[default]
    Current,
    /// The path to an entry, given by a part of its id.
    UpTo(&'a str),
    /// Every branch.
    All,
}

impl<'a> ExportPart<'a> {
    pub(super) fn from_flags(all_branches: bool, entry: Option<&'a str>) -> Self {
        match entry {
            Some(entry) => Self::UpTo(entry),
            None if all_branches => Self::All,
            None => Self::Current,
        }
    }
}

pub(super) fn export(
    reader: &Reader,
    cwd: &Path,
    request: &ExportRequest<'_>,
    as_json: bool,
) -> Result<(), CliFailure> {
    warn(reader, &reader.findings());
    match export_session(reader, cwd, request)? {
        Some(path) if as_json => print_json(&json!({"path": path, "id": reader.id()})),
        Some(path) => print_text(&format!("{}\n", path.display())),
        None => Ok(()),
    }
}

/// Exports a session; returns the path of the file, or `None` for stdout.
pub(in crate::cli) fn export_session(
    reader: &Reader,
    cwd: &Path,
    request: &ExportRequest<'_>,
) -> Result<Option<PathBuf>, CliFailure> {
    let format = format(request)?;
    let bytes = || encode(reader, format, request);
    match request.output {
        Some(output) if output == Path::new("-") => {
            stdout::write(&bytes()?)?;
            Ok(None)
        }
        output => {
            let path = match output {
                Some(path) if !path.is_dir() => path.to_owned(),
                dir => dir.unwrap_or(cwd).join(file_name(reader, format)),
            };
            // Checked early, before the page is rendered; the rename into place decides.
            if !request.force && path.exists() {
                return Err(already_exists(&path));
            }
            write_atomically(&path, &bytes()?, request.force)?;
            Ok(Some(path))
        }
    }
}

/// Renders a session's current branch as an HTML page.
pub(in crate::cli) fn html_page(reader: &Reader, html_worker: Option<&Path>) -> Result<Vec<u8>, CliFailure> {
    html_worker::render_page(reader, reader.leaf().as_ref(), html_worker)
}

fn format(request: &ExportRequest<'_>) -> Result<ExportFormat, CliFailure> {
    let extension = request.output.and_then(Path::extension).map(|extension| extension.to_ascii_lowercase());
    let by_ending = match extension.as_ref().map(|extension| extension.to_str().unwrap_or_default()) {
        Some("jsonl") => Some(ExportFormat::Jsonl),
        Some("md" | "markdown") => Some(ExportFormat::Md),
        Some("html" | "htm") | None => Some(ExportFormat::Html),
        Some(_) => None,
    };
    request.format.or(by_ending).ok_or_else(|| {
        let path = request.output.unwrap_or(Path::new("")).display();
        CliFailure::usage(anyhow!("can't determine the format from the name {path}"))
            .hint("use the extension .html, .md or .jsonl, or add --format")
    })
}

fn encode(reader: &Reader, format: ExportFormat, request: &ExportRequest<'_>) -> Result<Vec<u8>, CliFailure> {
    let leaf = match request.part {
        ExportPart::UpTo(entry) => Some(reader.find(entry)?),
        ExportPart::Current | ExportPart::All => reader.leaf(),
    };
    let mut bytes = Vec::new();
    match (format, request.part) {
        (ExportFormat::Jsonl, ExportPart::All) => {
            export::export_log(reader, &mut bytes).map_err(CliFailure::run)?
        }
        (ExportFormat::Jsonl, ExportPart::Current | ExportPart::UpTo(_)) => {
            export::export_branch(reader, leaf.as_ref(), startup::now(), &mut bytes)
                .map_err(CliFailure::run)?;
        }
        (ExportFormat::Md, ExportPart::All) => bytes = markdown_of_all(reader)?.into_bytes(),
        (ExportFormat::Md, ExportPart::Current | ExportPart::UpTo(_)) => {
            bytes = markdown(reader, leaf.as_ref())?.into_bytes();
        }
        (ExportFormat::Html, _) => {
            bytes = html_worker::render_page(reader, leaf.as_ref(), request.html_worker)?
        }
    }
    Ok(bytes)
}

fn markdown(reader: &Reader, leaf: Option<&EntryId>) -> Result<String, SessionError> {
    let (entries, _) = leaf.map(|leaf| reader.branch(leaf)).transpose()?.unwrap_or_default();
    Ok(transcript(reader.header(), &title(reader), &entries))
}

/// Formats the branch of the file's last entry, then every other branch from the point where it leaves
/// earlier ones, so that common entries appear once. Branches without messages are omitted.
fn markdown_of_all(reader: &Reader) -> Result<String, SessionError> {
    let tree = reader.tree();
    let nodes = tree.nodes();
    let mut pages = vec![markdown(reader, reader.leaf().as_ref())?];
    let mut is_written = tree.path_marks(reader.leaf().as_ref());
    for end in (0..nodes.len()).rev().filter(|&at| tree.children(at).is_empty()) {
        let mut new: Vec<usize> = std::iter::successors(Some(end), |&at| nodes[at].parent)
            .take_while(|&at| !std::mem::replace(&mut is_written[at], true))
            .collect();
        new.reverse();
        if !new.iter().any(|&at| is_message(&nodes[at])) {
            continue;
        }
        let position = nodes[new[0]].parent.map_or("the beginning", |parent| nodes[parent].id.short());
        let entries: Vec<Entry> = new.iter().filter_map(|&at| reader.entry(&nodes[at].id).ok()).collect();
        pages.push(export::partial_transcript(&format!("Another branch, starting at {position}"), &entries));
    }
    Ok(pages.join("\n"))
}

fn title(reader: &Reader) -> String {
    let prompt = || reader.first_prompt().and_then(|prompt| prompt.lines().next().map(str::to_owned));
    reader.name().or_else(prompt).unwrap_or_else(|| format!("Session {}", reader.id().short()))
}

/// Builds a file name from the letters and digits of the session's name and the end of its id.
fn file_name(reader: &Reader, format: ExportFormat) -> String {
    let extension = match format {
        ExportFormat::Jsonl => "jsonl",
        ExportFormat::Md => "md",
        ExportFormat::Html => "html",
    };
    let name = reader.name().unwrap_or_else(|| "session".to_owned()).to_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(60).collect();
    // Ids of imported sessions may contain any character.
    let id = reader.id().short().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{name}-{id}.{extension}")
}

/// Writes a file atomically, readable by its owner only, like the log.
fn write_atomically(path: &Path, bytes: &[u8], force: bool) -> Result<(), CliFailure> {
    let failed = || format!("can't write {}", path.display());
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.is_dir() {
        let error = anyhow!("{}: the directory {} doesn't exist", failed(), dir.display());
        return Err(CliFailure::usage(error).hint("create it first, or choose another"));
    }
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let error = anyhow!("{}: it exists and is not a regular file", failed());
        return Err(CliFailure::usage(error).hint("choose another file; `-o -` writes to stdout"));
    }
    let mut file = tempfile::NamedTempFile::new_in(dir).with_context(failed).map_err(CliFailure::usage)?;
    file.write_all(bytes).with_context(failed).map_err(CliFailure::run)?;
    let persisted = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match persisted {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(already_exists(path)),
        Err(error) => Err(CliFailure::run(anyhow::Error::from(error.error).context(failed()))),
    }
}

fn already_exists(path: &Path) -> CliFailure {
    CliFailure::usage(anyhow!("{} already exists", path.display()))
        .hint("choose another file with -o, or overwrite it with --force")
}
