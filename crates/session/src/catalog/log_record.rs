//! What a catalog keeps of a log, gathered by reading its lines from where the last look ended.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tiller_core::message::Usage;
use tiller_core::skill_message::typed_skill;
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_files as files;

use super::extract::{self, Fact, Told};
use crate::entry::Header;
use crate::manager::fnv1a;

/// Longest line that is looked into, in bytes; a longer one counts as read and says nothing.
const LONGEST_LINE: usize = 64 << 20;

/// How many of the first and of the last bytes read are compared, to see whether a log only grew.
const COMPARED: u64 = 4 << 10;

/// How much of the first prompt is kept, in characters: more than any list shows.
const LONGEST_PROMPT: usize = 1_000;

/// What is known of a log up to some byte.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LogRecord {
    /// How far the log is read.
    #[serde(flatten)]
    pub(super) extent: Extent,
    /// Why the file is no session; the rest is empty then.
    pub(super) problem: Option<String>,
    pub(super) id: String,
    /// The directory that the header names.
    header_cwd: String,
    /// The directory that it was last worked in.
    pub(super) cwd: String,
    pub(super) parent_session: Option<String>,
    pub(super) name: Option<String>,
    pub(super) first_prompt: Option<String>,
    #[serde(flatten)]
    pub(super) sums: Sums,
    pub(super) last_activity: UnixMs,
    pub(super) model: Option<String>,
    pub(super) remote: Option<String>,
}

/// How far a log is read, and what it is known again by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    /// Bytes that are read.
    pub(super) upto: u64,
    /// Hash of the last bytes read: what stands there later says whether the log only grew.
    tail: u64,
    /// Hash of the first bytes.
    head: u64,
}

/// What is added up over a log's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) entries: usize,
    pub(super) messages: usize,
    pub(super) tokens: Tokens,
    pub(super) cost: Usd,
}

/// Something that was said, and where its line stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) entry: String,
    /// Which entry of the file it is, from 0.
    pub(super) position: usize,
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) moment: UnixMs,
    pub(super) words: String,
}

/// What one look at a log found.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) digest: LogRecord,
    /// What was said in the part that was read.
    pub(super) said: Vec<Said>,
    /// Whether that part is all of the file: it is new, or something else than before.
    pub(super) anew: bool,
}

/// Reads a log on from where `before` ended, or all of it where it did more than grow.
pub(super) fn look(path: &Path, before: Option<LogRecord>) -> io::Result<Look> {
    let mut file = files::open(path)?;
    let known = match before {
        Some(before) if before.problem.is_none() && before.is_beginning_of(&mut file)? => Some(before),
        _ => None,
    };
    let mut look = Look { anew: known.is_none(), digest: known.unwrap_or_default(), said: Vec::new() };
    file.seek(SeekFrom::Start(look.digest.extent.upto))?;
    let mut reader = BufReader::with_capacity(1 << 20, &mut file);
    let mut line = Vec::new();
    loop {
        let (count, closed) = next_line(&mut reader, &mut line)?;
        // A last line that isn't closed may still be being written; it counts once it is whole.
        if count == 0 || !look.take(&line, count, closed) {
            break;
        }
    }
    (look.digest.extent.head, look.digest.extent.tail) = ends(&mut file, look.digest.extent.upto)?;
    Ok(look)
}

/// Hashes of the first bytes, and of those before `upto`.
fn ends(file: &mut File, upto: u64) -> io::Result<(u64, u64)> {
    let count = upto.min(COMPARED);
    Ok((hash(file, 0, count)?, hash(file, upto - count, count)?))
}

fn hash(file: &mut File, from: u64, count: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(fnv1a(&bytes))
}

/// The directory that a log's header names.
pub(super) fn header_cwd(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    next_line(&mut BufReader::with_capacity(4 << 10, files::open(path).ok()?), &mut line).ok()?;
    header(&line).ok().map(|header| header.cwd)
}

/// The id that a log's header names.
pub(super) fn header_id(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    next_line(&mut BufReader::with_capacity(4 << 10, files::open(path).ok()?), &mut line).ok()?;
    header(&line).ok().map(|header| header.id.as_str().to_owned())
}

fn header(line: &[u8]) -> serde_json::Result<Header> {
    Header::parse(line)
}

