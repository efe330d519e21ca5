//! What the clipboard has to offer: asked of the system, and where that has none for us (GNOME's Wayland without X, a machine at the other
//! end of a connection) of the programs that people have for it.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::{AttachedImage, MOST_BYTES, encoded, of_bytes};

/// The programs that bring a picture, each with its arguments; what isn't installed is passed over.
const PICTURE: [&[&str]; 2] = [
    &["wl-paste", "--no-newline", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
];

/// The same for text.
const TEXT: [&[&str]; 2] =
    [&["wl-paste", "--no-newline", "--type", "text/plain"], &["xclip", "-selection", "clipboard", "-out"]];

/// How long a program may take: it asks whoever owns the clipboard, who may never answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a picture from here is called.
const NAME: &str = "the picture on the clipboard";

/// What the clipboard has to offer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClipboardContent {
    Picture(AttachedImage),
    Text(String),
    /// Nothing that can be put into a message, or there is no clipboard; a sentence says which.
    Nothing(String),
}

/// Looks at the clipboard.
pub(crate) fn clipboard() -> ClipboardContent {
    let Ok(mut board) = arboard::Clipboard::new() else {
        return of_programs(&PICTURE, &TEXT, PATIENCE);
    };
    match board.get_image() {
        Ok(image) => of_picture(encoded(image.width, image.height, &image.bytes)),
        Err(_) => match board.get_text() {
            Ok(text) if !text.is_empty() => ClipboardContent::Text(text),
            _ => ClipboardContent::Nothing("the clipboard is empty".to_owned()),
        },
    }
}

fn of_picture(picture: Result<AttachedImage, String>) -> ClipboardContent {
    picture.map_or_else(ClipboardContent::Nothing, ClipboardContent::Picture)
}

/// What the first program says that brings anything.
fn of_programs(picture: &[&[&str]], text: &[&[&str]], patience: Duration) -> ClipboardContent {
    if let Some(bytes) = picture.iter().find_map(|words| output(words, patience)) {
        return of_picture(of_bytes(&bytes, NAME));
    }
    let text = text.iter().find_map(|words| String::from_utf8(output(words, patience)?).ok());
    text.map_or_else(
        || {
            ClipboardContent::Nothing(
                "there is no clipboard here; paste with the terminal's own key".to_owned(),
            )
        },
        ClipboardContent::Text,
    )
}

/// What a program writes, if it is there, does well and writes anything; of too much no more than shows that.
fn output(words: &[&str], patience: Duration) -> Option<Vec<u8>> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let out = child.stdout.take()?;
    let (told, heard) = mpsc::channel();
    // On its own thread, so that a program that says nothing can be given up; it ends with the program's output.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = out.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
        let _ = told.send(read.is_ok().then_some(bytes));
    });
    let bytes = heard.recv_timeout(patience).ok().flatten();
    if bytes.as_ref().is_none_or(|bytes| bytes.len() > MOST_BYTES) {
        // It is at work still; what became of it is of no matter.
        let _ = child.kill();
        let _ = child.wait();
        return bytes;
    }
    let did_well = child.wait().is_ok_and(|status| status.success());
    bytes.filter(|bytes| did_well && !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);
    const MISSING: &[&str] = &["tiller-has-no-such-program"];

    fn nothing(clip: &ClipboardContent) -> bool {
        matches!(clip, ClipboardContent::Nothing(why) if why.starts_with("there is no clipboard here"))
    }

    #[test]
    fn the_first_program_that_brings_something_is_believed() {
        let fails: &[&str] = &["sh", "-c", "echo refused; exit 1"];
        let text: &[&str] = &["printf", "copied"];
        let clip = of_programs(&[MISSING, fails], &[MISSING, fails, text], LONG);
        assert_eq!(clip, ClipboardContent::Text("copied".to_owned()));
        assert!(nothing(&of_programs(&[MISSING], &[fails, &["true"]], LONG)));
    }

    #[test]
    fn a_picture_comes_before_text_and_has_to_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dot.png");
        let picture = encoded(2, 1, &[0; 8]).unwrap();
        let data = base64::Engine::decode(&super::super::STANDARD, &picture.image.data).unwrap();
        std::fs::write(&path, data).unwrap();
        let path = path.display().to_string();
        assert_eq!(
            of_programs(&[&["cat", &path]], &[&["printf", "x"]], LONG),
            ClipboardContent::Picture(picture)
        );
        let ClipboardContent::Nothing(why) = of_programs(&[&["printf", "x"]], &[], LONG) else {
            panic!("x is no picture")
        };
        assert!(why.starts_with("the picture on the clipboard is no picture that models take"), "{why}");
    }

    #[test]
    fn a_program_that_never_answers_is_given_up() {
        let begun = std::time::Instant::now();
        assert!(nothing(&of_programs(&[&["sleep", "60"]], &[], SHORT)));
        assert!(begun.elapsed() < LONG);
    }

    #[test]
    fn more_than_a_picture_may_have_is_said_and_not_gathered() {
        let ClipboardContent::Nothing(why) = of_programs(&[&["cat", "/dev/zero"]], &[], LONG) else {
            panic!("endless")
        };
        assert!(why.starts_with("the picture on the clipboard"), "{why}");
    }
}
