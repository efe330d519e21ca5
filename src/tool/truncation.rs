//! stub
use std::path::PathBuf;
#[derive(Clone, Copy, Debug)]
pub struct OutputLimits {
    pub max_lines: usize,
    pub max_chars: usize,
}
#[derive(Clone, Debug)]
pub struct Capture {
    text: String,
}
pub struct Captured {
    pub text: String,
    pub truncated: bool,
    pub full_output_path: Option<PathBuf>,
}
impl Capture {
    pub fn new(_l: OutputLimits) -> Self {
        Self { text: String::new() }
    }
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let s = String::from_utf8_lossy(bytes).into_owned();
        self.text.push_str(&s);
        s
    }
    pub fn finish(self) -> Captured {
        Captured { text: self.text, truncated: false, full_output_path: None }
    }
    pub fn shown(&self) -> String {
        self.text.clone()
    }
}