/// Reads a line without its newline, and says how many bytes it took and whether the newline was there. Of a line that is too
/// long nothing is kept.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<(u64, bool)> {
    line.clear();
    let (mut count, mut is_too_long) = (0, false);
    loop {
        let buffer = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        is_too_long |= line.len() + part.len() > LONGEST_LINE;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        count += used as u64;
        if end.is_some() || used == 0 {
            return Ok((count, end.is_some()));
        }
    }
}

impl LogRecord {
    /// Whether what was read before still stands at the beginning of the file.
    fn is_beginning_of(&self, file: &mut File) -> io::Result<bool> {
        let Extent { upto, tail, head } = self.extent;
        let is_there = upto > 0 && file.metadata()?.len() >= upto;
        Ok(is_there && ends(file, upto)? == (head, tail))
    }

    fn begin(&mut self, line: &[u8]) {
        match header(line) {
            Ok(header) => {
                self.id = header.id.as_str().to_owned();
                self.cwd.clone_from(&header.cwd);
                self.header_cwd = header.cwd;
                self.parent_session = header.parent_session;
                self.last_activity = UnixMs::from_iso(&header.timestamp).unwrap_or_default();
            }
            Err(_) if line.is_empty() => self.problem = Some("the file is empty".to_owned()),
            Err(error) => self.problem = Some(format!("not the header of a session ({error})")),
        }
    }

    /// Counts an entry in, and keeps what a list shows of it.
    fn count(&mut self, told: &Told) {
        self.sums.entries += 1;
        self.sums.messages += usize::from(told.is_message);
        self.last_activity = told.moment.unwrap_or(self.last_activity);
        if let Some(usage) = &told.usage {
            self.spend(usage);
        }
        if told.model.is_some() {
            self.model.clone_from(&told.model);
        }
        match &told.fact {
            Fact::Prompt(text) if self.first_prompt.is_none() && !text.trim().is_empty() => {
                let typed = typed_skill(text);
                let text = typed.as_deref().unwrap_or(text);
                self.first_prompt = Some(text.chars().take(LONGEST_PROMPT).collect());
            }
            Fact::Name(name) => self.name.clone_from(name),
            Fact::Run(run) => {
                self.cwd = run.cwd.clone().unwrap_or_else(|| self.header_cwd.clone());
                self.remote = run.remote.clone().or_else(|| self.remote.take());
            }
            Fact::Prompt(_) | Fact::Text(_) | Fact::Silent => {}
        }
    }

    fn spend(&mut self, usage: &Usage) {
        self.sums.tokens += usage.total();
        self.sums.cost += usage.cost.total;
    }
}

