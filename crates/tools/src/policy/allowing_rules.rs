//! The settings rules that allow a call.

use std::fmt;

use super::configured_rule::ConfiguredRule;

/// The settings rules that allow a call: one or, for a line with several commands, all that are needed. `Display` joins
/// them with commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowingRules(Vec<ConfiguredRule>);

impl<'a> FromIterator<&'a ConfiguredRule> for AllowingRules {
    /// Collects rules without duplicates.
    fn from_iter<I: IntoIterator<Item = &'a ConfiguredRule>>(rules: I) -> Self {
        let mut unique: Vec<ConfiguredRule> = Vec::new();
        for rule in rules {
            if !unique.contains(rule) {
                unique.push(rule.clone());
            }
        }
        Self(unique)
    }
}

impl fmt::Display for AllowingRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rule) in self.0.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            rule.fmt(f)?;
        }
        Ok(())
    }
}
