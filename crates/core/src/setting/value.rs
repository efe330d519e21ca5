//! Values of settings, and their conversion to the types of the table.

use std::fmt;

/// A setting's value.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// For text and choices.
    Text(String),
    /// For counts.
    Count(u64),
    /// For numbers.
    Number(f64),
    /// For lists.
    List(Vec<String>),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::List(items) if items.is_empty() => f.write_str("off"),
            Self::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// A type that an accessor of the table returns.
pub(super) trait FromSetting<'a>: Sized {
    /// Converts a value; `None` if it doesn't fit the type.
    fn from_setting(value: Option<&'a SettingValue>) -> Option<Self>;
}

impl<'a, T: FromSetting<'a>> FromSetting<'a> for Option<T> {
    fn from_setting(value: Option<&'a SettingValue>) -> Option<Self> {
        match value {
            None => Some(None),
            Some(value) => T::from_setting(Some(value)).map(Some),
        }
    }
}

impl<'a> FromSetting<'a> for &'a str {
    fn from_setting(value: Option<&'a SettingValue>) -> Option<Self> {
        match value {
            Some(SettingValue::Text(text)) => Some(text),
            Some(SettingValue::Count(_) | SettingValue::Number(_) | SettingValue::List(_)) | None => None,
        }
    }
}

impl<'a> FromSetting<'a> for &'a [String] {
    fn from_setting(value: Option<&'a SettingValue>) -> Option<Self> {
        match value {
            Some(SettingValue::List(items)) => Some(items),
            Some(SettingValue::Text(_) | SettingValue::Count(_) | SettingValue::Number(_)) | None => None,
        }
    }
}

impl FromSetting<'_> for u64 {
    fn from_setting(value: Option<&SettingValue>) -> Option<Self> {
        match value {
            Some(SettingValue::Count(count)) => Some(*count),
            Some(SettingValue::Text(_) | SettingValue::Number(_) | SettingValue::List(_)) | None => None,
        }
    }
}

impl FromSetting<'_> for u32 {
    fn from_setting(value: Option<&SettingValue>) -> Option<Self> {
        u64::from_setting(value)?.try_into().ok()
    }
}

impl FromSetting<'_> for usize {
    fn from_setting(value: Option<&SettingValue>) -> Option<Self> {
        u64::from_setting(value)?.try_into().ok()
    }
}

impl FromSetting<'_> for f64 {
    fn from_setting(value: Option<&SettingValue>) -> Option<Self> {
        match value {
            Some(SettingValue::Number(number)) => Some(*number),
            Some(SettingValue::Text(_) | SettingValue::Count(_) | SettingValue::List(_)) | None => None,
        }
    }
}
