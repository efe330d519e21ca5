//! The small project that the pictures show, and `tiller` in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use tiller_test_support::terminal::{Size, Terminal, TerminalStart};

const LEXER: &str = r#"//! From characters to tokens.

pub struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    pub fn next_token(&mut self) -> Option<Token<'a>> {
        match self.rest.chars().next()? {
            '\r' | '\n' => self.newline(),
            '=' => self.take(1, Kind::Equals),
            '"' => self.string(),
            _ => self.word(),
        }
    }

    fn newline(&mut self) -> Option<Token<'a>> {
        self.line += 1;
        self.take(1, Kind::Newline)
    }
}
"#;

/// A fake `cargo test`: fails in the first turn, then passes; runs until a file named after the turn exists.
const CARGO: &str = r#"#!/bin/sh
turn=1
[ -e "$HOME/gate-1" ] && turn=2
case $turn in
1)
  echo 'running 14 tests'
  echo 'test lexer::strings ... ok'
  echo 'test lexer::crlf_is_one_newline ... FAILED'
  echo "thread 'lexer::crlf_is_one_newline' panicked at tests/lexer.rs:41:5:"
  echo 'assertion `left == right` failed: lines of mixed.conf'
  echo '  left: 7'
  echo ' right: 4'
  ;;
*)
  echo 'running 15 tests'
  echo 'test lexer::strings ... ok'
  echo 'test lexer::crlf_is_one_newline ... ok'
  ;;
esac
while [ ! -e "$HOME/gate-$turn" ]; do sleep 0.02; done
[ $turn = 1 ] && exit 101 || exit 0
"#;

pub(crate) struct Project {
    home: TempDir,
}

impl Project {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let project = Self { home: TempDir::new()? };
        project.write("code/conf/src/lexer.rs", LEXER)?;
        project.write("code/conf/tests/lexer.rs", "// line by line: \"\\r\\n\" is one newline\n")?;
        project.write("code/conf/.git/HEAD", "ref: refs/heads/crlf\n")?;
        project.add_program("bin/cargo", CARGO)?;
        Ok(project)
    }

    /// Writes a file; the path is relative to the home directory.
    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.home.path().join(name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        Ok(fs::write(path, text)?)
    }

    /// Writes an executable file.
    pub(crate) fn add_program(&self, name: &str, text: &str) -> anyhow::Result<()> {
        self.write(name, text)?;
        make_executable(&self.home.path().join(name))
    }

    /// Lets the `cargo` of turn 1 or 2 finish.
    pub(crate) fn let_through(&self, turn: usize) -> anyhow::Result<()> {
        self.write(&format!("gate-{turn}"), "")
    }

    /// Starts tiller with these answers. The script's name is shown as the model.
    pub(crate) fn open(
        &self,
        program: &Path,
        size: Size,
        (answers, arguments): (&[Value], &[&str]),
    ) -> anyhow::Result<Terminal> {
        let lines: Vec<String> = answers.iter().map(Value::to_string).collect();
        self.write("code/conf/scripted", &lines.join("\n"))?;
        let fixed = ["--provider", "scripted", "--model", "scripted", "--approval", "auto"];
        let home = self.home.path();
        let path = std::env::join_paths(
            [home.join("bin")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        )?;
        let variables: [(&str, PathBuf); 5] = [
            ("HOME", home.to_owned()),
            ("TILLER_HOME", home.join("tiller")),
            ("PATH", path.into()),
            ("TZ", "UTC".into()),
            // The output as written.
            ("COLORTERM", "truecolor".into()),
        ];
        let text = |(name, value): (&str, PathBuf)| (name.to_owned(), value.display().to_string());
        Ok(Terminal::start(&TerminalStart {
            program: program.to_owned(),
            arguments: fixed.iter().chain(arguments).map(|&argument| argument.to_owned()).collect(),
            cwd: home.join("code/conf"),
            variables: variables.map(text).into(),
            size,
        }))
    }
}

fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

/// A tool call in an answer.
pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}
