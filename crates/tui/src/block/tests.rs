use tiller_render::{Highlighting, RenderOptions, Role};

use super::*;

fn ctx(code_told: u64) -> RenderContext {
    let manner = RenderOptions { code: Highlighting::Background, ..RenderOptions::default() };
    RenderContext { width: 40, options: manner, code_generation: code_told, ..RenderContext::default() }
}

/// Returns true if a block is laid out anew when some code was told.
fn is_laid_out_anew(kind: BlockKind) -> bool {
    let mut block = Block::new(kind);
    block.lay_out(&ctx(1));
    let lines = &mut block.cache.as_mut().expect("laid out").lines;
    lines.push(Line::new("as it was", Role::Text));
    let count = lines.len();
    block.lay_out(&ctx(2)) != count
}

#[test]
fn block_relayout_only_for_pending_highlights() {
    let answer = |text: &str| BlockKind::Answer(text.to_owned());
    assert!(!is_laid_out_anew(answer("no `code` but this")));
    assert!(!is_laid_out_anew(answer("```\nof no language\n```")));
    let code = "```rust\nlet laid_out_anew_until_told = 1;\n```";
    assert!(is_laid_out_anew(answer(code)));
    assert!(is_laid_out_anew(answer(code)), "it still waits");
    tiller_render::highlight_queued(&mut tiller_render::InProcess::default(), || {
        std::ops::ControlFlow::Continue(())
    });
    assert!(!is_laid_out_anew(answer(code)), "it was told");
    assert!(!is_laid_out_anew(BlockKind::Thinking(code.to_owned())), "a thought's code stays plain");
}
