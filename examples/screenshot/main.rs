//! Renders the pictures of the documentation from the real TUI: `cargo run --release --example screenshot`.
//!
//! The built `tiller` runs in a pseudo-terminal, in a small project in a temporary folder, with scripted
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
    ("at-work", scenes::at_work),
    ("tree", scenes::tree),
    ("models", panels::models),
    ("sessions", panels::sessions),
    ("queue", panels::queue),
    ("approval", panels::approval),
];

fn main() -> anyhow::Result<()> {
    let program = program()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screenshots");
    std::fs::create_dir_all(&folder)?;
    let wanted = std::env::args().nth(1);
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| name.starts_with(wanted));
    for (name, scene) in SCENES.iter().filter(|(name, _)| is_wanted(name)) {
        write(&folder.join(format!("{name}.svg")), &scene(&program)?)?;
    }
    for known in ThemeRegistry::built_in().known() {
        let name = format!("theme-{}", known.theme.name);
        if !is_wanted(&name) {
            continue;
        }
        write(&folder.join(format!("{name}.svg")), &scenes::themed(&program, &known.theme)?)?;
    }
    Ok(())
}

fn write(path: &Path, svg: &str) -> anyhow::Result<()> {
    std::fs::write(path, svg).with_context(|| format!("can't write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// The `tiller` of the same build: examples are in a folder beside it.
fn program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder =
        own.parent().and_then(Path::parent).context("an example stands in target/PROFILE/examples")?;
    let program = folder.join("tiller");
    if !program.is_file() {
        let profile = folder.file_name().unwrap_or_default().display();
        bail!(
            "{} isn't built; `cargo build` it first, with --release for {profile} = release",
            program.display()
        );
    }
    Ok(program)
}
