//! Owns the beginning of another life of a ledger, for all its Goals at once, within a transaction.
//!
//! Knows nothing of why: a repair, or whatever else puts an earlier state in the place of a later one, calls it last.
//! Invariant: in the life that begins no ownership of an earlier one is live, and no Turn of one goes on by itself.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    clock::{self, Reading},
    ledger::{Meta, StoredReceipt, TurnFilter, Tx},
    own::{self, Asked, OwnEvent},
    random,
    submit::{decide, terms},
};
use crate::{
    error::Result,
    kernel::{Command, GoalCommand, Input, Minted, Terms},
    model::{
        Actor, Assurance, Digest, Expected, GoalId, IncarnationId, Operation, Provenance, ShortText,
        Timestamp, uuid_v7,
    },
};

/// How many Goals are listed at once.
const STEP: usize = 256;

/// Why another life begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A damaged part was taken out.
    Repair,
    /// A backup was put in its place.
    Restore,
}

/// Where a chain of the life before ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Whose; none for the ledger's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_id: Option<GoalId>,
    /// The last event that is kept; 0 for none.
    pub kept: u64,
    /// The last event that the life before knew of.
    pub had: u64,
}

/// A life that is about to begin.
#[derive(Debug)]
pub(super) struct Birth<'b> {
    /// Who asks, by which operation.
    pub(super) asked: &'b Asked,
    /// The digest of what is asked.
    pub(super) digest: Digest,
    /// Why.
    pub(super) cause: Cause,
    /// Where the life before was cut.
    pub(super) cuts: Vec<Cut>,
    /// Where what was cut is kept.
    pub(super) archive: Option<ShortText>,
}

/// Begins another life of a ledger whose rows and chains stand as they shall be; `meta` is that of the life before.
///
/// The ledger's own chain says it first; then each Goal with a live Turn says that those are unresolved, under an
/// operation named after the new life. The receipts of what was cut away must say so by then: see [`StoredReceipt::cut`].
pub(super) fn begin(
    tx: &mut dyn Tx,
    birth: Birth<'_>,
    meta: &Meta,
    reading: &Reading,
) -> Result<StoredReceipt> {
    let Birth { asked, digest, cause, cuts, archive } = birth;
    let wall = Timestamp::from_ms(reading.wall_ms);
    let incarnation = IncarnationId::from_bytes(uuid_v7(wall, random::bytes()?));
    let parent = meta.incarnation;
    let stamp = clock::advance(&meta.stamp, reading);
    let outcome = json!({"incarnated": {
        "cause": cause, "parent": parent, "incarnation": incarnation, "cuts": cuts, "archive": archive,
    }});
    let event = OwnEvent::Incarnated { cause, parent, incarnation, cuts, archive };
    let receipt = own::store(tx, asked, digest, stamp.clone(), event, outcome)?;
    let terms = terms(&Meta { incarnation, ..meta.clone() }, &stamp, false);
    let mut after: Option<GoalId> = None;
    loop {
        let goals = tx.chains(after.as_ref(), STEP)?;
        let Some((last, _)) = goals.last() else { return Ok(receipt) };
        after = Some(last.clone());
        for (goal, _) in goals {
            lose(tx, goal, asked, &terms, Minted::new(random::bytes()?, wall), &stamp)?;
        }
    }
}

/// Lets a Goal know that its live Turns are of an earlier life; one that has none is left as it is.
fn lose(
    tx: &mut dyn Tx,
    goal: GoalId,
    asked: &Asked,
    terms: &Terms,
    minted: Minted,
    stamp: &clock::Stamp,
) -> Result<()> {
    let live = TurnFilter { goal: &goal, todo: None, agent: None, live: true };
    if tx.turns(&live, None, 1)?.is_empty() {
        return Ok(());
    }
    let operation = Operation {
        operation_id: format!("{}/{goal}", terms.incarnation).parse()?,
        actor: Actor::System,
        provenance: Provenance { door: asked.provenance.door, assurance: Assurance::Stated, contained: None },
        goal_id: goal,
        command: Input::Command(Command::Goal(GoalCommand::Incarnate)),
        expected: Expected::default(),
    };
    let digest = operation.digest()?;
    decide(tx, &operation, digest, terms.clone(), minted, stamp.clone(), &mut |_| Ok(())).map(drop)
}
