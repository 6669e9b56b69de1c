//! Owns what the nouns beside a Goal's plan have in common: a key, a Goal, perhaps a Todo, and whether they are open.
//!
//! Knows nothing of what each says or when it moves. A ledger keeps them all in one table, found by these alone.

use serde::Serialize;

use super::{
    Effect, EffectId, GoalId, Handoff, HandoffId, PeerReturn, Proposal, ProposalId, ReturnId, Reward,
    RewardId, Sighting, SightingId, TodoId,
};
use crate::error::Result;

/// Where a noun is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NounKey {
    /// What it is.
    pub kind: NounKind,
    /// The bytes of its id.
    pub id: [u8; 16],
}

/// A noun of one kind, as typed code holds it.
pub trait OneNoun: Sized {
    /// The kind.
    const KIND: NounKind;

    /// The noun, if it is of this kind.
    fn of(noun: &Noun) -> Option<&Self>;

    /// The noun to be changed, if it is of this kind.
    fn of_mut(noun: &mut Noun) -> Option<&mut Self>;

    /// As any noun.
    fn into_noun(self) -> Noun;
}

macro_rules! nouns {
    ($($(#[$doc:meta])* $Row:ident $Id:ident $text:literal { $id:ident, open: $open:expr, name: $name:expr };)*) => {
        /// What a noun beside a Goal's plan is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NounKind { $($(#[$doc])* $Row,)* }

        impl NounKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$Row,)*];

            /// The stable spelling.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$Row => $text,)* }
            }

            /// What the ids of this kind start with.
            pub const fn prefix(self) -> &'static str {
                match self { $(Self::$Row => $Id::PREFIX,)* }
            }

            /// The bytes of an id of this kind.
            ///
            /// Errors: `invalid_id`.
            pub fn parse(self, text: &str) -> Result<[u8; 16]> {
                match self { $(Self::$Row => text.parse::<$Id>().map(|id| *id.as_bytes()),)* }
            }

            /// An id of this kind.
            pub fn id(self, bytes: [u8; 16]) -> String {
                match self { $(Self::$Row => $Id::from_bytes(bytes).to_string(),)* }
            }
        }

        /// A noun beside a Goal's plan.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Noun { $($(#[$doc])* $Row(Box<$Row>),)* }

        impl Noun {
            /// Where it is found.
            pub const fn key(&self) -> NounKey {
                match self { $(Self::$Row(row) => NounKey { kind: NounKind::$Row, id: *row.$id.as_bytes() },)* }
            }

            /// The Goal it belongs to.
            pub const fn goal_id(&self) -> &GoalId {
                match self { $(Self::$Row(row) => &row.goal_id,)* }
            }

            /// The Todo it is about, if it is about one.
            pub fn todo_id(&self) -> Option<&TodoId> {
                match self { $(Self::$Row(row) => Option::from(&row.todo_id),)* }
            }

            /// What names it among those of its kind in its Goal, where something beside its id does.
            pub fn name(&self) -> Option<&str> {
                match self { $(Self::$Row(row) => { let name: fn(&$Row) -> Option<&str> = $name; name(row) })* }
            }

            /// Whether it still waits for something.
            pub fn is_open(&self) -> bool {
                match self { $(Self::$Row(row) => { let open: fn(&$Row) -> bool = $open; open(row) })* }
            }

            /// Reads what a ledger stored.
            pub fn decode(kind: NounKind, body: &str) -> serde_json::Result<Self> {
                match kind { $(NounKind::$Row => serde_json::from_str(body).map(Self::$Row),)* }
            }
        }

        $(impl OneNoun for $Row {
            const KIND: NounKind = NounKind::$Row;

            fn of(noun: &Noun) -> Option<&Self> {
                #[allow(irrefutable_let_patterns, reason = "there may be one kind alone")]
                if let Noun::$Row(row) = noun { Some(row) } else { None }
            }

            fn of_mut(noun: &mut Noun) -> Option<&mut Self> {
                #[allow(irrefutable_let_patterns, reason = "there may be one kind alone")]
                if let Noun::$Row(row) = noun { Some(row) } else { None }
            }

            fn into_noun(self) -> Noun {
                Noun::$Row(Box::new(self))
            }
        })*
    };
}

nouns! {
    /// A change outside LoopX.
    Effect EffectId "effect" { effect_id, open: Effect::is_open, name: |effect| Some(effect.key.as_str()) };
    /// A person's judgement of a run or a way of working.
    Reward RewardId "reward" { reward_id, open: |_| false, name: |_| None };
    /// A command that waits for a person's word.
    Proposal ProposalId "proposal" { proposal_id, open: Proposal::is_open, name: |_| None };
    /// That a person saw something as it stood.
    Sighting SightingId "sighting" { sighting_id, open: |_| false, name: |_| None };
    /// A result that a peer gave to its coordinator.
    PeerReturn ReturnId "peer" { return_id, open: PeerReturn::is_open, name: |_| None };
    /// A handoff that was accepted.
    Handoff HandoffId "handoff" { handoff_id, open: |_| false, name: |_| None };
}
