//! Owns identifiers: their forms, and the only ways to make one.
//!
//! Knows nothing of what they name. Two shapes exist: text ids a person chooses, and minted ids, a prefix and a
//! UUIDv7 in Crockford's base32. Source: the kernel's table of identifiers.

use std::{borrow::Borrow, fmt, str::FromStr};

use super::{
    Digest, Timestamp,
    text::{parsed_text, string_serde},
};
use crate::error::{Code, Error, echo};

/// The longest operation id.
const OPERATION_ID_MAX_BYTES: usize = 128;

fn invalid(what: &str, text: &str) -> Error {
    Error::new(Code::InvalidId, format!("`{}` is not a well-formed {what}", echo(text)))
        .detail("expected", what)
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:expr, $first:expr, $rest:expr) => {
        parsed_text! {
            $(#[$doc])*
            $name
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let first: fn(u8) -> bool = $first;
                let rest: fn(u8) -> bool = $rest;
                match text.as_bytes() {
                    [head, tail @ ..] if text.len() <= $max && first(*head) && tail.iter().all(|b| rest(*b)) => {
                        Ok(Self(text.into()))
                    }
                    _ => Err(invalid($what, text)),
                }
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

fn slug(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

fn name_rest(b: u8) -> bool {
    slug(b) || matches!(b, b'_' | b'.' | b'-')
}

text_id! {
    /// A Goal, unique in its authority: `[a-z0-9][a-z0-9-]{0,47}`.
    GoalId, "goal id", 48, slug, |b| slug(b) || b == b'-'
}
text_id! {
    /// An agent, unique in its Goal: `[a-z][a-z0-9_.-]{0,59}`. An identity, not a rank.
    AgentId, "agent id", 60, |b| b.is_ascii_lowercase(), name_rest
}
text_id! {
    /// Who executes for an agent: `[a-z][a-z0-9_.-]{0,63}`; never equal to the agent it serves.
    EndpointId, "endpoint id", 64, |b| b.is_ascii_lowercase(), name_rest
}
text_id! {
    /// The caller's own idempotency key: 1–128 printable ASCII characters, no space.
    OperationId, "operation id", OPERATION_ID_MAX_BYTES, |b| b.is_ascii_graphic(), |b| b.is_ascii_graphic()
}
text_id! {
    /// What names an outside effect in its Goal and at its provider, or what such an effect touches: 1–128 printable ASCII
    /// characters, no space.
    EffectKey, "effect key", 128, |b| b.is_ascii_graphic(), |b| b.is_ascii_graphic()
}
text_id! {
    /// One machine: 1–64 lower-case hexadecimal digits.
    MachineId, "machine id", 64, |b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase(), |b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()
}

impl AgentId {
    /// The endpoint of an agent that names none: `<id>.cli`.
    pub fn default_endpoint(&self) -> EndpointId {
        // 60 + 4 bytes: always within an endpoint's 64.
        EndpointId(format!("{}.cli", self.0).into())
    }
}

impl OperationId {
    /// The id of one step of a verb that commits several times: `<id>/<step>`.
    ///
    /// Where the whole would be over 128 bytes the digest of the id stands for it: every id that a caller may give
    /// has all its steps. Source: the kernel's rule for verbs of several commits.
    pub fn step(&self, step: &str) -> Result<Self, Error> {
        let whole = format!("{}/{step}", self.0);
        if whole.len() <= OPERATION_ID_MAX_BYTES {
            return whole.parse();
        }
        format!("{}/{step}", Digest::of(self.0.as_bytes())).parse()
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The value of a digit of the alphabet, which leaves out i, l, o and u.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'h' => Some(byte - b'a' + 10),
        b'j' | b'k' => Some(byte - b'j' + 18),
        b'm' | b'n' => Some(byte - b'm' + 20),
        b'p'..=b't' => Some(byte - b'p' + 22),
        b'v'..=b'z' => Some(byte - b'v' + 27),
        _ => None,
    }
}

fn encode(bytes: [u8; 16]) -> [u8; 26] {
    let mut value = u128::from_be_bytes(bytes);
    let mut out = [b'0'; 26];
    for slot in out.iter_mut().rev() {
        let digit = usize::try_from(value & 31).unwrap_or_default();
        *slot = ALPHABET.get(digit).copied().unwrap_or(b'0');
        value >>= 5;
    }
    out
}

fn decode(text: &str) -> Option<[u8; 16]> {
    if text.len() != 26 {
        return None;
    }
    let mut value: u128 = 0;
    for (i, b) in text.bytes().enumerate() {
        let digit = digit(b)?;
        if i == 0 && digit > 7 {
            return None;
        }
        value = (value << 5) | u128::from(digit);
    }
    Some(value.to_be_bytes())
}

/// Lays out a UUIDv7: 48 bits of milliseconds, the version, and 74 given random bits (RFC 9562).
pub(crate) fn uuid_v7(at: Timestamp, random: [u8; 16]) -> [u8; 16] {
    let ms = u64::try_from(at.as_ms()).unwrap_or_default().to_be_bytes();
    let mut id = random;
    if let (Some(head), Some(low)) = (id.get_mut(..6), ms.get(2..)) {
        head.copy_from_slice(low);
    }
    id[6] = (id[6] & 0x0f) | 0x70;
    id[8] = (id[8] & 0x3f) | 0x80;
    id
}

macro_rules! minted_id {
    ($($(#[$doc:meta])* $name:ident $prefix:literal $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;

            /// Makes the id from an already laid out UUIDv7.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The UUID's bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                text.strip_prefix($prefix).and_then(decode).map(Self).ok_or_else(|| invalid($what, text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                f.write_str(std::str::from_utf8(&encode(self.0)).map_err(|_| fmt::Error)?)
            }
        }

        string_serde!($name);
    )*};
}

minted_id! {
    /// The tenant: Goals are unique in it, and machines that share a Goal share it.
    AuthorityId "aut_" "authority id";
    /// The local identity of a profile on one machine; never the authority.
    ProfileId "prf_" "profile id";
    /// One life of a Goal's slug, minted at its start.
    GoalInstance "gin_" "goal instance";
    /// The life of one copy of a ledger.
    IncarnationId "inc_" "incarnation id";
    /// One ownership: the token that an owner presents.
    OwnId "own_" "ownership id";
    /// One governed attempt.
    TurnId "trn_" "turn id";
    /// One gate.
    GateId "gate_" "gate id";
    /// One piece of evidence.
    EvidenceId "evd_" "evidence id";
    /// One change outside LoopX.
    EffectId "eff_" "effect id";
    /// One command that waits for a person.
    ProposalId "prp_" "proposal id";
    /// One judgement of a run or a way of working.
    RewardId "rwd_" "reward id";
    /// What a person saw of one thing.
    SightingId "see_" "sighting id";
    /// One result that a peer gave to its coordinator.
    ReturnId "ret_" "return id";
    /// One accepted handoff.
    HandoffId "hnd_" "handoff id";
    /// One entry of a session's queue.
    EntryId "ent_" "entry id";
    /// One token that proves an actor.
    TokenId "tok_" "token id";
}

/// A Todo: its Goal and its number there, written `<goal>.<n>`. Numbers are never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TodoId {
    goal: GoalId,
    number: u32,
}

impl TodoId {
    /// Names the `number`-th Todo of a Goal.
    pub const fn new(goal: GoalId, number: u32) -> Self {
        Self { goal, number }
    }

    /// The Goal.
    pub const fn goal(&self) -> &GoalId {
        &self.goal
    }

    /// The number in the Goal, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }
}

impl FromStr for TodoId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || invalid("todo id", text);
        let (goal, number) = text.rsplit_once('.').ok_or_else(bad)?;
        // One spelling a number: no sign, no leading zero.
        if !number.bytes().all(|b| b.is_ascii_digit()) || number.starts_with('0') {
            return Err(bad());
        }
        let number = number.parse().map_err(|_| bad())?;
        Ok(Self { goal: goal.parse().map_err(|_| bad())?, number })
    }
}

