//! The parts of a page around the entries: header, outline and warnings.

use tiller_core::counted::counted;

use super::markup::{Markup, fragment};
use super::outline::{ItemKind, Outline};
use crate::session::tree::TreeRow;
use crate::session::{Finding, Reader};

/// Number of outline rows that a browser lays out together (CSS `content-visibility`).
const ROWS_PER_CHUNK: usize = 50;

/// Maximum indentation level in the style sheet.
const MAX_INDENT: usize = 12;

/// Renders the header: title, facts, the buttons of this kind of page, and controls.
pub(super) fn header(out: &mut Markup, title: &str, facts: &Markup, buttons: &'static str) {
    out.tags("<header class=\"top\">\n<div class=\"title\"><h1>")
        .text(title)
        .tags("</h1>\n<p class=\"facts\">");
    out.markup(facts).tags("</p></div>\n").tags(buttons).tags("<div class=\"controls\" hidden>");
    out.tags("<input type=\"search\" placeholder=\"Search ( / )\" aria-label=\"Search\" autocomplete=\"off\" spellcheck=\"false\">");
    out.tags("<button type=\"button\" data-do=\"unfold\" aria-pressed=\"false\">Unfold</button>");
    out.tags("<button type=\"button\" data-do=\"theme\">Auto</button></div>\n</header>\n");
}

/// Renders the facts about a session.
pub(super) fn facts(reader: &Reader, outline: &Outline) -> Markup {
    let mut out = Markup::default();
    for (at, fact) in fact_texts(reader, outline).iter().enumerate() {
        out.tags(if at > 0 { " <span>" } else { "<span>" }).text(fact).tags("</span>");
    }
    out
}

fn fact_texts(reader: &Reader, outline: &Outline) -> Vec<String> {
    let header = reader.header();
    let mut facts = Vec::new();
    if let Some((date, _)) = header.timestamp.split_once('T') {
        facts.push(date.to_owned());
    }
    facts.push(header.cwd.clone());
    facts.extend(outline.models.iter().cloned());
    let branches = outline.branch_count();
    if branches > 1 {
        facts.push(format!("{branches} branches"));
    }
    match outline.hidden_count() {
        0 => {}
        hidden => facts.push(counted(hidden, "entry hidden", "entries hidden")),
    }
    let usage = &outline.usage;
    if usage.total().0 > 0 {
        let read = usage.input + usage.cache_read + usage.cache_write;
        facts.push(format!("{read} tokens in, {} out", usage.output));
    }
    if usage.cost.total.0 > 0.0 {
        facts.push(usage.cost.total.to_string());
    }
    facts
}

/// Renders the outline with these rows, and the results of a search.
pub(super) fn outline(out: &mut Markup, rows: &Markup) {
    out.tags("<details class=\"outline\" open><summary>Outline</summary>\n");
    out.tags("<nav class=\"tree\" aria-label=\"Outline\">\n")
        .markup(rows)
        .tags("</nav>\n<div class=\"found\" hidden aria-live=\"polite\"></div>\n");
    out.tags("<p class=\"keys\" hidden><kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> next, previous prompt <kbd>e</kbd> unfold</p>\n");
    out.tags("</details>\n");
}

/// Renders the rows of the outline: prompts, answers with text, and entries at which branches start or are
/// summarized.
pub(super) fn rows(outline: &Outline) -> Markup {
    let rows = outline.tree.rows(outline.leaf.as_ref(), |at, _| is_in_outline(outline, at));
    let mut out = Markup::default();
    for chunk in rows.chunks(ROWS_PER_CHUNK) {
        out.tags("<div class=\"rows\">");
        chunk.iter().for_each(|item| row(&mut out, outline, item));
        out.tags("</div>\n");
    }
    out
}

/// Returns true if the outline has a row for the entry at this position.
pub(super) fn is_in_outline(outline: &Outline, at: usize) -> bool {
    outline.items[at].as_ref().is_some_and(|item| item.headline.is_some() || outline.label(at).is_some())
}

fn row(out: &mut Markup, outline: &Outline, row: &TreeRow) {
    let Some(item) = &outline.items[row.node] else { return };
    let kind = match item.kind {
        ItemKind::User => "user",
        ItemKind::Answer => "answer",
        ItemKind::Tool | ItemKind::Bash => "tool",
        ItemKind::Rule => "rule",
    };
    let on = if row.on_path { " on" } else { "" };
    let class = format!("{kind} d{}{on}", row.depth.min(MAX_INDENT));
    out.tags("<a").attribute("class", &class).attribute("href", &fragment(&item.anchor));
    out.attribute("data-n", &row.node.to_string()).tags(">");
    if let Some(label) = outline.label(row.node) {
        out.tags("<span class=\"label\">").text(label).tags("</span> ");
    }
    out.text(item.headline.as_deref().unwrap_or("tool")).tags("</a>");
}

/// Renders the problems with the log.
pub(super) fn warnings(out: &mut Markup, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let count = counted(findings.len(), "problem", "problems");
    out.tags("<details class=\"warnings\"><summary>").text(&count).tags(" in the log</summary>\n<ul>");
    for finding in findings {
        let position = format!("line {} (byte {}): ", finding.line, finding.byte);
        out.tags("<li>").text(&position).text(&finding.what).tags("</li>");
    }
    out.tags("</ul></details>\n");
}
