//! Owns what is shown of a Turn beside other nouns, and what holds one now.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    page::{Listed, STEP, Slice, bad_cursor, collect},
    status::Eyes,
    words::plain,
};

use crate::{
    authority::{TurnFilter, View},
    error::{Code, Error, Result, echo},
    kernel::{Facts, Read, Terms, is_approved},
    model::{
        AgentId, EndpointId, Executor, FailedBy, GoalId, Timestamp, TodoId, Turn, TurnId, TurnState,
        VerdictOutcome, gathered,
    },
};

/// A Turn in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnRow {
    /// Its id.
    pub turn_id: TurnId,
    /// The Todo it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<TodoId>,
    /// For whom.
    pub agent_id: AgentId,
    /// Through which endpoint.
    pub endpoint: EndpointId,
    /// Who runs the executor.
    pub executor: Executor,
    /// Where it stands.
    pub state: &'static str,
    /// Why, where the state has a reason: `lapsed`, `validate`, `lost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What its executor says it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What its validators said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictOutcome>,
    /// Which of them did not pass it, and how that ended; or what it wrote outside its scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// That nobody brings it on, where that is seen from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// When it was admitted.
    pub admitted_at_ms: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<Timestamp>,
}

impl TurnRow {
    /// The row of a Turn.
    pub fn of(turn: &Turn) -> Self {
        Self {
            turn_id: turn.turn_id,
            todo_id: turn.todo_id().cloned(),
            agent_id: turn.agent_id.clone(),
            endpoint: turn.endpoint.clone(),
            executor: turn.executor,
            state: turn.state.as_str(),
            why: why(turn),
            summary: turn
                .candidate
                .as_ref()
                .and_then(|candidate| candidate.summary.as_ref())
                .map(ToString::to_string),
            verdict: turn.verdict.as_ref().map(|verdict| verdict.outcome),
            note: note(turn),
            left: None,
            admitted_at_ms: turn.admitted_at,
            ended_at_ms: turn.ended_at,
        }
    }

    /// What is said of its result in short: by its validators where they did not let it pass, else by whoever did the
    /// work.
    pub fn words(&self) -> Option<&str> {
        // No validator was asked about what wrote where it may not.
        let is_refused = self.verdict.map_or(self.note.is_some(), is_refusal);
        if is_refused { self.note.as_deref() } else { self.summary.as_deref() }
    }
}

/// Whether a Turn failed because it wrote where it may not.
pub(super) fn is_out_of_bounds(turn: &Turn) -> bool {
    let refused = matches!(turn.state, TurnState::Failed { how: FailedBy::Validate });
    let wrote = turn.candidate.as_ref().is_some_and(|candidate| !candidate.outside.is_empty());
    refused && turn.verdict.is_none() && wrote
}

/// What its validators said where they did not pass it, or which paths it wrote that it may not.
fn note(turn: &Turn) -> Option<String> {
    const PATHS_MAX: usize = 3;
    if !is_out_of_bounds(turn) {
        return turn.verdict.as_ref().and_then(|verdict| verdict.note.as_ref()).map(ToString::to_string);
    }
    let outside = &turn.candidate.as_ref()?.outside;
    let paths: Vec<_> = outside.iter().take(PATHS_MAX).map(|path| echo(path.as_str())).collect();
    let more = outside.len().saturating_sub(PATHS_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!paths.is_empty()).then(|| format!("{}{more}", paths.join(", ")))
}

/// Whether validators did not let a result pass.
const fn is_refusal(outcome: VerdictOutcome) -> bool {
    match outcome {
        VerdictOutcome::Failed | VerdictOutcome::Inconclusive => true,
        VerdictOutcome::Passed | VerdictOutcome::Progress | VerdictOutcome::Unchecked => false,
    }
}

/// Which Turns are listed.
#[derive(Debug, Clone)]
pub struct TurnQuery<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only on this Todo.
    pub todo: Option<&'a TodoId>,
    /// Only of this agent.
    pub agent: Option<&'a AgentId>,
    /// Only in these states; none means those that have not ended, unless a Todo or an agent is named.
    pub states: &'a BTreeSet<&'a str>,
}

