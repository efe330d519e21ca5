//! Rules about dependencies inside crates, which Cargo can't enforce.

use std::path::Path;

use crate::source_code::{bare, production_code, root, without_tests};

/// Names that the code below some paths must not mention.
struct Rule {
    /// Relative to the root.
    paths: &'static [&'static str],
    names: &'static [&'static str],
    reason: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        paths: &["crates/server/src", "crates/tui/src", "src/html", "src/repl", "src/print", "src/rpc"],
        names: &["SessionManager", "session::Writer", "Writer}", "Writer,"],
        reason: "front ends read sessions; `AgentSession` writes them",
    },
    Rule {
        paths: &["src/html", "src/repl", "src/print", "src/rpc"],
        names: &["crate::cli", "crate::config", "crate::tui", "tiller_tui"],
        reason: "front ends are wired by `cli` and don't know each other",
    },
    Rule {
        paths: &["src/repl", "src/print", "src/rpc"],
        names: &["crate::html"],
        reason: "`cli` hands exporters in",
    },
    Rule {
        paths: &["crates/engine/src", "crates/provider/src", "crates/server/src", "crates/session/src"],
        names: &["env::var", "env::vars", "env::var_os", "env::vars_os", "dirs::"],
        reason: "`cli` reads the environment and the configuration and passes values on",
    },
];

/// Returns whether the code mentions a name or path as a whole word.
fn mentions(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        !code[..at].ends_with(is_word)
            && (name.ends_with(':') || !code[at + name.len()..].starts_with(is_word))
    })
}

fn is_below(file: &Path, path: &str) -> bool {
    file.starts_with(path) || file == Path::new(&format!("{path}.rs"))
}

#[test]
fn layers_forbidden_names_are_not_mentioned() {
    let code = production_code();
    let mut violations = Vec::new();
    for rule in RULES {
        for path in rule.paths {
            let files =
                || code.iter().filter(|(file, _)| is_below(file.strip_prefix(root()).unwrap_or(file), path));
            assert!(files().next().is_some(), "no code in {path}");
            for (file, code) in files() {
                let mentioned = rule.names.iter().filter(|name| mentions(code, name));
                violations
                    .extend(mentioned.map(|name| format!("{}: {name}: {}", file.display(), rule.reason)));
            }
        }
    }
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn layers_names_in_comments_strings_and_tests_do_not_count() {
    let code = r##"
        use crate::session::{Reader, Entry};
        // Writer
        fn g() { let _ = r#"Writer"#; let _ = "\"Writer"; LineWriter::new(); } /* Writer */
        #[cfg(test)]
        mod tests { use crate::session::Writer; }
    "##;
    assert!(!mentions(&without_tests(&bare(code)), "Writer"));
    assert!(mentions("use crate::session::{Reader, Writer};", "Writer"));
    assert!(mentions("dirs::home_dir()", "dirs::"));
}
