//! Owns the gate: a question that waits for a person.
//!
//! Knows nothing of what a gate stops; the kernel enforces it at claim and at settlement.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Actor, GateId, GoalId, Label, ScopePath, ShortText, Timestamp, TodoId, TurnId};
use crate::error::{Code, Error};

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Its id.
    pub gate_id: GateId,
    /// The Goal.
    pub goal_id: GoalId,
    /// What sort of question it is.
    pub kind: GateKind,
    /// The question.
    pub question: ShortText,
    /// What may be answered, if the answer is a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Label>,
    /// What it stops.
    pub blocks: Blocks,
    /// What an approval covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Key>,
    /// Whether an approval goes on to cover later work, until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing_until: Option<Timestamp>,
    /// The Turn whose completion it accepts, if it is an acceptance gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<TurnId>,
    /// Who opened it.
    pub opened_by: Actor,
    /// When.
    pub opened_at: Timestamp,
    /// Where it stands.
    pub state: GateState,
    /// Moves with every write of this row.
    pub revision: u64,
}

impl Gate {
    /// Whether it stops what it names: open, deferred or denied. A result that was not accepted is repaired; that
    /// denial stops nothing further.
    pub const fn is_blocking(&self) -> bool {
        match self.state {
            GateState::Open | GateState::Deferred { .. } => true,
            GateState::Denied { .. } => self.accepts.is_none(),
            GateState::Approved { .. } | GateState::Answered { .. } | GateState::Withdrawn { .. } => false,
        }
    }
}

/// What sort of question a gate asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Which way to go.
    Decision,
    /// Whether something may be done.
    Approval,
    /// A secret a person has to supply, elsewhere.
    Credential,
    /// An access a person has to grant, elsewhere.
    Access,
    /// Whether something may be made public.
    Publication,
    /// What is wanted.
    Direction,
}

impl GateKind {
    /// Whether it is approved or denied, rather than answered.
    pub const fn is_approval(self) -> bool {
        match self {
            Self::Approval | Self::Credential | Self::Access | Self::Publication => true,
            Self::Decision | Self::Direction => false,
        }
    }

    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Approval => "approval",
            Self::Credential => "credential",
            Self::Access => "access",
            Self::Publication => "publication",
            Self::Direction => "direction",
        }
    }
}

/// What a gate stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Blocks {
    /// The whole Goal.
    Goal,
    /// These Todos.
    Todos(BTreeSet<TodoId>),
}

/// Where a gate stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GateState {
    /// Nobody answered.
    Open,
    /// A person will come back to it.
    Deferred {
        /// Not before then.
        until: Timestamp,
    },
    /// Yes.
    Approved {
        /// Who said so.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// No.
    Denied {
        /// Who said so.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// Answered in words.
    Answered {
        /// Who did.
        by: Actor,
        /// When.
        at: Timestamp,
        /// The answer.
        answer: ShortText,
    },
    /// Taken back.
    Withdrawn {
        /// Who did.
        by: Actor,
        /// When.
        at: Timestamp,
    },
}

impl GateState {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Deferred { .. } => "deferred",
            Self::Approved { .. } => "approved",
            Self::Denied { .. } => "denied",
            Self::Answered { .. } => "answered",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }
}

/// A person's answer to a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// Yes.
    Approve,
    /// No.
    Deny {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// In words.
    Answer {
        /// The words; one of the options, if there are any.
        text: ShortText,
    },
    /// Later.
    Defer {
        /// Not before then.
        until: Timestamp,
    },
}

/// What an approval can cover: `capability:<k>`, `path:<prefix>`, `effect:<class>` or `publish`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The use of a capability.
    Capability(Label),
    /// Writing below a path.
    Path(ScopePath),
    /// A class of outside effects.
    Effect(Label),
    /// Making something public.
    Publish,
}

impl Key {
    /// Whether an approval, or a need, for one is one for the other.
    pub fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(a), Self::Path(b)) => a.overlaps(b),
            (Self::Path(_) | Self::Capability(_) | Self::Effect(_) | Self::Publish, _) => self == other,
        }
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::new(
                Code::InvalidArgument,
                "an approval key is capability:<k>, path:<prefix>, effect:<class> or publish",
            )
        };
        match text.split_once(':') {
            None if text == "publish" => Ok(Self::Publish),
            Some(("capability", rest)) => Ok(Self::Capability(rest.parse()?)),
            Some(("path", rest)) => Ok(Self::Path(rest.parse()?)),
            Some(("effect", rest)) => Ok(Self::Effect(rest.parse()?)),
            Some(_) | None => Err(bad()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(name) => write!(f, "capability:{name}"),
            Self::Path(path) => write!(f, "path:{path}"),
            Self::Effect(class) => write!(f, "effect:{class}"),
            Self::Publish => f.write_str("publish"),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|e: Error| de::Error::custom(e.message()))
    }
}
