use tiller_render::{HighlightCache, Highlighting, InProcess, RenderOptions, Role};

use super::*;

fn ctx(cache: &HighlightCache, code_generation: u64) -> RenderContext {
    let code = Highlighting::Background(cache.clone());
    let options = RenderOptions { code, ..RenderOptions::default() };
    RenderContext { width: 40, options, code_generation, ..RenderContext::default() }
}

/// Returns true if a block is laid out again after some code was highlighted.
fn is_laid_out_anew(cache: &HighlightCache, kind: BlockKind) -> bool {
    let mut block = Block::new(kind);
    block.lay_out(&ctx(cache, 1));
    let lines = &mut block.cache.as_mut().expect("laid out").lines;
    lines.push(Line::new("as it was", Role::Text));
    let count = lines.len();
    block.lay_out(&ctx(cache, 2)) != count
}

#[test]
fn block_relayout_only_for_pending_highlights() {
    let cache = HighlightCache::default();
    let answer = |text: &str| BlockKind::Answer(text.to_owned());
    assert!(!is_laid_out_anew(&cache, answer("no `code` but this")));
    assert!(!is_laid_out_anew(&cache, answer("```\nof no language\n```")));
    let code = "```rust\nlet laid_out_anew_until_told = 1;\n```";
    assert!(is_laid_out_anew(&cache, answer(code)));
    assert!(is_laid_out_anew(&cache, answer(code)), "it still waits");
    cache.run_queued(&mut InProcess::default(), || std::ops::ControlFlow::Continue(()));
    assert!(!is_laid_out_anew(&cache, answer(code)), "it was told");
    assert!(!is_laid_out_anew(&cache, BlockKind::Thinking(code.to_owned())), "a thought's code stays plain");
}
