//! Owns who acts: actors, how sure LoopX is of them, and the door they came through.
//!
//! Knows nothing of what each may do; the kernel's actor table decides that.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{AgentId, EndpointId, Label, TurnId};
use crate::error::{Code, Error, echo};

/// Who a write is attributed to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// A person: `user:<name>`.
    User(UserName),
    /// An agent through one endpoint: `agent:<id>@<endpoint>`.
    Agent(AgentId, EndpointId),
    /// A host program on its own account: `host:<endpoint>`.
    Host(EndpointId),
    /// LoopX itself: proved recovery, lapse, wake, derived obligations.
    System,
}

/// A person's name: `[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserName(Box<str>);

impl FromStr for UserName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        match text.as_bytes() {
            [first, rest @ ..]
                if (first.is_ascii_alphanumeric() || *first == b'_')
                    && rest.len() < 64
                    && rest.iter().all(|b| ok(*b)) =>
            {
                Ok(Self(text.into()))
            }
            _ => Err(()),
        }
    }
}

impl Actor {
    /// The agent, if this is one.
    pub fn agent(&self) -> Option<(&AgentId, &EndpointId)> {
        match self {
            Self::Agent(agent, endpoint) => Some((agent, endpoint)),
            Self::User(_) | Self::Host(_) | Self::System => None,
        }
    }

    /// Whether this is a person.
    pub const fn is_user(&self) -> bool {
        matches!(self, Self::User(_))
    }
}

impl FromStr for Actor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::new(Code::InvalidArgument, format!("`{}` names no actor", echo(text)))
                .detail("expected", "user:<name>, agent:<id>[@<endpoint>], host:<endpoint> or system")
        };
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "user" => Ok(Self::User(name.parse().map_err(|()| bad())?)),
            "agent" => {
                let (agent, endpoint) = match name.split_once('@') {
                    Some((agent, endpoint)) => (agent, Some(endpoint)),
                    None => (name, None),
                };
                let agent: AgentId = agent.parse().map_err(|_| bad())?;
                let endpoint = match endpoint {
                    Some(endpoint) => endpoint.parse().map_err(|_| bad())?,
                    None => agent.default_endpoint(),
                };
                if endpoint.as_str() == agent.as_str() {
                    return Err(Error::new(
                        Code::InvalidArgument,
                        format!("the endpoint `{endpoint}` equals the agent it serves"),
                    ));
                }
                Ok(Self::Agent(agent, endpoint))
            }
            "host" => Ok(Self::Host(name.parse().map_err(|_| bad())?)),
            "system" if name.is_empty() && text == "system" => Ok(Self::System),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{}", name.0),
            Self::Agent(agent, endpoint) => write!(f, "agent:{agent}@{endpoint}"),
            Self::Host(endpoint) => write!(f, "host:{endpoint}"),
            Self::System => f.write_str("system"),
        }
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|e: Error| de::Error::custom(e.message()))
    }
}

impl fmt::Debug for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How sure LoopX is that the actor is who the operation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Said by the caller: `--as`, the environment, a login name.
    Stated,
    /// Shown by a typed yes on a terminal, or by a token.
    Proven,
}

/// The door an operation came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// The command line.
    Cli,
    /// The HTTP API.
    Http,
    /// The MCP server.
    Mcp,
    /// The driver of a Turn.
    Driver,
    /// A program that embeds LoopX.
    Library,
}

/// Where an operation came from; recorded with it, never digested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The door.
    pub door: Door,
    /// How sure LoopX is of the actor.
    pub assurance: Assurance,
    /// The Turn below whose guardian the caller runs, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contained: Option<TurnId>,
}

/// Where a wish first came up, so that its result can return there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The transport's name.
    pub transport: Label,
    /// The channel within it.
    pub channel: Label,
    /// The message within the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Label>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_have_one_spelling_and_parsing_is_closed() {
        for (text, back) in [
            ("user:ana", "user:ana"),
            ("agent:coder", "agent:coder@coder.cli"),
            ("agent:coder@mac.1", "agent:coder@mac.1"),
            ("host:mac.1", "host:mac.1"),
            ("system", "system"),
        ] {
            assert_eq!(text.parse::<Actor>().unwrap().to_string(), back);
        }
        for bad in [
            "",
            "ana",
            "user:",
            "user: ",
            "agent:",
            "agent:a@",
            "agent:a@b@c",
            "agent:A",
            "host:",
            "system:x",
            "system:",
            "root:x",
            "user:a b",
            "user:a\n",
        ] {
            assert_eq!(bad.parse::<Actor>().unwrap_err().code(), Code::InvalidArgument, "{bad:?}");
        }
        assert!("agent:coder@coder".parse::<Actor>().is_err(), "an endpoint never equals its agent");
    }
}
