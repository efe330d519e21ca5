//! Words told apart by another process: a piece a line on its stdin, what came of it a line on its stdout, both JSON. It ends when its
//! stdin does.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::backend::{HighlightBackend, HighlightRequest, HighlightResponse, InProcess, TokenSpans};

/// The argument that makes our binary tell words apart ([`serve`]) and do nothing else.
pub const SERVICE: &str = "__words";

/// Tells apart the words of what is asked on `input`, until that ends, and answers on `output`. A piece may take so long.
///
/// # Errors
/// When one of the two fails, something else than a piece of code comes, or a piece takes longer: then it is still at work, on a thread that
/// ends with the process.
pub fn serve(input: impl BufRead, mut output: impl Write, longest: Duration) -> io::Result<()> {
    let (ask, asked) = channel();
    let (tell, told) = channel();
    thread::Builder::new().name("teller".into()).spawn(move || work(&asked, &tell))?;
    for line in input.lines() {
        let piece: HighlightRequest = serde_json::from_str(&line?)?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        ask.send(piece).map_err(|_| gone())?;
        let came = told.recv_timeout(longest).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        let words = match came {
            HighlightResponse::Words(words) => Some(words),
            // `Here` never fails.
            HighlightResponse::LostThread | HighlightResponse::Failed => None,
        };
        output.write_all(&serde_json::to_vec(&words)?)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn work(asked: &Receiver<HighlightRequest>, tell: &Sender<HighlightResponse>) {
    let mut here = InProcess::default();
    for piece in asked {
        if tell.send(here.tell(&piece)).is_err() {
            return;
        }
    }
}

/// Asks one that serves for the words of a piece: `input` and `output` are its own.
///
/// # Errors
/// When it has ended, or says something else than words.
pub fn ask(
    piece: &HighlightRequest,
    mut input: impl Write,
    mut output: impl BufRead,
) -> io::Result<HighlightResponse> {
    let mut asked = serde_json::to_vec(piece)?;
    asked.push(b'\n');
    input.write_all(&asked)?;
    input.flush()?;
    let mut line = String::new();
    output.read_line(&mut line)?;
    let words: Option<Vec<TokenSpans>> = serde_json::from_str(&line)?;
    Ok(words.map_or(HighlightResponse::LostThread, HighlightResponse::Words))
}

#[cfg(test)]
mod tests {
    use super::super::backend::{LanguageId, Thread};
    use super::*;
    use crate::Role;

    const LONG: Duration = Duration::from_secs(600);

    fn piece(lines: &[&str], from: usize) -> HighlightRequest {
        HighlightRequest {
            language: LanguageId::Named("rust".into()),
            thread: Some(Thread { number: 1, from }),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    /// What is answered to some pieces.
    fn served(pieces: &[HighlightRequest]) -> Vec<u8> {
        let asked: String =
            pieces.iter().map(|piece| serde_json::to_string(piece).expect("JSON") + "\n").collect();
        let mut answers = Vec::new();
        serve(asked.as_bytes(), &mut answers, LONG).expect("served");
        answers
    }

    #[test]
    fn what_is_asked_of_another_process_is_what_is_told_here() {
        let pieces = [piece(&["let a = \"ü\n\u{1b}\";", ""], 0), piece(&["// b"], 2), piece(&["let"], 9)];
        let mut here = InProcess::default();
        let answers = served(&pieces);
        let mut answers = answers.as_slice();
        for piece in &pieces {
            let mut asked = Vec::new();
            assert_eq!(ask(piece, &mut asked, &mut answers).expect("an answer"), here.tell(piece));
            assert_eq!(asked.iter().filter(|&&byte| byte == b'\n').count(), 1, "a line");
        }
        assert!(answers.is_empty());
    }

    #[test]
    fn one_that_has_ended_or_says_something_else_is_an_error() {
        for said in ["", "[[[3,\"Keyword\"", "thread panicked\n", "[[[3,\"Nothing\"]]]\n"] {
            assert!(ask(&piece(&["let"], 0), io::sink(), said.as_bytes()).is_err(), "{said:?}");
        }
        let told = ask(&piece(&["let"], 0), io::sink(), "[[[3,\"Keyword\"]]]\n".as_bytes());
        assert_eq!(told.expect("words"), HighlightResponse::Words(vec![vec![(3, Role::Keyword)]]));
        assert!(serve("no piece\n".as_bytes(), io::sink(), LONG).is_err());
    }

    #[test]
    fn a_piece_that_takes_too_long_ends_the_service() {
        let asked = serde_json::to_string(&piece(&["let a = 1;"; 5_000], 0)).expect("JSON") + "\n";
        let ended = serve(asked.as_bytes(), io::sink(), Duration::ZERO);
        assert_eq!(ended.expect_err("too long").kind(), io::ErrorKind::TimedOut);
    }
}
