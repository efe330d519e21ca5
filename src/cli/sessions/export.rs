//! `tiller sessions export` and `/export`: a session as a page, as Markdown or as a log.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::json;

use super::tree::is_said;
use super::{html_worker, print_json, say, warn};
use crate::cli::args::ExportFormat;
use crate::cli::{CliFailure, stdout, wiring};
use crate::id::EntryId;
use crate::session::export::{self, transcript};
use crate::session::{Entry, Reader, SessionError};

/// What somebody wants exported, and where to.
#[derive(Default)]
pub(in crate::cli) struct ExportRequest<'a> {
    pub(in crate::cli) format: Option<ExportFormat>,
    pub(in crate::cli) part: ExportPart<'a>,
    pub(in crate::cli) output: Option<&'a Path>,
    pub(in crate::cli) force: bool,
    /// The program that makes pages when its first argument is [`SERVICE`](crate::html::SERVICE); `None` makes them in this process, which
    /// keeps what the grammars of their code take.
    pub(in crate::cli) pages: Option<&'a Path>,
}

/// Which part of a session.
#[derive(Clone, Copy, Default)]
pub(in crate::cli) enum ExportPart<'a> {
    /// The branch that the leaf is on.
    #[default]
    Current,
    /// The path to an entry, by a part of its id.
    UpTo(&'a str),
    /// Every branch.
    All,
}