impl Look {
    /// Takes the next line; false when nothing after it is worth reading now.
    fn take(&mut self, line: &[u8], count: u64, closed: bool) -> bool {
        let offset = self.digest.extent.upto;
        if offset == 0 {
            self.digest.begin(line);
        } else if let Some(told) = extract::read(line).or_else(|| closed.then(|| extract::read_head(line))?) {
            let (position, moment) = (self.digest.sums.entries, told.moment.unwrap_or_default());
            self.digest.count(&told);
            let (entry, length) = (told.id, line.len());
            if let Some(words) = told.fact.into_words() {
                self.said.push(Said { entry, position, offset, length, moment, words });
            }
        } else if !closed {
            return false;
        }
        self.digest.extent.upto += count;
        self.digest.problem.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/a"}"#;

    fn prompt(text: &str) -> String {
        format!(r#"{{"type":"message","id":"{text}","message":{{"role":"user","content":"{text}"}}}}"#)
    }

    fn said(look: &Look) -> Vec<(&str, usize)> {
        look.said.iter().map(|said| (said.words.as_str(), said.position)).collect()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_log_that_grew_is_read_on_from_where_it_was() {
        let mut file = file(&format!("{HEADER}\n{}\n", prompt("one")));
        let first = look(file.path(), None).unwrap();
        assert_eq!((said(&first), first.anew), (vec![("one", 0)], true));
        write!(file, "{}\n{}", prompt("two"), &prompt("torn")[..30]).unwrap();
        let second = look(file.path(), Some(first.digest)).unwrap();
        assert_eq!((said(&second), second.anew), (vec![("two", 1)], false));
        assert_eq!((second.digest.sums.entries, second.digest.first_prompt.as_deref()), (2, Some("one")));
        writeln!(file, "{}", &prompt("torn")[30..]).unwrap();
        let third = look(file.path(), Some(second.digest)).unwrap();
        assert_eq!((said(&third), third.anew), (vec![("torn", 2)], false));
        let line = &fs::read(file.path()).unwrap()[usize::try_from(third.said[0].offset).unwrap()..];
        assert_eq!(&line[..third.said[0].length], prompt("torn").as_bytes());
    }

    #[test]
    fn a_last_line_without_its_newline_counts_once() {
        let mut file = file(&format!("{HEADER}\n{}", prompt("one")));
        let first = look(file.path(), None).unwrap();
        assert_eq!(first.digest.sums.entries, 1);
        write!(file, "\n{}\n", prompt("two")).unwrap();
        let second = look(file.path(), Some(first.digest)).unwrap();
        assert_eq!((said(&second), second.anew), (vec![("two", 1)], false));
    }

    #[test]
    fn a_log_that_was_rewritten_is_read_anew() {
        let file = file(&format!("{HEADER}\n{}\n", prompt("one")));
        let first = look(file.path(), None).unwrap();
        fs::write(file.path(), format!("{HEADER}\n{}\n{}\n", prompt("uno"), prompt("dos"))).unwrap();
        let second = look(file.path(), Some(first.digest)).unwrap();
        assert_eq!((said(&second), second.anew), (vec![("uno", 0), ("dos", 1)], true));
    }

    #[test]
    fn a_log_whose_beginning_was_rewritten_is_read_anew_though_it_grew() {
        let more = prompt(&"x".repeat(9_000));
        let file = file(&format!("{HEADER}\n{}\n{more}\n", prompt("one")));
        let first = look(file.path(), None).unwrap();
        let (uno, dos) = (prompt("uno"), prompt("dos"));
        fs::write(file.path(), format!("{HEADER}\n{uno}\n{more}\n{dos}\n")).unwrap();
        let second = look(file.path(), Some(first.digest)).unwrap();
        assert_eq!((second.anew, second.digest.first_prompt.as_deref()), (true, Some("uno")));
    }

    #[test]
    fn a_prompt_that_a_template_made_begins_with_what_was_typed() {
        let made = r#"{"type":"message","id":"x","message":{"role":"user","content":"Ask me.","tillerTyped":"/ask me"}}"#;
        let look = look(file(&format!("{HEADER}\n{made}\n")).path(), None).unwrap();
        assert_eq!(look.digest.first_prompt.as_deref(), Some("/ask me\nAsk me."));
    }

    #[test]
    fn a_prompt_without_readable_text_is_not_the_first_one() {
        let picture = r#"{"type":"message","message":{"role":"user","content":[{"type":"image"}]}}"#;
        let file = file(&format!("{HEADER}\n{picture}\n{}\n{}\n", prompt(" "), prompt("what is this?")));
        let digest = look(file.path(), None).unwrap().digest;
        assert_eq!((digest.first_prompt.as_deref(), digest.sums.entries), (Some("what is this?"), 3));
    }

    #[test]
    fn a_prompt_that_became_a_skill_is_called_what_was_typed() {
        let text =
            tiller_core::skill_message::skill_message("tidy", "/s/tidy/SKILL.md", "Body.", "the parser");
        let line = serde_json::json!({"type": "message", "message": {"role": "user", "content": text}});
        let digest = look(file(&format!("{HEADER}\n{line}\n")).path(), None).unwrap().digest;
        assert_eq!(digest.first_prompt.as_deref(), Some("/skill:tidy the parser"));
    }

    #[test]
    fn the_last_run_says_where_a_session_is_at_home() {
        let run = |data: &str| format!(r#"{{"type":"custom","customType":"tiller.run","data":{data}}}"#);
        let moved = run(r#"{"mode":"tui","cwd":"/b","remote":"git@host:me/x.git"}"#);
        let mut file = file(&format!("{HEADER}\n{moved}\n"));
        let first = look(file.path(), None).unwrap().digest;
        assert_eq!((first.cwd.as_str(), first.remote.as_deref()), ("/b", Some("git@host:me/x.git")));
        writeln!(file, "{}", run(r#"{"mode":"tui"}"#)).unwrap();
        let back = look(file.path(), Some(first)).unwrap().digest;
        assert_eq!((back.cwd.as_str(), back.remote.as_deref()), ("/a", Some("git@host:me/x.git")));
    }

    #[test]
    fn a_file_that_is_no_session_says_why() {
        let torn = file("{\"type\":\"sess\nmore\n");
        let look = look(torn.path(), None).unwrap();
        assert!(look.digest.problem.unwrap().starts_with("not the header of a session"));
    }
}
