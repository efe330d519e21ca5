//! The current time.

use tiller_core::unit::UnixMs;

pub(crate) fn now() -> UnixMs {
    UnixMs(jiff::Timestamp::now().as_millisecond())
}
