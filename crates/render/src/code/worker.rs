//! Highlighting in a worker process: one JSON request per line on its stdin, one JSON result per line on its
//! stdout. It exits when its stdin ends.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::backend::{HighlightBackend, HighlightRequest, HighlightResponse, InProcess, TokenSpans};

/// The argument that starts the worker ([`serve_highlighting`]).
pub const WORKER_ARGUMENT: &str = "__words";

/// Answers the requests on `input` on `output`, until `input` ends. `longest` is the time limit for a
/// request.
///
/// # Errors
/// If one of the streams fails, a line isn't a valid request, or a request exceeds the time limit. Its work
/// then continues on a thread that ends with the process.
pub fn serve_highlighting(input: impl BufRead, mut output: impl Write, longest: Duration) -> io::Result<()> {
    let (request_sender, requests) = channel();
    let (responses, results) = channel();
    thread::Builder::new().name("highlighter".into()).spawn(move || run_backend(&requests, &responses))?;
    for line in input.lines() {
        let request: HighlightRequest = serde_json::from_str(&line?)?;
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        request_sender.send(request).map_err(|_| closed())?;
        let response = results.recv_timeout(longest).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        let tokens = match response {
            HighlightResponse::Tokens(tokens) => Some(tokens),
            // `InProcess` never fails.
            HighlightResponse::StateLost | HighlightResponse::Failed => None,
        };
        output.write_all(&serde_json::to_vec(&tokens)?)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn run_backend(requests: &Receiver<HighlightRequest>, responses: &Sender<HighlightResponse>) {
    let mut backend = InProcess::default();
    for request in requests {
        if responses.send(backend.highlight(&request)).is_err() {
            return;
        }
    }
}

/// Sends a request to a worker; `input` and `output` are the worker's stdin and stdout.
///
/// # Errors
/// If the worker has exited, or its response is invalid.
pub fn request_highlighting(
    request: &HighlightRequest,
    mut input: impl Write,
    mut output: impl BufRead,
) -> io::Result<HighlightResponse> {
    let mut requests = serde_json::to_vec(request)?;
    requests.push(b'\n');
    input.write_all(&requests)?;
    input.flush()?;
    let mut line = String::new();
    output.read_line(&mut line)?;
    let tokens: Option<Vec<TokenSpans>> = serde_json::from_str(&line)?;
    Ok(tokens.map_or(HighlightResponse::StateLost, HighlightResponse::Tokens))
}

#[cfg(test)]
mod tests {
    use super::super::backend::StreamPosition;
    use super::super::language::LanguageId;
    use super::*;
    use crate::Role;

    const LONG: Duration = Duration::from_secs(600);

    fn request(lines: &[&str], from: usize) -> HighlightRequest {
        HighlightRequest {
            language: LanguageId::Named("rust".into()),
            stream: Some(StreamPosition { number: 1, from }),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    /// The responses to some requests.
    fn serve_all(pieces: &[HighlightRequest]) -> Vec<u8> {
        let requests: String =
            pieces.iter().map(|request| serde_json::to_string(request).expect("JSON") + "\n").collect();
        let mut answers = Vec::new();
        serve_highlighting(requests.as_bytes(), &mut answers, LONG).expect("served");
        answers
    }

    #[test]
    fn worker_responses_equal_in_process_ones() {
        let pieces =
            [request(&["let a = \"ü\n\u{1b}\";", ""], 0), request(&["// b"], 2), request(&["let"], 9)];
        let mut backend = InProcess::default();
        let answers = serve_all(&pieces);
        let mut answers = answers.as_slice();
        for request in &pieces {
            let mut requests = Vec::new();
            assert_eq!(
                request_highlighting(request, &mut requests, &mut answers).expect("an answer"),
                backend.highlight(request)
            );
            assert_eq!(requests.iter().filter(|&&byte| byte == b'\n').count(), 1, "a line");
        }
        assert!(answers.is_empty());
    }

    #[test]
    fn ask_closed_or_invalid_response_is_an_error() {
        for line in ["", "[[[3,\"Keyword\"", "thread panicked\n", "[[[3,\"Nothing\"]]]\n"] {
            assert!(
                request_highlighting(&request(&["let"], 0), io::sink(), line.as_bytes()).is_err(),
                "{line:?}"
            );
        }
        let response =
            request_highlighting(&request(&["let"], 0), io::sink(), "[[[3,\"Keyword\"]]]\n".as_bytes());
        assert_eq!(response.expect("tokens"), HighlightResponse::Tokens(vec![vec![(3, Role::Keyword)]]));
        assert!(serve_highlighting("no piece\n".as_bytes(), io::sink(), LONG).is_err());
    }

    #[test]
    fn serve_ends_when_a_request_takes_too_long() {
        let requests = serde_json::to_string(&request(&["let a = 1;"; 5_000], 0)).expect("JSON") + "\n";
        let result = serve_highlighting(requests.as_bytes(), io::sink(), Duration::ZERO);
        assert_eq!(result.expect_err("too long").kind(), io::ErrorKind::TimedOut);
    }
}
