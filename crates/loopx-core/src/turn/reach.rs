//! Owns which Turns a command meets: those in its way before it decides, and those it has freed once it is committed.
//!
//! Knows no rule: what a command may reach, the kernel tells. Nothing here starts anything.

use std::collections::BTreeSet;

use super::{
    attached::Done,
    prove::{live, minted_id, prove, try_prove, unless_plain_no, validator_lives},
    site::{Site, sweep, validator_token},
};
use crate::{
    authority::{Authority, TurnFilter, View},
    error::{Code, Result},
    kernel::{self, ClaimCommand, Command, Facts, Outcome, Read},
    model::{Actor, GoalId, Receipt, Turn, TurnId, TurnState, gathered},
};

/// The live Turns that a command finds in its way, and that a proof may lead out of it: of a claim, those of its Todo
/// and of its agent; of what takes a Todo away otherwise, the one that is driven. What an attached agent is at
/// work on is none of them: a claim ends it itself when it has lapsed.
///
/// Errors: `store_*`.
pub fn in_the_way(
    authority: &mut Authority,
    goal: &GoalId,
    command: &Command,
    actor: &Actor,
) -> Result<Vec<Turn>> {
    let everybodys = TurnFilter { goal, todo: None, agent: None, live: true };
    let Command::Claim(ClaimCommand::Claim(claim)) = command else {
        let Some(todo) = command.takes_away() else { return Ok(Vec::new()) };
        let of_todo = TurnFilter { todo: Some(todo), ..everybodys };
        let terms = authority.present()?;
        return authority.read(|view| {
            let mut facts = Facts::new(terms.clone());
            view.load(&[Read::Todo(todo.clone())].into(), &mut facts)?;
            let own = facts.todo(todo)?.and_then(|todo| todo.ownership.as_ref());
            // While its time lasts, the rule refuses.
            if own.is_some_and(|own| !facts.is_expired(own)) {
                return Ok(Vec::new());
            }
            let found = view.turns(&of_todo, None, 1)?;
            Ok(found.into_iter().filter(Turn::is_driven).collect())
        });
    };
    let of_todo = TurnFilter { todo: Some(&claim.todo_id), ..everybodys.clone() };
    let own = actor.agent().map(|(agent, _)| TurnFilter { agent: Some(agent), ..everybodys.clone() });
    let mut found = authority.read_first(|view| {
        let mut found = view.turns(&of_todo, None, 1)?;
        if let Some(own) = &own {
            found.extend(
                view.turns(own, None, 256)?.into_iter().filter(|turn| turn.todo_id() != Some(&claim.todo_id)),
            );
        }
        Ok(found)
    })?;
    found.retain(|turn| {
        turn.is_driven()
            || matches!(
                turn.state,
                TurnState::Candidate | TurnState::Held { .. } | TurnState::Unresolved { .. }
            )
    });
    Ok(found)
}

/// Proves what can be proved of Turns, before a command decides.
///
/// Errors: `executor_active` where the time of a Turn is over while its driver lives here, or what it started cannot be
/// ended: nobody takes over from what may be at work; `store_*`. What else cannot be proved stays as it is.
pub fn prove_each(site: &mut Site<'_>, turns: &[Turn]) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    for turn in turns {
        let is_here = turn.machine_id.as_ref() == Some(&site.machine.machine_id);
        if is_here && turn.is_driven() && site.around(turn.turn_id)?.has_expired() {
            match prove(site, turn.turn_id, &minted_id()?) {
                Err(error) if error.code() == Code::ExecutorActive => {
                    return Err(error.hint(format!("turn stop {}", turn.turn_id)));
                }
                proved => done.extend(unless_plain_no(proved)?),
            }
            continue;
        }
        // Past its time an attached result is anybody's to give up; what proved it goes first.
        if matches!(turn.state, TurnState::Candidate) && site.around(turn.turn_id)?.has_expired() {
            let is_swept = sweep(&validator_token(turn.turn_id)?, None)?;
            if !is_swept {
                return Err(validator_lives(turn.turn_id));
            }
        }
        done.extend(try_prove(site, turn)?);
    }
    Ok(done)
}

/// Settles the held Turns that a write has freed, after its commit: those of its Goal that nothing holds any more, and
/// those of any Goal that wait for the work tree of the Turn it moved.
///
/// Errors: `store_*`. What cannot be proved stays as it is.
pub fn prove_after(site: &mut Site<'_>, receipt: &Receipt) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    let Some(goal) = receipt.goal_id() else { return Ok(done) };
    let mut turns = live(site, goal)?;
    turns.extend(beside(site, receipt)?);
    for turn in turns {
        if matches!(turn.state, TurnState::Held { .. }) {
            let causes = site.around(turn.turn_id)?.causes;
            if kernel::is_provable(&causes) {
                done.extend(try_prove(site, &turn)?);
            }
        }
    }
    Ok(done)
}

/// The held Turns of other Goals in the work tree of the Turn that a write moved.
fn beside(site: &mut Site<'_>, receipt: &Receipt) -> Result<Vec<Turn>> {
    const LOOKED_AT: usize = 256;
    let Some(turn_id) = receipt.outcome::<Outcome>()?.turn_id else { return Ok(Vec::new()) };
    let terms = site.authority.present()?;
    site.authority.read(|view| {
        let load = |view: &mut dyn View, ids: BTreeSet<TurnId>| {
            let mut facts = Facts::new(terms.clone());
            view.load(&gathered(ids.iter().copied().map(Read::Turn)), &mut facts)?;
            Ok(facts.rows().turns.values().filter(|turn| ids.contains(&turn.turn_id)).cloned().collect())
        };
        let moved: Vec<Turn> = load(view, [turn_id].into())?;
        let Some((turn, tree)) = moved.first().and_then(|turn| Some((turn, turn.workspace.as_ref()?.tree())))
        else {
            return Ok(Vec::new());
        };
        let owned = view.owned_in(&tree, LOOKED_AT)?;
        let elsewhere = owned.iter().filter(|todo| *todo.todo_id.goal() != turn.goal_id);
        let frozen = elsewhere.filter_map(|todo| todo.ownership.as_ref()).filter(|own| own.frozen);
        load(view, gathered(frozen.map(|own| own.turn_id)))
    })
}

/// Proves what stands in the way of one agent or one Todo, before a claim decides.
///
/// Errors: `store_*`.
pub fn prove_before(
    site: &mut Site<'_>,
    goal: &GoalId,
    concerns: &dyn Fn(&Turn) -> bool,
) -> Result<Vec<Done>> {
    let turns: Vec<_> = live(site, goal)?.into_iter().filter(|turn| concerns(turn)).collect();
    prove_each(site, &turns)
}
