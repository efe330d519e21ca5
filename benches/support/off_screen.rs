//! A TUI without a terminal over a benchmark's session, with a controlled clock.

use tiller::agent::{ContextUse, InFlight, SessionState, Snapshot};
use tiller::message::{ModelRef, ThinkingLevel, Usage};
use tiller::provider::catalog::ImageInput;
use tiller::session::Reader;
use tiller::tui::{OffScreen, TuiOptions};
use tiller::unit::{Tokens, UnixMs};

/// The time of all events.
pub(crate) const NOW: UnixMs = UnixMs(1_795_269_720_000);

/// Columns and rows.
const SIZE: (u16, u16) = (120, 40);

/// The session on the screen, with this activity.
pub(crate) fn screen(reader: Reader, live: InFlight) -> OffScreen {
    let state = SessionState {
        session: reader.id().clone(),
        path: None,
        name: None,
        cwd: "/home/ada/code".into(),
        model: ModelRef { provider: "anthropic".into(), id: "claude-sonnet-4-5".into() },
        thinking: ThinkingLevel::Off,
        context: ContextUse { used: Tokens(68_000), window: Tokens(200_000) },
        usage: Usage::default(),
        approval: "ask".into(),
        plan: None,
        image_input: ImageInput::Supported,
    };
    OffScreen::new(SIZE, Snapshot { seq: 0, state, in_progress: live }, reader, &TuiOptions::default(), NOW)
}
