//! Owns a decision in the making: the facts, the events so far, and the ids it mints.
//!
//! `emit` applies an event at once, so that what follows in the same decision sees it.

use sha2::{Digest as _, Sha256};

use super::{
    Event,
    facts::{Facts, Writes},
    seeded,
};
use crate::{
    error::{Error, Result},
    model::{Actor, GoalId, Provenance, Timestamp, uuid_v7},
};

/// The source of new ids: the n-th is a UUIDv7 of `at` and SHA-256(seed, n), so that a test replays exactly.
#[derive(Debug, Clone)]
pub struct Minted {
    seed: [u8; 32],
    at: Timestamp,
    drawn: u64,
}

impl Minted {
    /// Starts from a seed and a moment drawn by the edge.
    pub const fn new(seed: [u8; 32], at: Timestamp) -> Self {
        Self { seed, at, drawn: 0 }
    }

    /// The bytes of the next id.
    pub fn draw(&mut self) -> [u8; 16] {
        let mut hasher = Sha256::new();
        hasher.update(self.seed);
        hasher.update(self.drawn.to_be_bytes());
        self.drawn += 1;
        let hash: [u8; 32] = hasher.finalize().into();
        let mut random = [0; 16];
        for (slot, byte) in random.iter_mut().zip(hash) {
            *slot = byte;
        }
        uuid_v7(self.at, random)
    }
}

/// Under what an event is applied.
#[derive(Debug, Clone)]
pub struct Context {
    /// The Goal that is written.
    pub goal_id: GoalId,
    /// Who asked.
    pub actor: Actor,
    /// When.
    pub at: Timestamp,
}

/// A decision in the making.
#[derive(Debug)]
pub(super) struct Draft<'m> {
    facts: Facts,
    context: Context,
    provenance: Provenance,
    minted: &'m mut Minted,
    events: Vec<Event>,
}

impl<'m> Draft<'m> {
    /// Starts from facts.
    pub(super) fn new(
        facts: Facts,
        goal_id: GoalId,
        actor: Actor,
        provenance: Provenance,
        minted: &'m mut Minted,
    ) -> Self {
        let context = Context { goal_id, actor, at: facts.now() };
        Self { facts, context, provenance, minted, events: Vec::new() }
    }

    /// The facts, with every event so far applied.
    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The Goal that is written.
    pub(super) fn goal_id(&self) -> &GoalId {
        &self.context.goal_id
    }

    /// Who asks.
    pub(super) fn actor(&self) -> &Actor {
        &self.context.actor
    }

    /// Through which door, how surely.
    pub(super) fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The moment of the commit.
    pub(super) fn now(&self) -> Timestamp {
        self.context.at
    }

    /// The bytes of a new id.
    pub(super) fn mint(&mut self) -> [u8; 16] {
        self.minted.draw()
    }

    /// Records an event, and applies it at once.
    pub(super) fn emit(&mut self, event: impl Into<Event>) -> Result<(), Error> {
        let event = event.into();
        event.apply(&self.context, &mut self.facts)?;
        self.events.push(event);
        Ok(())
    }

    /// The events, and what has to be written.
    pub(super) fn finish(mut self) -> (Vec<Event>, Writes) {
        if seeded!(LosesEvents) {
            self.events.pop();
        }
        (self.events, self.facts.into_writes())
    }
}
