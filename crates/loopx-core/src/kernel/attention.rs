//! Owns that a person saw what needs somebody: of what that can be said, and when it is nothing new.
//!
//! Nothing is decided by it. It is a fact for the measure of how long a question waits until it is seen.

use serde::{Deserialize, Serialize};

use super::{Concluded, Context, Draft, Facts, Outcome, Read, Wanted, event_kinds};
use crate::{
    error::{Code, Error, Result},
    model::{
        About, Effect, GoalId, GoalState, Label, NounKey, NounKind, OneNoun as _, Proposal, ProposalState,
        Sighting, Turn, TurnState, Unresolved,
    },
};

/// The most rows that are seen at once.
const ROWS_MAX: usize = 32;

/// What can be asked about attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Says that a person saw these rows.
    Seen {
        /// Which.
        rows: Vec<SeenRow>,
    },
}

/// A row that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenRow {
    /// What it is about.
    pub about: About,
    /// How that stood when it was shown; as it stands, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Label>,
}

/// What can have happened to attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A person saw what he had not seen before as it stands.
    Seen {
        /// What, in the order it was named.
        rows: Vec<SeenAs>,
    },
}

/// What was seen, and how it stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenAs {
    /// What.
    pub about: About,
    /// How it stood.
    pub version: Label,
}

event_kinds!(Event { Seen => "attention.seen" });

/// Where the one sighting of something is found.
pub fn sighting_key(about: &About) -> NounKey {
    NounKey { kind: NounKind::Sighting, id: *about.sighting_id().as_bytes() }
}

/// What has to be read to say how something stands.
pub fn version_read(about: &About) -> Read {
    match about {
        About::Goal(id) => Read::Goal(id.clone()),
        About::Todo(id) => Read::Todo(id.clone()),
        About::Turn(id) => Read::Turn(*id),
        About::Gate(id) => Read::Gate(*id),
        About::Effect(id) => Read::Noun(NounKey { kind: Effect::KIND, id: *id.as_bytes() }),
        About::Proposal(id) => Read::Noun(NounKey { kind: Proposal::KIND, id: *id.as_bytes() }),
    }
}

/// How something stands in a Goal: what is seen again once that has changed; none where it needs nobody any more.
///
/// Errors: `not_found`.
pub fn version(facts: &Facts, goal: &GoalId, about: &About) -> Result<Option<Label>> {
    let missing = || {
        Error::new(Code::NotFound, format!("there is no {about} in {goal} to be seen"))
            .detail("id", about.to_string())
            .hint(format!("attention list --goal {goal}"))
    };
    let revision = |revision: u64, needs: bool| needs.then(|| revision.to_string());
    let found = match about {
        About::Goal(id) => {
            let row = facts.goal(id)?.filter(|row| row.goal_id == *goal).ok_or_else(missing)?;
            revision(row.revision, !matches!(row.state, GoalState::Closed { .. }))
        }
        About::Todo(id) => {
            let row = facts.todo(id)?.filter(|_| id.goal() == goal).ok_or_else(missing)?;
            revision(row.revision, row.is_live())
        }
        About::Turn(id) => {
            let row = facts.turn(id)?.filter(|row| row.goal_id == *goal).ok_or_else(missing)?;
            (!row.is_terminal()).then(|| standing(row))
        }
        About::Gate(id) => {
            let row = facts.gate(id)?.filter(|row| row.goal_id == *goal).ok_or_else(missing)?;
            revision(row.revision, row.is_blocking())
        }
        About::Effect(id) => {
            let row = facts.noun::<Effect>(*id.as_bytes())?;
            let row = row.filter(|row| row.goal_id == *goal).ok_or_else(missing)?;
            revision(row.revision, row.is_open())
        }
        About::Proposal(id) => {
            let row = facts.noun::<Proposal>(*id.as_bytes())?;
            let row = row.filter(|row| row.goal_id == *goal).ok_or_else(missing)?;
            row.is_open().then(|| waiting(&row.state))
        }
    };
    found.map(|text| text.parse()).transpose()
}

/// A Turn has no revision: its state, why that is so and its attempts tell whether it stands as it did.
fn standing(turn: &Turn) -> String {
    let state = turn.state.as_str();
    let attempts = turn.attempts.len();
    let TurnState::Unresolved { why, executor_gone } = turn.state else {
        return format!("{state}.{attempts}");
    };
    let why = match why {
        Unresolved::Lost => "lost",
        Unresolved::Inconclusive => "inconclusive",
        Unresolved::Incarnation => "incarnation",
    };
    let gone = if executor_gone { ".gone" } else { "" };
    format!("{state}.{why}{gone}.{attempts}")
}

/// A proposal has no revision: it is what was proposed, and only until when it was put off can change.
fn waiting(state: &ProposalState) -> String {
    match state {
        ProposalState::Deferred { until } => format!("{}.{}", state.as_str(), until.as_ms()),
        _ => state.as_str().to_owned(), // wildcard: the others say all by their name
    }
}

impl Command {
    pub(super) fn reads(&self, wanted: &mut Wanted<'_>) {
        let Self::Seen { rows } = self;
        for row in rows.iter().take(ROWS_MAX) {
            wanted.want(version_read(&row.about));
            wanted.want(Read::Noun(sighting_key(&row.about)));
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let Self::Seen { rows } = self;
        if rows.is_empty() || rows.len() > ROWS_MAX {
            let message = format!("1 to {ROWS_MAX} rows are seen at once");
            return Err(Error::new(Code::InvalidArgument, message));
        }
        let mut seen: Vec<SeenAs> = Vec::new();
        for row in rows {
            let version = shown(draft, row)?;
            let before = draft.facts().noun::<Sighting>(*row.about.sighting_id().as_bytes())?;
            let is_new = before.is_none_or(|before| before.version != version);
            if is_new && seen.iter().all(|one| one.about != row.about) {
                seen.push(SeenAs { about: row.about.clone(), version });
            }
        }
        let created = !seen.is_empty();
        if created {
            draft.emit(Event::Seen { rows: seen })?;
        }
        Ok((Outcome { created: Some(created), ..Outcome::default() }, None))
    }
}

/// How a row stands, which is how it was shown.
fn shown(draft: &Draft<'_>, row: &SeenRow) -> Result<Label> {
    let goal = draft.goal_id();
    let about = &row.about;
    let hint = format!("attention list --goal {goal}");
    let Some(version) = version(draft.facts(), goal, about)? else {
        return Err(Error::new(Code::InvalidTransition, format!("{about} needs nobody any more"))
            .detail("id", about.to_string())
            .hint(hint));
    };
    match &row.version {
        Some(then) if *then != version => {
            let message = format!("{about} was shown as it stood at {then}; now it stands at {version}");
            Err(Error::new(Code::StaleRevision, message)
                .detail("id", about.to_string())
                .detail("version", version.as_str())
                .hint(hint))
        }
        Some(_) | None => Ok(version),
    }
}

impl Event {
    #[expect(clippy::unnecessary_wraps, reason = "every domain's events are applied by one signature")]
    pub(super) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        let Self::Seen { rows } = self;
        for row in rows {
            facts.put_noun(Sighting {
                sighting_id: row.about.sighting_id(),
                goal_id: context.goal_id.clone(),
                todo_id: row.about.todo_id().cloned(),
                about: row.about.clone(),
                version: row.version.clone(),
                by: context.actor.clone(),
                at: context.at,
            });
        }
        Ok(())
    }
}
