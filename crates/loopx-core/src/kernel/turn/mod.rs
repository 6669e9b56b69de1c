//! Owns the Turn's table of moves: what a person may ask of it, and the steps its driver may take.
//!
//! A move that the table does not know is `invalid_transition`. Every terminal state is reached through one
//! function, so that a Turn's end, its ownership's end and its slot are one commit.

mod causes;
mod end;
mod event;
mod prove;
mod result;
mod settle;
mod steps;

use serde::{Deserialize, Serialize};

pub use causes::{around, causes, is_approved, is_provable, waits_for};
pub(super) use causes::{check_agent_free, want_causes, want_tree};
pub use event::Event;
pub use steps::{Found, Step};

pub use end::executes;
pub(super) use end::{
    clear, clear_for, gives_back, has_lapsed, in_the_way, lapse, lose_incarnation, make_way, outcome,
    ownership, running, stop, stop_denied,
};

use super::{Concluded, Draft, Outcome, Read, Verb, Wanted, asks, claim, replan, stands};
use crate::{
    error::{Code, Error, Result},
    model::{
        Cause, Continuation, Duration, End, GateId, GoalId, OwnId, ShortText, Stopped, Timestamp, Turn,
        TurnId, TurnState,
    },
};

/// How long after its deadline an attempt may still be ending.
pub const GRACE: Duration = Duration::from_secs(60);

/// What a person, or an owner, can ask of a Turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Ends it; a driven one once its executor is ended.
    Stop {
        /// Which.
        turn_id: TurnId,
        /// The owner's token, when its owner asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// Lets a result stand for a requirement that changed under it.
    Accept {
        /// Which.
        turn_id: TurnId,
    },
    /// Gives it up.
    Abandon {
        /// Which.
        turn_id: TurnId,
        /// Why.
        reason: ShortText,
    },
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Stop { .. } => Verb::TurnStop,
            Self::Accept { .. } => Verb::TurnAccept,
            Self::Abandon { .. } => Verb::TurnAbandon,
        }
    }

    const fn turn_id(&self) -> TurnId {
        match self {
            Self::Stop { turn_id, .. } | Self::Accept { turn_id } | Self::Abandon { turn_id, .. } => *turn_id,
        }
    }

    pub(super) fn reads(&self, _goal: &GoalId, wanted: &mut Wanted<'_>) {
        turn_reads(self.turn_id(), wanted);
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let turn_id = self.turn_id();
        match self {
            Self::Stop { own_id, reason, .. } => {
                if let Some(taken) = ask_stop(draft, turn_id, *own_id, reason.clone())? {
                    return Ok((taken, Some(Code::OwnershipExpired)));
                }
            }
            Self::Accept { .. } => accept(draft, turn_id)?,
            Self::Abandon { reason, .. } => abandon(draft, turn_id, reason)?,
        }
        Ok((outcome(draft, turn_id)?, None))
    }
}

/// Asks for what every move of a Turn looks at: the Turn, its Todo, the gates on that, its agent's other Turns,
/// and who else writes where it does.
pub(super) fn turn_reads(turn_id: TurnId, wanted: &mut Wanted<'_>) {
    wanted.want(Read::Turn(turn_id));
    let Some(turn) = wanted.rows().turns.get(&turn_id) else { return };
    want_causes(turn, wanted);
    if let Some(todo_id) = turn.todo_id() {
        claim::owner_reads(todo_id, wanted);
        replan::want(todo_id, wanted);
    }
    if let Some(Continuation::Awaits { monitor }) =
        turn.candidate.as_ref().map(|candidate| &candidate.continuation)
    {
        wanted.want(Read::Todo(monitor.clone()));
    }
}

/// Asks for the acceptance gates of those loaded Turns that a command may end.
pub(super) fn asked_reads(which: impl Fn(&Turn) -> bool, wanted: &mut Wanted<'_>) {
    let live = |turn: &&Turn| !turn.is_terminal() && which(turn);
    let gates: Vec<_> =
        wanted.rows().turns.values().filter(live).filter_map(|turn| turn.acceptance_gate).collect();
    for gate_id in gates {
        wanted.want(Read::Gate(gate_id));
    }
}

