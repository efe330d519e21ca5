//! Renders the pictures of the documentation from the real TUI: `cargo run --release --example screenshot`.
//!
//! The built `tiller` runs in a pseudo-terminal, in a small project in a temporary directory, with scripted
//! answers and a fake `cargo`; everything else is real: the tools, the steering, the log. The SVGs are written
//! to `docs/screenshots`; an argument after `--` selects pictures by prefix. Clocks and durations are masked,
//! because they differ between runs.

mod panels;
mod project;
mod scenes;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tiller::theme::ThemeRegistry;

/// A picture's name, and the function that takes it.
type Scene = (&'static str, fn(&Path) -> anyhow::Result<String>);

const SCENES: [Scene; 6] = [
    ("at-work", scenes::running_agent),
    ("tree", scenes::tree),
    ("models", panels::models),
    ("sessions", panels::sessions),
    ("queue", panels::queue),
    ("approval", panels::approval),
];

fn main() -> anyhow::Result<()> {
    let program = program()?;
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screenshots");
    std::fs::create_dir_all(&dir)?;
    let prefix = std::env::args().nth(1);
    let is_selected = |name: &str| prefix.as_deref().is_none_or(|prefix| name.starts_with(prefix));
    for (name, scene) in SCENES.iter().filter(|(name, _)| is_selected(name)) {
        write(&dir.join(format!("{name}.svg")), &scene(&program)?)?;
    }
    for registered in ThemeRegistry::built_in().known() {
        let name = format!("theme-{}", registered.theme.name);
        if !is_selected(&name) {
            continue;
        }
        write(&dir.join(format!("{name}.svg")), &scenes::theme_elements(&program, &registered.theme)?)?;
    }
    Ok(())
}

fn write(path: &Path, svg: &str) -> anyhow::Result<()> {
    std::fs::write(path, svg).with_context(|| format!("can't write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// The `tiller` of the same build: examples are in a directory next to it.
fn program() -> anyhow::Result<PathBuf> {
    let executable = std::env::current_exe()?;
    let dir =
        executable.parent().and_then(Path::parent).context("an example stands in target/PROFILE/examples")?;
    let program = dir.join("tiller");
    if !program.is_file() {
        let profile = dir.file_name().unwrap_or_default().display();
        bail!(
            "{} isn't built; `cargo build` it first, with --release for {profile} = release",
            program.display()
        );
    }
    Ok(program)
}
