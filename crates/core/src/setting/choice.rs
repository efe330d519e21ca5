//! The values of settings that are a choice between words.

use serde::{Deserialize, Serialize};

use super::value::FromSetting;
use super::{SettingKind, SettingValue};

/// Declares an enum whose variants are the words of a setting.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// All values, in display order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The setting's kind.
            pub(super) const KIND: SettingKind = SettingKind::Choice(&[$($word),+]);

            /// Returns the value's name, as typed and shown.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Parses a value's name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl FromSetting<'_> for $name {
            fn from_setting(value: Option<&SettingValue>) -> Option<Self> {
                <&str>::from_setting(value).and_then(Self::parse)
            }
        }
    };
}

choice! {
    /// Something that is on or off.
    Switch {
        /// Enabled.
        #[default]
        On = "on",
        /// Disabled.
        Off = "off",
    }
}

choice! {
    /// The approval mode: selects the calls that ask.
    ApprovalMode {
        /// Commands ask, and so do writes to a [protected path](crate::protected_path). Reads, and writes elsewhere in
        /// the working directory and in directories added for writing, don't.
        #[default]
        Ask = "ask",
        /// Commands that look dangerous ask, and so do writes to a protected path.
        Auto = "auto",
        /// Only reading is allowed, and the model is instructed to present a plan.
        Plan = "plan",
        /// Calls that may change anything are denied.
        ReadOnly = "read-only",
    }
}

choice! {
    /// The sandbox of the model's commands.
    SandboxMode {
        /// Commands write only in the workspace, temporary directories and listed caches.
        #[default]
        Workspace = "workspace",
        /// Commands write only in temporary directories.
        ReadOnly = "read-only",
        /// Commands have the user's rights.
        Off = "off",
    }
}

choice! {
    /// The amount of thinking before an answer.
    #[derive(PartialOrd, Ord)]
    ThinkingLevel {
        /// No thinking.
        #[default]
        Off = "off",
        /// The minimum of the provider.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// The maximum of the provider.
        Xhigh = "xhigh",
    }
}

choice! {
    /// Point of delivery of steering messages.
    SteeringPoint {
        /// Between two steps; calls that have not begun are skipped.
        #[default]
        BetweenTools = "between-tools",
        /// After the last call of the answer.
        AfterAnswer = "after-answer",
    }
}

choice! {
    /// Number of queued messages of a kind that are delivered at a time.
    DeliveryMode {
        /// The oldest.
        #[default]
        OneAtATime = "one-at-a-time",
        /// All of its kind.
        All = "all",
    }
}

choice! {
    /// The replacement of the older part of a conversation.
    CompactionStrategy {
        /// A summary that the model makes.
        #[default]
        Summarize = "summarize",
        /// The first message and a note that others were left out; no request is made.
        Truncate = "truncate",
        /// None: a context that is too long is an error.
        Off = "off",
    }
}

choice! {
    /// Policy for syncing the log to the disk.
    SyncPolicy {
        /// After every entry.
        Always = "always",
        /// Before each request and at the end of a run.
        #[default]
        Turn = "turn",
        /// Left to the operating system.
        Never = "never",
    }
}

choice! {
    /// The display of images.
    ImageMode {
        /// In the transcript if the terminal supports it.
        #[default]
        Auto = "auto",
        /// As a line of text.
        Line = "line",
    }
}

choice! {
    /// The number of colors of the terminal.
    ColorMode {
        /// Detected from the environment.
        #[default]
        Auto = "auto",
        /// 24-bit colors.
        TrueColor = "24bit",
        /// The sixteen colors, a color cube and grays.
        TwoHundredFiftySix = "256",
        /// The sixteen colors that the terminal's user chooses.
        Sixteen = "16",
        /// Bold, dim, underline and reverse only.
        None = "none",
    }
}

choice! {
    /// Reports of progress to the terminal.
    ProgressMode {
        /// If the terminal supports them.
        #[default]
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// The alert while the terminal is unfocused.
    NotifyMode {
        /// A desktop notification if the terminal supports it, else the bell.
        #[default]
        Auto = "auto",
        /// The bell.
        Bell = "bell",
        /// None.
        Off = "off",
    }
}

choice! {
    /// The least severe level of messages in the log file.
    LogLevel {
        /// No messages.
        Off = "off",
        /// Errors.
        Error = "error",
        /// Warnings.
        #[default]
        Warn = "warn",
        /// Information.
        Info = "info",
        /// Details for developers.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_names_are_parsed_back() {
        for mode in ApprovalMode::ALL {
            assert_eq!(ApprovalMode::parse(mode.name()), Some(mode));
        }
        assert_eq!(ApprovalMode::parse("never"), None);
        assert_eq!(ApprovalMode::KIND, SettingKind::Choice(&["ask", "auto", "plan", "read-only"]));
    }
}
