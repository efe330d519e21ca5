//! Syntax highlighting, line by line.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use super::grammar;
use super::language::Language;
use super::limits::{MAX_BLOCK_BYTES, MAX_LINE_BYTES};
use crate::{Role, Span};

/// Highlights code line by line, starting with the first line.
#[derive(Clone, Debug, Default)]
pub struct Highlighter {
    /// The state; `None` for a language without a grammar, and after a limit was reached.
    grammar_state: Option<GrammarState>,
    /// Remaining budget in bytes.
    remaining_bytes: usize,
}

/// A grammar's state in the middle of code.
#[derive(Clone, Debug)]
struct GrammarState {
    state: ParseState,
    scopes: ScopeStack,
    /// The role of each scope on the stack.
    roles: Vec<Role>,
}

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

impl Highlighter {
    /// Starts at the first line of code in this language.
    #[must_use]
    pub fn new(language: Language<'_>) -> Self {
        Self::with_limit(language, MAX_BLOCK_BYTES)
    }

    /// Starts with a limit in bytes.
    pub(crate) fn with_limit(language: Language<'_>, remaining_bytes: usize) -> Self {
        let state = grammar_of(language).map(ParseState::new);
        let grammar_state =
            |state| GrammarState { state, scopes: ScopeStack::new(), roles: vec![Role::Text] };
        Self { grammar_state: state.map(grammar_state), remaining_bytes }
    }

    pub(crate) fn remaining_bytes(&self) -> usize {
        self.remaining_bytes
    }

    /// Returns the role of unmarked code: [`Role::Code`] if the language is unknown.
    #[must_use]
    pub fn base_role(&self) -> Role {
        if self.grammar_state.is_some() { Role::Text } else { Role::Code }
    }

    /// Highlights the next line, which is sanitized and has no newline.
    pub fn line(&mut self, line: &str) -> Vec<Span> {
        let Some(grammar_state) = &mut self.grammar_state else { return plain(line, Role::Code) };
        if line.len() > MAX_LINE_BYTES {
            return plain(line, Role::Text);
        }
        // Lines after an omitted one couldn't be highlighted correctly.
        self.remaining_bytes = self.remaining_bytes.saturating_sub(line.len() + 1);
        if self.remaining_bytes == 0 {
            return plain(line, Role::Text);
        }
        grammar_state.line(line)
    }
}

pub(crate) fn plain(line: &str, role: Role) -> Vec<Span> {
    if line.is_empty() { Vec::new() } else { vec![Span::new(line, role)] }
}

fn grammar_of(language: Language<'_>) -> Option<&'static SyntaxReference> {
    match language {
        Language::Named(name) => {
            let token = grammar::token(name)?;
            GRAMMARS.find_syntax_by_token(&token)
        }
        Language::OfFile(path) => {
            let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
            let extension = name.rsplit_once('.').map(|(_, extension)| extension);
            let by_name = GRAMMARS.find_syntax_by_extension(name);
            by_name.or_else(|| GRAMMARS.find_syntax_by_token(&grammar::token(extension?)?))
        }
    }
}

impl GrammarState {
    fn line(&mut self, line: &str) -> Vec<Span> {
        let line_with_newline = format!("{line}\n");
        // If a grammar fails on a line, the line is left plain.
        let Ok(changes) = self.state.parse_line(&line_with_newline, &GRAMMARS) else {
            return plain(line, Role::Text);
        };
        let (mut spans, mut start) = (Vec::new(), 0);
        for (at, change) in changes {
            let at = at.min(line.len());
            push(&mut spans, &line[start..at], self.role());
            start = at;
            let roles = &mut self.roles;
            let applied = self.scopes.apply_with_hook(&change, |change, _| match change {
                syntect::parsing::BasicScopeStackOp::Push(scope) => {
                    let around = roles.last().copied().unwrap_or_default();
                    roles.push(grammar::role(scope, around));
                }
                syntect::parsing::BasicScopeStackOp::Pop => _ = roles.pop(),
            });
            if applied.is_err() {
                break;
            }
        }
        push(&mut spans, &line[start..], self.role());
        spans
    }

    fn role(&self) -> Role {
        self.roles.last().copied().unwrap_or_default()
    }
}

fn push(spans: &mut Vec<Span>, text: &str, role: Role) {
    match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style.role == role => last.text.push_str(text),
        _ => spans.push(Span::new(text, role)),
    }
}
