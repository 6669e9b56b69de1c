//! Owns the basis of a packet: whose it is, under which revisions, and the print of each part; as one word to be carried.
//!
//! A basis is no secret and proves nothing of who presents it. It says what the caller holds; who says so falsely
//! misleads nobody but himself.

use std::{fmt, str::FromStr};

use super::{Packet, Part, Reason};
use crate::{
    error::{Code, Error, Result},
    model::{Digest, GoalInstance, IncarnationId, json_value},
};

/// What every basis starts with; its form follows, and then what it says.
const HEAD: &str = "wcb";
/// The form that this release writes. Another list of parts, or another way to print them, is another form.
const FORM: &str = "0";
/// The longest word that is looked at: a basis of any form.
pub const BASIS_MAX_BYTES: usize = 2048;
/// How much of a digest is enough to see by accident and on purpose that something has changed.
const PRINT_BYTES: usize = 16;
/// How much of a digest shows that a basis was carried whole.
const CHECK_BYTES: usize = 4;

type Print = [u8; PRINT_BYTES];

/// Whose a packet is, under which revisions, and what its parts come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    incarnation: IncarnationId,
    goal_instance: GoalInstance,
    agent: Print,
    todo: u32,
    generation: u64,
    goal_revision: u64,
    requirement_revision: u64,
    pub(super) digest: Digest,
    prints: [Print; Part::COUNT],
}

/// A basis as it was presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// One that this release can read.
    Known(Box<Basis>),
    /// One of another release.
    OtherForm,
}

impl Basis {
    /// The basis of a packet.
    ///
    /// Errors: `internal` for what JSON cannot hold.
    pub(super) fn of(packet: &Packet) -> Result<Self> {
        let envelope = &packet.envelope;
        let value = json_value(envelope)?;
        let mut prints = [Print::default(); Part::COUNT];
        for (slot, part) in prints.iter_mut().zip(Part::ALL) {
            *slot = print(&Digest::of_value(&value.get(part.name()))?);
        }
        Ok(Self {
            incarnation: packet.incarnation,
            goal_instance: envelope.goal_instance,
            agent: print(&Digest::of(envelope.agent_id.as_str().as_bytes())),
            todo: envelope.todo.todo_id.number(),
            generation: packet.generation,
            goal_revision: packet.goal_revision,
            requirement_revision: envelope.todo.requirement_revision,
            digest: Digest::of_value(&value)?,
            prints,
        })
    }

    /// The digest of the packet.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether a part has another content.
    pub(super) fn differs(&self, other: &Self, part: Part) -> bool {
        let of = |basis: &Self| Part::ALL.into_iter().zip(basis.prints).find(|(one, _)| *one == part);
        of(self) != of(other)
    }

    /// Why nothing may be built on this basis for the packet that `now` is of; none where nothing speaks against it.
    pub(super) fn meets(&self, now: &Self) -> Option<Reason> {
        let Self {
            incarnation,
            goal_instance,
            agent,
            todo,
            generation,
            goal_revision,
            requirement_revision,
            digest,
            prints,
        } = self;
        let rules = [
            (*incarnation != now.incarnation, Reason::Incarnation),
            (*goal_instance != now.goal_instance, Reason::Goal),
            (*agent != now.agent, Reason::Agent),
            (*todo != now.todo, Reason::Todo),
            (*generation != now.generation, Reason::Generation),
            (
                (*goal_revision, *requirement_revision) != (now.goal_revision, now.requirement_revision),
                Reason::Revised,
            ),
            ((*prints == now.prints) != (*digest == now.digest), Reason::UnknownDigest),
        ];
        rules.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.incarnation.as_bytes());
        bytes.extend(self.goal_instance.as_bytes());
        bytes.extend(self.agent);
        bytes.extend(self.todo.to_be_bytes());
        bytes.extend(self.generation.to_be_bytes());
        bytes.extend(self.goal_revision.to_be_bytes());
        bytes.extend(self.requirement_revision.to_be_bytes());
        bytes.extend(self.digest.as_bytes());
        bytes.extend(self.prints.as_flattened());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let basis = Self {
            incarnation: IncarnationId::from_bytes(take(&mut rest)?),
            goal_instance: GoalInstance::from_bytes(take(&mut rest)?),
            agent: take(&mut rest)?,
            todo: u32::from_be_bytes(take(&mut rest)?),
            generation: u64::from_be_bytes(take(&mut rest)?),
            goal_revision: u64::from_be_bytes(take(&mut rest)?),
            requirement_revision: u64::from_be_bytes(take(&mut rest)?),
            digest: Digest::from_bytes(take(&mut rest)?),
            prints: {
                let mut prints = [Print::default(); Part::COUNT];
                for slot in &mut prints {
                    *slot = take(&mut rest)?;
                }
                prints
            },
        };
        rest.is_empty().then_some(basis)
    }
}

fn print(digest: &Digest) -> Print {
    let mut print = Print::default();
    print.copy_from_slice(digest.as_bytes().split_at(PRINT_BYTES).0);
    print
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

/// What shows that a basis was carried whole.
fn check(bytes: &[u8]) -> Vec<u8> {
    Digest::of_parts(&[HEAD.as_bytes(), FORM.as_bytes(), bytes]).as_bytes()[..CHECK_BYTES].to_vec()
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEAD}{FORM}_")?;
        let bytes = self.bytes();
        bytes.iter().chain(&check(&bytes)).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Presented {
    type Err = Error;

    /// Errors: `invalid_argument` for what no release wrote: it was cut, or written by hand.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::new(
                Code::InvalidArgument,
                "this is no basis: it is the whole word that was printed with a work contract",
            )
        };
        let said = Some(text).filter(|text| text.len() <= BASIS_MAX_BYTES);
        let (form, said) = said.and_then(|text| text.strip_prefix(HEAD)?.split_once('_')).ok_or_else(bad)?;
        let is_form = !form.is_empty() && form.bytes().all(|byte| byte.is_ascii_digit());
        let digits = said.as_bytes();
        let is_plain = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        let is_padded = form.len() > 1 && form.starts_with('0');
        if !is_form || is_padded || said.is_empty() || !digits.iter().all(is_plain) {
            return Err(bad());
        }
        if form != FORM {
            return Ok(Self::OtherForm);
        }
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> =
            digits.chunks(2).map(|pair| byte(pair).filter(|_| pair.len() == 2)).collect();
        let bytes = bytes.ok_or_else(bad)?;
        let (bytes, shown) = bytes.split_at(bytes.len().saturating_sub(CHECK_BYTES));
        let basis = Basis::read(bytes).filter(|_| shown == check(bytes)).ok_or_else(bad)?;
        Ok(Self::Known(Box::new(basis)))
    }
}
