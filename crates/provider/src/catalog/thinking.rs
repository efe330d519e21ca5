//! The parameters that control a model's thinking.

use tiller_core::message::ThinkingLevel;
use tiller_core::unit::Tokens;

/// The kind of parameters that control a model's thinking. Each wire format has its own names for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingControl {
    /// No thinking, or none that a parameter controls.
    Never,
    /// A named effort for each level.
    Effort {
        /// The lowest level: above `Off` for a model that always thinks.
        min_level: ThinkingLevel,
        /// The name for each level, from `Off` to `Xhigh`; an empty one isn't sent.
        names: [&'static str; 6],
    },
    /// A token budget, as in older Claude models and Gemini 2.5.
    Budget {
        /// The lowest level: above `Off` for a model that always thinks.
        min_level: ThinkingLevel,
    },
    /// Adaptive thinking of newer Claude models: `thinking: {type: adaptive}` and `output_config.effort`.
    /// Such models don't accept a temperature.
    Adaptive {
        /// The parameter that turns thinking off.
        off: ThinkingOff,
        /// The highest supported effort.
        max_effort: &'static str,
        /// True if thinking blocks are bound to everything before them
        /// (/docs/en/build-with-claude/preserved-thinking).
        bound: bool,
    },
}

/// The parameter that turns adaptive thinking off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingOff {
    /// No parameter: the model thinks only on request.
    Omit,
    /// `thinking: {type: disabled}`.
    Disabled,
    /// `thinking: {type: between_tools}`, in Sonnet 5.5.
    BetweenTools,
    /// Thinking can't be turned off; `low` effort is the minimum.
    LowEffort,
}

impl ThinkingControl {
    pub(super) const ON_REQUEST: Self =
        Self::Adaptive { off: ThinkingOff::Omit, max_effort: "high", bound: false };
    pub(super) const DEFAULT_ON: Self =
        Self::Adaptive { off: ThinkingOff::Disabled, max_effort: "max", bound: false };
    pub(super) const ALWAYS: Self =
        Self::Adaptive { off: ThinkingOff::LowEffort, max_effort: "max", bound: true };

    /// For a Claude model newer than the catalog: adaptive, as in all models since 4.6, without parameters
    /// that only some of them accept.
    pub(super) const NEWEST: Self = Self::ON_REQUEST;

    /// A budget, and no thinking without one.
    pub const BUDGET: Self = Self::Budget { min_level: ThinkingLevel::Off };

    /// Efforts from low to high, and no parameter without thinking, as most servers accept.
    pub const LOW_TO_HIGH: Self =
        Self::Effort { min_level: ThinkingLevel::Off, names: ["", "low", "low", "medium", "high", "high"] };

    /// Returns the lowest thinking level; `None` for a model that doesn't think.
    #[must_use]
    pub const fn min_level(self) -> Option<ThinkingLevel> {
        match self {
            Self::Never => None,
            Self::Effort { min_level, .. } | Self::Budget { min_level } => Some(min_level),
            Self::Adaptive { off: ThinkingOff::LowEffort, .. } => Some(ThinkingLevel::Low),
            Self::Adaptive { .. } => Some(ThinkingLevel::Off),
        }
    }

    /// Returns the name of the effort for a level; `None` if none is sent. In a wire format that has only
    /// efforts, models with other parameters use the usual names.
    #[must_use]
    pub fn effort(self, level: ThinkingLevel) -> Option<&'static str> {
        match self {
            Self::Effort { names, .. } => Some(names[level as usize]).filter(|name| !name.is_empty()),
            Self::Budget { .. } | Self::Adaptive { .. } => Self::LOW_TO_HIGH.effort(level),
            Self::Never => None,
        }
    }

    /// Returns the thinking budget of a level; `None` without thinking or if the model takes no budget.
    #[must_use]
    pub fn budget(self, level: ThinkingLevel) -> Option<Tokens> {
        match self {
            Self::Budget { min_level } => {
                Some(level.max(min_level)).filter(|level| *level != ThinkingLevel::Off)
            }
            Self::Never | Self::Effort { .. } | Self::Adaptive { .. } => None,
        }
        .map(usual_budget)
    }
}

/// Thinking budgets by level, roughly doubling; the lowest is the minimum of the Messages API.
pub(crate) const fn usual_budget(level: ThinkingLevel) -> Tokens {
    Tokens(match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 1_024,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::Xhigh => 32_768,
    })
}
