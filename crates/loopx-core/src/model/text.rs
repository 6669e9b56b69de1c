//! Owns bounded text: what a person may write into a fact, checked once for length and for bytes that hide.
//!
//! Knows nothing of credentials or paths; that screen is the boundary's.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::{Code, Error};

/// Gives a type that is written as its text what reading and writing it takes.
macro_rules! string_serde {
    ($name:ident) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as ::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|e: $crate::error::Error| ::serde::de::Error::custom(e.message()))
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
pub(super) use string_serde;

/// Makes a type of text that its own `FromStr` has checked.
macro_rules! parsed_text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        $crate::model::text::string_serde!($name);
    };
}
pub(super) use parsed_text;

/// Text of at most `MAX` bytes; not blank, no NUL, no control character but newline and tab.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Checked<const MAX: usize>(Box<str>);

/// One line for lists: ≤ 240 bytes.
pub type Title = Checked<240>;
/// A name or key: ≤ 120 bytes.
pub type Label = Checked<120>;
/// A question, reason or summary: ≤ 512 bytes.
pub type ShortText = Checked<512>;
/// A longer statement: ≤ 4 KiB.
pub type Text = Checked<4096>;

impl<const MAX: usize> Checked<MAX> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> FromStr for Checked<MAX> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.len() > MAX {
            let message = format!("the text has {} bytes, the limit is {MAX}", text.len());
            return Err(Error::new(Code::PayloadTooLarge, message).detail("limit_bytes", MAX));
        }
        if text.trim().is_empty() {
            return Err(Error::new(Code::InvalidArgument, "the text is blank"));
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(Error::new(Code::InvalidArgument, "the text holds a control character"));
        }
        Ok(Self(text.into()))
    }
}

impl<const MAX: usize> fmt::Display for Checked<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> fmt::Debug for Checked<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Checked<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|e: Error| de::Error::custom(e.message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_long_and_hidden_text_is_refused() {
        assert_eq!("a\nb".parse::<Title>().unwrap().as_str(), "a\nb");
        for bad in ["", "  \n", "a\0", "a\u{1b}[31m", "a\u{7f}"] {
            assert_eq!(bad.parse::<Title>().unwrap_err().code(), Code::InvalidArgument, "{bad:?}");
        }
        assert_eq!("é".repeat(121).parse::<Title>().unwrap_err().code(), Code::PayloadTooLarge);
    }
}
