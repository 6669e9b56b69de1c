//! Owns recording that whoever waits for a Turn wants it to end: as the wish of that person, not of the agent at work.
//!
//! Knows no rule; what a wish does the kernel says.

use super::{
    commits::Commit,
    site::{Around, Site},
    watch::Watcher,
};
use crate::{
    error::{Code, Result},
    kernel::{Command, TurnCommand},
    model::{OperationId, Receipt},
};

/// Why, as the history has it.
const WHY: &str = "interrupted";

/// Records the wish that a Turn ends: of whoever watches it, where that is known and may; else of its executor.
///
/// Errors: those of `turn stop`; `store_*`.
pub(super) fn record(
    site: &mut Site<'_>,
    base: &OperationId,
    around: &Around,
    watcher: &dyn Watcher,
) -> Result<Receipt> {
    let turn_id = around.turn.turn_id;
    let id = Commit::Stop.of(base)?;
    if let Some((actor, provenance)) = watcher.caller().filter(|_| watcher.wants_stop()) {
        let own_id = actor.agent().map(|_| around.turn.own_id);
        let wish = TurnCommand::Stop { turn_id, own_id, reason: Some(WHY.parse()?) };
        let mut operation = around.step(id.clone(), Command::Turn(wish));
        (operation.actor, operation.provenance) = (actor, provenance);
        match site.authority.submit(operation) {
            // Who may not say so without a proof, or for another agent, stops what it drives all the same.
            Err(error) if matches!(error.code(), Code::Unauthenticated | Code::ActorNotAllowed) => {}
            submitted => return submitted,
        }
    }
    let wish = TurnCommand::Stop { turn_id, own_id: Some(around.turn.own_id), reason: None };
    site.authority.submit(around.step(id, Command::Turn(wish)))
}