impl<'a> ExportPart<'a> {
    pub(super) fn of(all_branches: bool, entry: Option<&'a str>) -> Self {
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
    asked: &ExportRequest<'_>,
    as_json: bool,
) -> Result<(), CliFailure> {
    warn(reader, &reader.findings());
    match made(reader, cwd, asked)? {
        Some(path) if as_json => print_json(&json!({"path": path, "id": reader.id()})),
        Some(path) => say(&format!("{}\n", path.display())),
        None => Ok(()),
    }
}

/// Exports; answers with the file that was made, if it wasn't stdout.
pub(in crate::cli) fn made(
    reader: &Reader,
    cwd: &Path,
    asked: &ExportRequest<'_>,
) -> Result<Option<PathBuf>, CliFailure> {
    let format = format(asked)?;
    let bytes = || exported(reader, format, asked);
    match asked.output {
        Some(output) if output == Path::new("-") => {
            stdout::write(&bytes()?)?;
            Ok(None)
        }
        output => {
            let path = match output {
                Some(path) if !path.is_dir() => path.to_owned(),
                folder => folder.unwrap_or(cwd).join(file_name(reader, format)),
            };
            // Looked at before the work, decided when the file gets its name.
            if !asked.force && path.exists() {
                return Err(taken(&path));
            }
            store(&path, &bytes()?, asked.force)?;
            Ok(Some(path))
        }
    }
}

fn format(asked: &ExportRequest<'_>) -> Result<ExportFormat, CliFailure> {
    let ending = asked.output.and_then(Path::extension).map(|ending| ending.to_ascii_lowercase());
    let by_ending = match ending.as_ref().map(|ending| ending.to_str().unwrap_or_default()) {
        Some("jsonl") => Some(ExportFormat::Jsonl),
        Some("md" | "markdown") => Some(ExportFormat::Md),
        Some("html" | "htm") | None => Some(ExportFormat::Html),
        Some(_) => None,
    };
    asked.format.or(by_ending).ok_or_else(|| {
        let path = asked.output.unwrap_or(Path::new("")).display();
        CliFailure::usage(anyhow!("the ending of {path} doesn't say what to write"))
            .hint("end it in .html, .md or .jsonl, or add --format")
    })
}

fn exported(reader: &Reader, format: ExportFormat, asked: &ExportRequest<'_>) -> Result<Vec<u8>, CliFailure> {
    let leaf = match asked.part {
        ExportPart::UpTo(entry) => Some(reader.find(entry)?),
        ExportPart::Current | ExportPart::All => reader.leaf(),
    };
    let mut bytes = Vec::new();
    match (format, asked.part) {
        (ExportFormat::Jsonl, ExportPart::All) => {
            export::whole(reader, &mut bytes).map_err(CliFailure::run)?
        }
        (ExportFormat::Jsonl, ExportPart::Current | ExportPart::UpTo(_)) => {
            export::branch(reader, leaf.as_ref(), wiring::now(), &mut bytes).map_err(CliFailure::run)?;
        }
        (ExportFormat::Md, ExportPart::All) => bytes = markdown_of_all(reader)?.into_bytes(),
        (ExportFormat::Md, ExportPart::Current | ExportPart::UpTo(_)) => {
            bytes = markdown(reader, leaf.as_ref())?.into_bytes();
        }
        (ExportFormat::Html, _) => bytes = html_worker::page(reader, leaf.as_ref(), asked.pages)?,
    }
    Ok(bytes)
}

fn markdown(reader: &Reader, leaf: Option<&EntryId>) -> Result<String, SessionError> {
    let (entries, _) = leaf.map(|leaf| reader.branch(leaf)).transpose()?.unwrap_or_default();
    Ok(transcript(reader.header(), &title(reader), &entries))
}

/// The branch that the file's last entry is on, then every other one from where it leaves those before it; what several have in common
/// stands there once. Ends at which nobody said anything are none.
fn markdown_of_all(reader: &Reader) -> Result<String, SessionError> {
    let tree = reader.tree();
    let nodes = tree.nodes();
    let mut pages = vec![markdown(reader, reader.leaf().as_ref())?];
    let mut told = tree.path_marks(reader.leaf().as_ref());
    for end in (0..nodes.len()).rev().filter(|&at| tree.children(at).is_empty()) {
        let mut new: Vec<usize> = std::iter::successors(Some(end), |&at| nodes[at].parent)
            .take_while(|&at| !std::mem::replace(&mut told[at], true))
            .collect();
        new.reverse();
        if !new.iter().any(|&at| is_said(&nodes[at])) {
            continue;
        }
        let from = nodes[new[0]].parent.map_or("the beginning", |parent| nodes[parent].id.short());
        let entries: Vec<Entry> = new.iter().filter_map(|&at| reader.entry(&nodes[at].id).ok()).collect();
        pages.push(export::part(&format!("Another branch, from {from} on"), &entries));
    }
    Ok(pages.join("\n"))
}

fn title(reader: &Reader) -> String {
    let prompt = || reader.first_prompt().and_then(|prompt| prompt.lines().next().map(str::to_owned));
    reader.name().or_else(prompt).unwrap_or_else(|| format!("Session {}", reader.id().short()))
}

/// A file's name for a session: its name's letters and digits and the end of its id.
fn file_name(reader: &Reader, format: ExportFormat) -> String {
    let ending = match format {
        ExportFormat::Jsonl => "jsonl",
        ExportFormat::Md => "md",
        ExportFormat::Html => "html",
    };
    let name = reader.name().unwrap_or_else(|| "session".to_owned()).to_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(60).collect();
    // Ids from elsewhere may hold anything.
    let id = reader.id().short().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{name}-{id}.{ending}")
}

/// Writes a file whole or not at all, readable by its owner only as the log is.
fn store(path: &Path, bytes: &[u8], force: bool) -> Result<(), CliFailure> {
    let failed = || format!("can't write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let missing = anyhow!("{}: there is no folder {}", failed(), folder.display());
        return Err(CliFailure::usage(missing).hint("make it first, or name another one"));
    }
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let what = anyhow!("{}: it exists and is not a regular file", failed());
        return Err(CliFailure::usage(what).hint("name another file; `-o -` writes to stdout"));
    }
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed).map_err(CliFailure::usage)?;
    file.write_all(bytes).with_context(failed).map_err(CliFailure::run)?;
    let kept = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match kept {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(taken(path)),
        Err(error) => Err(CliFailure::run(anyhow::Error::from(error.error).context(failed()))),
    }
}

fn taken(path: &Path) -> CliFailure {
    CliFailure::usage(anyhow!("{} is there already", path.display()))
        .hint("name another file with -o, or replace it with --force")
}
