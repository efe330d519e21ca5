//! Reads the clipboard with the system's or the user's clipboard programs.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tiller_core::media::{MAX_IMAGE_BYTES, detect_media_type};

use super::{AttachedImage, from_bytes};

/// The programs that print an image, each with its arguments. Missing programs are skipped.
const PICTURE: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["osascript", "-e", "the clipboard as «class PNGf»"]]
} else {
    &[
        &["wl-paste", "--no-newline", "--type", "image/png"],
        &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ]
};

/// The programs that print text. `pbpaste` uses the encoding of the locale.
const TEXT: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["env", "LC_ALL=en_US.UTF-8", "pbpaste"]]
} else {
    &[
        &["wl-paste", "--no-newline", "--type", "text"],
        &["xclip", "-selection", "clipboard", "-out"],
        &["xsel", "--clipboard", "--output"],
    ]
};

/// The text that `osascript` prints around the hexadecimal digits of a PNG.
const APPLESCRIPT_DATA: (&str, &str) = ("«data PNGf", "»");

/// Maximum bytes to read from a program: the hexadecimal digits of an image that is one byte too long, and
/// the text around them.
const MAX_OUTPUT: usize = 2 * (MAX_IMAGE_BYTES + 1) + 64;

/// Maximum run time of a program, which waits for a reply of the clipboard's owner.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The image's name in messages.
const NAME: &str = "the image on the clipboard";

/// The clipboard's content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClipboardContent {
    Image(AttachedImage),
    Text(String),
    /// Nothing to insert, or no clipboard, with the message for the user.
    Nothing(String),
}

/// Reads the clipboard.
pub(crate) fn read_clipboard() -> ClipboardContent {
    from_programs(PICTURE, TEXT, TIMEOUT)
}

/// Returns the output of the first program that prints something; images take precedence over text.
fn from_programs(picture: &[&[&str]], text: &[&[&str]], timeout: Duration) -> ClipboardContent {
    let mut any_installed = false;
    let mut run = |words: &[&str]| {
        let output = output(words, timeout);
        any_installed |= output.is_ok();
        output.ok().flatten()
    };
    // If another xclip owns the clipboard, xclip prints text when asked for an image.
    let mut image = |words: &&[&str]| {
        Some(from_applescript(run(words)?)).filter(|bytes| detect_media_type(bytes).is_some())
    };
    if let Some(bytes) = picture.iter().find_map(&mut image) {
        return from_bytes(&bytes, NAME).map_or_else(ClipboardContent::Nothing, ClipboardContent::Image);
    }
    let text = text.iter().find_map(|words| String::from_utf8(run(words)?).ok());
    text.map_or_else(|| ClipboardContent::Nothing(no_clip(any_installed).to_owned()), ClipboardContent::Text)
}

fn no_clip(any_installed: bool) -> &'static str {
    if any_installed {
        "The clipboard is empty or unavailable; use the terminal's paste shortcut."
    } else {
        "No clipboard available: install wl-clipboard or xclip, or use the terminal's paste shortcut."
    }
}

/// Decodes the output of AppleScript; other bytes are returned unchanged.
fn from_applescript(bytes: Vec<u8>) -> Vec<u8> {
    let (before, after) = APPLESCRIPT_DATA;
    let Some(digits) = bytes.strip_prefix(before.as_bytes()) else { return bytes };
    let digits = digits.trim_ascii_end();
    let digits = digits.strip_suffix(after.as_bytes()).unwrap_or(digits);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks_exact(2).map_while(byte).collect()
}

/// Runs a program and returns its output if it succeeds and prints something, `None` otherwise. Output over
/// the limit is truncated.
///
/// # Errors
/// If the program can't be started.
fn output(words: &[&str], timeout: Duration) -> io::Result<Option<Vec<u8>>> {
    let Some((program, arguments)) = words.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let Some(out) = child.stdout.take() else { return Ok(None) };
    let (told, heard) = mpsc::channel();
    // A separate thread, so that a program that hangs can be abandoned; the thread ends with the program's
    // output.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = out.take(MAX_OUTPUT as u64).read_to_end(&mut bytes);
        let _ = told.send(read.is_ok().then_some(bytes));
    });
    let bytes = heard.recv_timeout(timeout).ok().flatten();
    if bytes.as_ref().is_none_or(|bytes| bytes.len() == MAX_OUTPUT) {
        // The program may still be running; its result is ignored.
        let _ = child.kill();
        let _ = child.wait();
        return Ok(bytes);
    }
    let did_well = child.wait().is_ok_and(|status| status.success());
    Ok(bytes.filter(|bytes| did_well && !bytes.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);
    const MISSING: &[&str] = &["tiller-has-no-such-program"];

    fn nothing(clip: &ClipboardContent) -> bool {
        matches!(clip, ClipboardContent::Nothing(why) if why.starts_with("The clipboard is empty"))
    }

    #[test]
    fn from_programs_takes_the_first_output() {
        let fails: &[&str] = &["sh", "-c", "echo refused; exit 1"];
        let text: &[&str] = &["printf", "copied"];
        let clip = from_programs(&[MISSING, fails], &[MISSING, fails, text], LONG);
        assert_eq!(clip, ClipboardContent::Text("copied".to_owned()));
        assert!(nothing(&from_programs(&[MISSING], &[fails, &["true"]], LONG)));
        let ClipboardContent::Nothing(why) = from_programs(&[MISSING], &[MISSING], LONG) else {
            panic!("no program")
        };
        assert!(why.starts_with("No clipboard available: install"), "{why}");
    }

    #[test]
    fn from_applescript_decodes_its_data_alone() {
        let printed = "«data PNGf89504E470D0A»\n".as_bytes().to_vec();
        assert_eq!(from_applescript(printed), b"\x89PNG\r\n");
        assert_eq!(from_applescript("«data PNGf895".as_bytes().to_vec()), b"\x89", "cut at the limit");
        assert_eq!(from_applescript(b"\x89PNG".to_vec()), b"\x89PNG");
    }

    #[test]
    fn from_programs_image_precedes_text_and_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dot.png");
        let bytes = super::super::tests::png(2, 1);
        std::fs::write(&path, &bytes).unwrap();
        let picture = from_bytes(&bytes, NAME).unwrap();
        let path = path.display().to_string();
        let text: &[&str] = &["printf", "x"];
        assert_eq!(from_programs(&[text, &["cat", &path]], &[text], LONG), ClipboardContent::Image(picture));
        assert_eq!(
            from_programs(&[text], &[&["cat", &path], text], LONG),
            ClipboardContent::Text("x".to_owned())
        );
    }

    #[test]
    fn from_programs_hanging_program_is_abandoned() {
        let begun = std::time::Instant::now();
        assert!(nothing(&from_programs(&[&["sleep", "60"]], &[], SHORT)));
        assert!(begun.elapsed() < LONG);
    }

    #[test]
    fn from_programs_oversized_output_is_rejected_early() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dot.png");
        std::fs::write(&path, super::super::tests::png(2, 1)).unwrap();
        let endless: &[&str] = &["cat", &path.display().to_string(), "/dev/zero"];
        let ClipboardContent::Nothing(why) = from_programs(&[endless], &[], LONG) else { panic!("endless") };
        assert_eq!(why, "the image on the clipboard: the image/png file is larger than 3,900,000 bytes");
    }
}
