//! Owns why a host's output is no result: the class that the Turn's table knows, and a reason a person can act on.
//!
//! Knows nothing of how the host was run.

use std::fmt;

use crate::{
    boundary::{Credential, Private},
    model::HostFailure,
};

/// A host whose output cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The class, which decides what becomes of the Turn.
    pub class: HostFailure,
    /// The reason. Invariant: of the host it holds at most the name of a key, never a value.
    pub reason: Reason,
    /// What the reader said, which may quote the host.
    pub internal: Option<Private<String>>,
}

impl Failure {
    pub(super) fn new(class: HostFailure, reason: Reason) -> Self {
        Self { class, reason, internal: None }
    }

    pub(super) fn invalid(reason: Reason) -> Self {
        Self::new(HostFailure::ResultInvalid, reason)
    }

    pub(super) fn because(mut self, internal: &dyn fmt::Display) -> Self {
        self.internal = Some(Private::new(internal.to_string()));
        self
    }
}

/// Why an output is no result; fields are the wire's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// There is no output.
    Empty,
    /// There are more bytes than a result may have.
    TooLarge,
    /// It is not exactly one JSON object.
    NotOneObject,
    /// Something in it is not the wire's, and no key of its own is to blame: a key inside a value that is given twice.
    Malformed,
    /// It has a key that nobody reads; named where it is a plain word.
    Unknown(Option<String>),
    /// This key is given twice.
    Twice(&'static str),
    /// What this key has is not what it has to be.
    NotA(&'static str, &'static str),
    /// This required key is missing.
    Missing(&'static str),
    /// It names another schema version.
    OtherVersion,
    /// It names another Turn.
    OtherTurn,
    /// This text is longer than its limit.
    TooLong(&'static str),
    /// This list has more items than its limit.
    TooMany(&'static str),
    /// This field contradicts itself or another.
    Inconsistent(&'static str),
    /// This field holds a credential.
    Credential(&'static str, Credential),
    /// A key or value of a reported failure is not the wire's.
    MalformedReport,
    /// An adapter reported this failure of its inner program.
    Reported(HostFailure),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the host printed no result"),
            Self::TooLarge => f.write_str("the result is larger than its limit"),
            Self::NotOneObject => f.write_str("the output is not exactly one JSON object"),
            Self::Malformed => f.write_str("a key or value of the result is not the wire's"),
            Self::Unknown(Some(key)) => write!(f, "the result has a key nobody reads: {key}"),
            Self::Unknown(None) => f.write_str("the result has a key nobody reads"),
            Self::Twice(key) => write!(f, "the result has {key} twice"),
            Self::NotA(key, rule) => write!(f, "{key} is not {rule}"),
            Self::Missing(key) => write!(f, "the result has no {key}"),
            Self::OtherVersion => f.write_str("the result has another schema version"),
            Self::OtherTurn => f.write_str("the result names another Turn"),
            Self::TooLong(field) => write!(f, "{field} is longer than its limit"),
            Self::TooMany(field) => write!(f, "{field} has more items than its limit"),
            Self::Inconsistent(field) => write!(f, "{field} contradicts itself or another field"),
            Self::MalformedReport => f.write_str("a key or value of the reported failure is not the wire's"),
            Self::Reported(class) => write!(f, "the host reported {}", class.as_str()),
            Self::Credential(field, kind) => write!(f, "{field} holds a credential ({kind})"),
        }
    }
}