/// The newest Turn of a Goal that has ended.
pub fn last_ended(view: &mut dyn View, goal: &GoalId) -> Result<Option<TurnRow>> {
    let all = TurnFilter { goal, todo: None, agent: None, live: false };
    Ok(view.turns(&all, None, STEP)?.iter().find(|turn| turn.is_terminal()).map(TurnRow::of))
}

/// A page of a Goal's Turns, newest first.
///
/// Errors: `invalid_argument` for a cursor of another list.
pub fn turns(
    view: &mut dyn View,
    terms: &Terms,
    query: &TurnQuery<'_>,
    slice: Slice<'_>,
    eyes: &Eyes<'_>,
) -> Result<Listed<TurnRow>> {
    if let Some(cursor) = slice.after {
        cursor.parse::<TurnId>().map_err(|_| bad_cursor(cursor))?;
    }
    let live = query.states.is_empty() && query.todo.is_none() && query.agent.is_none();
    let filter = TurnFilter { goal: query.goal, todo: query.todo, agent: query.agent, live };
    let mut nobodys: Vec<Turn> = Vec::new();
    let mut page = collect(
        slice,
        |before, step| view.turns(&filter, before, step),
        |turn| turn.turn_id.to_string(),
        |turn| {
            let is_wanted = query.states.is_empty() || query.states.contains(turn.state.as_str());
            let row = is_wanted.then(|| TurnRow::of(&turn));
            if is_wanted && eyes.left(&turn).is_some() {
                nobodys.push(turn);
            }
            Ok(row)
        },
    )?;
    let facts = gates_of(view, terms, &nobodys)?;
    for row in &mut page.items {
        let turn = nobodys.iter().find(|turn| turn.turn_id == row.turn_id);
        row.left = turn.map(|turn| left(&facts, turn));
    }
    Ok(page)
}

/// The gates that asked whether the results of some Turns are accepted.
fn gates_of(view: &mut dyn View, terms: &Terms, turns: &[Turn]) -> Result<Facts> {
    let mut facts = Facts::new(terms.clone());
    let gates: BTreeSet<_> = gathered(turns.iter().filter_map(|turn| turn.acceptance_gate).map(Read::Gate));
    view.load(&gates, &mut facts)?;
    Ok(facts)
}

/// The reason that a state carries, as the wire spells it.
fn why(turn: &Turn) -> Option<String> {
    match &turn.state {
        TurnState::Unresolved { why, .. } => Some(word(why)),
        TurnState::Stopped { why } => Some(word(why)),
        TurnState::Failed { how: FailedBy::Host(failure) } => Some(failure.as_str().to_owned()),
        TurnState::Failed { .. } if is_out_of_bounds(turn) => {
            Some(Code::BoundaryViolation.as_str().to_owned())
        }
        TurnState::Failed { how } => Some(word(how)),
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Candidate
        | TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Fenced => None,
    }
}

/// As [`left`], of a Turn that is read for it.
///
/// Errors: `not_found`.
pub fn left_of(view: &mut dyn View, terms: &Terms, turn_id: TurnId) -> Result<String> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Turn(turn_id)].into(), &mut facts)?;
    let turn = facts.turn(&turn_id)?.cloned().ok_or_else(|| Error::from(Code::NotFound))?;
    Ok(left(&gates_of(view, terms, std::slice::from_ref(&turn))?, &turn))
}

/// What stands open about a Turn that nobody brings on, in one line; its acceptance gate is looked at, where it is loaded.
pub fn left(facts: &Facts, turn: &Turn) -> String {
    let about = turn.todo_id().map_or_else(|| turn.turn_id.to_string(), ToString::to_string);
    match &turn.state {
        TurnState::Candidate if is_approved(facts, turn) => {
            format!("the result on {about} was approved, and its proof is to be renewed")
        }
        TurnState::Candidate => format!("the result on {about} is there, and nobody proves it"),
        TurnState::Unresolved { why, .. } => {
            format!("what the Turn on {about} did is not known: {}", plain(&word(why)))
        }
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => format!("what drove the Turn on {about} is gone"),
    }
}

/// The wire's word for a value of an enum without fields.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
