//! Renders a session as one HTML page: self-contained, readable without scripts, loading nothing.
//!
//! The open branch is plain HTML. Entries of other branches are in a `template`, which a browser neither lays
//! out nor draws until the page's script moves them. Text from the log is written through `markup`, which
//! escapes it; a Content-Security-Policy enforces the same in the browser. The page depends on nothing but the
//! log.

mod chrome;
mod entry;
mod markdown;
mod markup;
mod outline;
mod tool_call;
mod worker;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use crate::id::EntryId;
use crate::session::{Reader, SessionError};
use entry::{article, branch_links};
use markup::Markup;
use outline::Outline;

pub use worker::{WORKER_ARGUMENT, run_worker};

const STYLE_SHEET: &str = include_str!("html/page.css");

/// Applies the light or dark theme before the first paint.
const THEME_SCRIPT: &str = include_str!("html/theme.js");

/// Switches branches, folds and searches.
const PAGE_SCRIPT: &str = include_str!("html/page.js");

/// The page of a session with all its branches; the one that ends at `leaf` is open.
///
/// # Errors
/// If the log can't be read.
pub fn page(reader: &Reader, leaf: Option<&EntryId>) -> Result<String, SessionError> {
    let outline = Outline::load(reader, leaf)?;
    let (open, others) = articles(reader, &outline)?;
    let mut out = Markup::default();
    let title = title(reader);
    head(&mut out, &title);
    chrome::top(&mut out, reader, &outline, &title);
    out.tags("<div class=\"columns\">\n");
    chrome::tree(&mut out, &outline);
    out.tags("<main>\n");
    chrome::warnings(&mut out, &outline.findings);
    branch_links(&mut out, &outline, &outline.roots);
    out.markup(&open);
    if outline.items.iter().flatten().next().is_none() {
        out.tags("<p class=\"note\">This session has no messages.</p>\n");
    }
    out.tags("</main>\n</div>\n<template data-part=\"others\">\n").markup(&others).tags("</template>\n");
    out.tags("<script>").tags(PAGE_SCRIPT).tags("</script>\n</body>\n</html>\n");
    Ok(out.into_string())
}

/// The articles of all visible entries: those of the open branch, and the others.
fn articles(reader: &Reader, outline: &Outline) -> Result<(Markup, Markup), SessionError> {
    let (mut open, mut others, mut at) = (Markup::default(), Markup::default(), 0);
    reader.visit(0, |entry| {
        if let (Ok(entry), Some(Some(item))) = (entry, outline.items.get(at)) {
            let side = if outline.on_path[at] { &mut open } else { &mut others };
            side.markup(&article(outline, at, item, &entry));
        }
        at += 1;
    })?;
    Ok((open, others))
}

fn title(reader: &Reader) -> String {
    let prompt = || reader.first_prompt().filter(|prompt| !prompt.trim().is_empty());
    let title = reader.name().or_else(prompt).unwrap_or_else(|| format!("Session {}", reader.id().short()));
    outline::headline(&title)
}

fn head(out: &mut Markup, title: &str) {
    let hash = |source: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(source)));
    let policy = format!(
        "default-src 'none'; img-src data:; style-src {}; script-src {} {}; base-uri 'none'; form-action 'none'",
        hash(STYLE_SHEET),
        hash(THEME_SCRIPT),
        hash(PAGE_SCRIPT)
    );
    out.tags("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.tags("<meta http-equiv=\"Content-Security-Policy\"").attribute("content", &policy).tags(">\n");
    out.tags("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.tags(
        "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"tiller\">\n",
    );
    out.tags("<meta name=\"color-scheme\" content=\"light dark\">\n<title>").text(title).tags("</title>\n");
    out.tags("<style>")
        .tags(STYLE_SHEET)
        .tags("</style>\n<script>")
        .tags(THEME_SCRIPT)
        .tags("</script>\n</head>\n<body>\n");
}