impl fmt::Display for TodoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.goal, self.number)
    }
}

string_serde!(TodoId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digit_is_read_as_it_is_written() {
        let read: Vec<_> = (0..=u8::MAX).filter_map(|byte| Some((digit(byte)?, byte))).collect();
        let written: Vec<_> = ALPHABET.iter().zip(0..).map(|(byte, value)| (value, *byte)).collect();
        assert_eq!(read, written);
    }

    #[test]
    fn regress_every_operation_id_has_all_its_steps() {
        let short: OperationId = "op".parse().unwrap();
        assert_eq!(short.step("verdict.1.1").unwrap().as_str(), "op/verdict.1.1");
        let [one, two]: [OperationId; 2] = ["a", "b"].map(|c| c.repeat(128).parse().unwrap());
        for step in ["admit", "verdict.3.2+999", "renew.3.4294967295"] {
            let id = one.step(step).unwrap();
            assert!(id.as_str().ends_with(step) && id.as_str().len() <= 128);
            assert_ne!(id, two.step(step).unwrap());
        }
    }

    #[test]
    fn text_ids_take_their_form_and_nothing_else() {
        for good in ["a", "0", "a-b", &"x".repeat(48)] {
            assert_eq!(good.parse::<GoalId>().unwrap().as_str(), good);
        }
        for bad in ["", " ", "-a", "A", "a b", "a\0", "ü", "a.b", &"x".repeat(49), " a", "a\n"] {
            assert_eq!(bad.parse::<GoalId>().unwrap_err().code(), Code::InvalidId, "{bad:?}");
        }
        for bad in ["", "1a", ".a", "A", "a@b", &"x".repeat(61)] {
            assert_eq!(bad.parse::<AgentId>().unwrap_err().code(), Code::InvalidId, "{bad:?}");
        }
        assert!("x".repeat(60).parse::<AgentId>().unwrap().default_endpoint().as_str().len() == 64);
        for bad in ["", " ", "a b", "a\0b", "é", &"x".repeat(129)] {
            assert_eq!(bad.parse::<OperationId>().unwrap_err().code(), Code::InvalidId, "{bad:?}");
        }
    }

    #[test]
    fn todo_ids_have_one_spelling() {
        let id: TodoId = "my-goal.17".parse().unwrap();
        assert_eq!((id.goal().as_str(), id.number(), id.to_string().as_str()), ("my-goal", 17, "my-goal.17"));
        for bad in ["", "g", "g.", "g.0", "g.01", "g.+1", "g.-1", "g.1.", ".1", "G.1", "g.4294967296", "g.1 "]
        {
            assert_eq!(bad.parse::<TodoId>().unwrap_err().code(), Code::InvalidId, "{bad:?}");
        }
    }

    #[test]
    fn minted_ids_round_trip_and_sort_by_time() {
        let early = TurnId::from_bytes(uuid_v7(Timestamp::from_ms(1), [0xff; 16]));
        let late = TurnId::from_bytes(uuid_v7(Timestamp::from_ms(2), [0; 16]));
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(early.to_string().parse::<TurnId>().unwrap(), early);
        assert_eq!(early.to_string().len(), 4 + 26);
        for bad in [
            "",
            "trn_",
            "own_00000000000000000000000000",
            "trn_z0000000000000000000000000",
            "trn_0000000000000000000000000",
        ] {
            assert_eq!(bad.parse::<TurnId>().unwrap_err().code(), Code::InvalidId, "{bad:?}");
        }
    }
}
