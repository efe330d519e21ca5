//! The two steps of every format: inspecting the source and converting it.

use tiller_core::id::EntryId;

use super::detect::SourceFormat;
use super::entry_builder::EntryBuilder;
use super::source::SourceLog;
use super::warning::ImportWarnings;

/// The arguments of a conversion, the same for every format.
pub(super) struct ConversionContext<'a, 'b> {
    pub(super) source: &'a SourceLog,
    pub(super) builder: &'a mut EntryBuilder<'b>,
    pub(super) warnings: &'a mut ImportWarnings,
    /// The parent of the source's roots.
    pub(super) root: Option<EntryId>,
}

/// The result of inspecting a source: a plan, or the reason to skip it.
pub(super) enum Inspection<P> {
    Plan(P),
    Skip(Option<SourceFormat>, &'static str),
}

impl<P> Inspection<P> {
    pub(super) fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> Inspection<Q> {
        match self {
            Self::Plan(plan) => Inspection::Plan(wrap(plan)),
            Self::Skip(origin, reason) => Inspection::Skip(origin, reason),
        }
    }
}