/// The Turn of this Goal, or `not_found`.
pub(super) fn named<'d>(draft: &'d Draft<'_>, turn_id: TurnId) -> Result<&'d Turn> {
    let goal_id = draft.goal_id();
    draft.facts().turn(&turn_id)?.filter(|turn| turn.goal_id == *goal_id).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Turn {turn_id} in {goal_id}"))
            .hint(format!("turn list --goal {goal_id}"))
    })
}

/// The gate that asks whether a Turn's result is accepted, if there is one.
pub(super) fn named_gate(draft: &Draft<'_>, turn_id: TurnId) -> Result<Option<GateId>> {
    Ok(named(draft, turn_id)?.acceptance_gate)
}

/// The error of a move that the table does not know.
fn no_move(turn: &Turn, verb: &str) -> Error {
    Error::new(
        Code::InvalidTransition,
        format!("the Turn {} {}", turn.turn_id, stands(turn.state.as_str(), verb)),
    )
    .detail("turn_id", turn.turn_id.to_string())
    .detail("state", turn.state.as_str())
    .hint(format!("turn show {}", turn.turn_id))
}

/// Stops a Turn, or commits the wish where its driver has to end the executor first. Returns the outcome of a
/// negative end, where its owner came too late and its scopes are taken.
fn ask_stop(
    draft: &mut Draft<'_>,
    turn_id: TurnId,
    own_id: Option<OwnId>,
    reason: Option<ShortText>,
) -> Result<Option<Outcome>> {
    let turn = named(draft, turn_id)?.clone();
    if turn.is_terminal() {
        return Err(no_move(&turn, "be stopped"));
    }
    let owners = turn.todo_id().filter(|_| draft.actor().agent().is_some());
    if let Some(todo_id) = owners
        && let claim::Presented::ScopesTaken(taken) = claim::present(draft, todo_id, own_id)?
    {
        return Ok(Some(*taken));
    }
    match turn.state {
        TurnState::Unresolved { .. } => return Err(in_the_way(draft.facts(), turn_id)?),
        TurnState::Dispatched | TurnState::Candidate if turn.is_driven() => {
            if turn.stop_wish.is_none() {
                draft.emit(Event::StopWished { turn_id, reason })?;
            }
        }
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate | TurnState::Held { .. } => {
            end::finish(draft, turn_id, End::Stopped(Stopped::Stop), reason, false)?;
        }
        TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
            return Err(no_move(&turn, "be stopped"));
        }
    }
    Ok(None)
}

fn accept(draft: &mut Draft<'_>, turn_id: TurnId) -> Result<()> {
    let turn = named(draft, turn_id)?;
    let held = matches!(turn.state, TurnState::Held { .. });
    if !held || !causes(draft.facts(), turn)?.contains(&Cause::Requirement) {
        return Err(no_move(turn, "be accepted: no requirement changed under its result"));
    }
    check_agent_free(draft.facts(), turn)?;
    let shown = settle::looked(turn).is_some() || settle::replans(draft.facts(), turn)?;
    let expires_at = end::rearmed(draft.facts(), turn)?;
    draft.emit(Event::Returned { turn_id, renewed: true, expires_at })?;
    // A look and a replan have nothing to validate.
    if shown { settle::settle_or_hold(draft, turn_id, false) } else { Ok(()) }
}

fn abandon(draft: &mut Draft<'_>, turn_id: TurnId, reason: &ShortText) -> Result<()> {
    let turn = named(draft, turn_id)?;
    if turn.is_terminal() {
        return Err(no_move(turn, "be abandoned"));
    }
    if let Some(until) = may_live_until(turn).filter(|until| *until > draft.now()) {
        return Err(Error::new(
            Code::ExecutorActive,
            format!("the executor of the Turn {turn_id} may still live; its end is not recorded"),
        )
        .detail("until_ms", until.as_ms())
        .hint(asks::prove_command(turn_id)));
    }
    end::finish(draft, turn_id, End::Stopped(Stopped::Abandoned), Some(reason.clone()), false)
}

/// Until when the executor of an attempt whose end is not recorded may live.
fn may_live_until(turn: &Turn) -> Option<Timestamp> {
    turn.open_attempt().and_then(|attempt| attempt.deadline_at).map(|at| at.plus(GRACE))
}
