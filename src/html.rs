//! Renders sessions as HTML: the exported page, and the live page of `tiller serve` with the fragments that
//! it requests. Both have the same styles, and the same scripts for branches, folds and search.
//!
//! An exported page is self-contained, readable without scripts, and loads nothing. The open branch is plain
//! HTML. Entries of other branches are in a `template`, which a browser neither lays out nor draws until the
//! page's script moves them. The live page (`live`) has no entries when it is loaded; it gets them as
//! fragments from the same renderer.
//!
//! Text from the log is written through `markup`, which escapes it; a Content-Security-Policy in the browser
//! adds a second barrier. A page depends only on the log.

mod chrome;
#[cfg(test)]
mod contrast;
mod entry;
mod head;
mod live;
mod markdown;
mod markup;
mod outline;
mod tool_call;
mod worker;

use crate::id::EntryId;
use crate::session::{Reader, SessionError};
use entry::{article, branch_links};
use head::{BRANCHES_SCRIPT, PageHead, STYLE_SHEET};
use markup::Markup;
use outline::Outline;

pub use live::{
    LiveEntries, LiveOutlines, live_page, render_call, render_diff, render_markdown, render_output,
    render_text,
};
pub use worker::{WORKER_ARGUMENT, run_worker};

/// Renders the page of a session with all its branches; the branch that ends at `leaf` is open.
///
/// # Errors
/// If the log can't be read.
pub fn page(reader: &Reader, leaf: Option<&EntryId>) -> Result<String, SessionError> {
    let outline = Outline::load(reader, leaf)?;
    let (open, others) = articles(reader, &outline)?;
    let mut out = Markup::default();
    let title = title(reader);
    let head = PageHead {
        title: &title,
        body: "<body>\n",
        style_sheets: &[STYLE_SHEET],
        scripts: &[BRANCHES_SCRIPT],
        connect: "",
    };
    head.begin(&mut out);
    chrome::header(&mut out, &title, &chrome::facts(reader, &outline), "");
    out.tags("<div class=\"columns\">\n<aside>");
    chrome::outline(&mut out, &chrome::rows(&outline));
    out.tags("</aside>\n<main>\n<div class=\"preface\">")
        .markup(&preface(&outline))
        .tags("</div>\n")
        .markup(&open);
    if outline.items.iter().flatten().next().is_none() {
        out.tags("<p class=\"note\">This session has no messages.</p>\n");
    }
    out.tags("</main>\n</div>\n<template data-part=\"others\">\n").markup(&others).tags("</template>\n");
    head.end(&mut out);
    Ok(out.into_string())
}

/// Renders the parts above the first entry: problems with the log, and links to branches that start there.
fn preface(outline: &Outline) -> Markup {
    let mut out = Markup::default();
    chrome::warnings(&mut out, &outline.findings);
    branch_links(&mut out, outline, &outline.roots);
    out
}

/// Renders the articles of all visible entries: first those of the open branch, then the others.
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
