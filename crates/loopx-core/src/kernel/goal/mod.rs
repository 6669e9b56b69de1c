//! Owns the Goal's commands and when each is accepted.

mod close;
mod event;

use serde::{Deserialize, Serialize};

pub(super) use close::refusal as close_refusal;
pub use event::Event;

use super::{Concluded, Draft, Facts, Outcome, Read, Verb, Wanted, effect, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        Boundary, BoundaryChange, CloseKind, Criterion, CriterionState, EffectId, Goal, GoalId, GoalInstance,
        GoalState, Origin, ShortText, Text, Todo, TodoKind, Unvalidated, Validator, Workspace,
    },
};

/// What can be asked about a Goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Starts it.
    Start(Box<NewGoal>),
    /// Changes what is given, and leaves the rest.
    Update(Box<GoalChange>),
    /// Admits nothing new.
    Stop,
    /// Admits again.
    Resume,
    /// Ends it.
    Close {
        /// How.
        kind: CloseKind,
        /// Why; needed when it is abandoned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
        /// Criteria that are let go, counted from 1, with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waive: Vec<(u8, ShortText)>,
        /// Effects that were written off and are let go, with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waive_effects: Vec<(EffectId, ShortText)>,
    },
    /// Takes the end back.
    Reopen,
    /// Begins a new life of the ledger for this Goal: what was live before is unresolved.
    Incarnate,
}

/// What a new Goal is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGoal {
    /// What should be true in the end.
    pub objective: Text,
    /// Criteria, in order; their state must be open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<Criterion>,
    /// What is not wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_goals: Vec<ShortText>,
    /// Where agents may write.
    #[serde(default, skip_serializing_if = "Boundary::is_open")]
    pub boundary: Boundary,
    /// When an agent must stop and ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_conditions: Vec<ShortText>,
    /// What proves a Todo that names nothing itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validators: Vec<Validator>,
    /// Required reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority_sources: Vec<ShortText>,
    /// Where the wish came up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Where its work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// What happens to an unproven completion.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub unvalidated: Unvalidated,
}

impl NewGoal {
    /// A Goal with an objective, and nothing else.
    pub fn wanting(objective: Text) -> Self {
        Self {
            objective,
            acceptance: Vec::new(),
            non_goals: Vec::new(),
            boundary: Boundary::default(),
            stop_conditions: Vec::new(),
            validators: Vec::new(),
            authority_sources: Vec::new(),
            origin: None,
            workspace: None,
            unvalidated: Unvalidated::default(),
        }
    }
}

/// What may change in a Goal after its start; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalChange {
    /// The objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Text>,
    /// All criteria anew; one whose text and check stay keeps what shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<Vec<Criterion>>,
    /// Checks of criteria, counted from 1. An event has them within its criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<(u8, Validator)>,
    /// What is not wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub non_goals: Option<Vec<ShortText>>,
    /// The boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<BoundaryChange>,
    /// When an agent must stop and ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_conditions: Option<Vec<ShortText>>,
    /// The validators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validators: Option<Vec<Validator>>,
    /// Required reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_sources: Option<Vec<ShortText>>,
    /// Where its work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// Criteria that are let go, counted from 1, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waive: Vec<(u8, ShortText)>,
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Start(_) => Verb::GoalStart,
            Self::Update(_) => Verb::GoalUpdate,
            Self::Stop => Verb::GoalStop,
            Self::Resume => Verb::GoalResume,
            Self::Close { .. } => Verb::GoalClose,
            Self::Reopen => Verb::GoalReopen,
            Self::Incarnate => Verb::GoalIncarnate,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, wanted: &mut Wanted<'_>) {
        match self {
            Self::Start(_) | Self::Update(_) | Self::Stop | Self::Resume | Self::Reopen => {}
            Self::Incarnate => wanted.want(Read::LiveTurns(goal.clone())),
            Self::Close { waive_effects, .. } => {
                wanted.want(Read::LiveTurns(goal.clone()));
                wanted.want(Read::Unfinished(goal.clone()));
                wanted.want(Read::Gated(goal.clone()));
                effect::want_open(goal, wanted);
                effect::want_waived(waive_effects, wanted);
                turn::asked_reads(|_| true, wanted);
            }
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Start(new) => start(draft, new),
            Self::Update(change) => update(draft, change),
            Self::Stop => {
                if !matches!(current(draft)?.state, GoalState::Stopped) {
                    draft.emit(Event::Stopped {})?;
                }
                Ok(done())
            }
            Self::Resume => {
                if !matches!(current(draft)?.state, GoalState::Active) {
                    draft.emit(Event::Resumed {})?;
                }
                Ok(done())
            }
            Self::Close { kind, reason, waive, waive_effects } => {
                effect::waive(draft, waive_effects)?;
                close::close(draft, *kind, reason.as_ref(), waive)
            }
            Self::Reopen => {
                if !matches!(current(draft)?.state, GoalState::Closed { .. }) {
                    return Err(Error::new(
                        Code::InvalidTransition,
                        format!("the Goal {} is not closed", draft.goal_id()),
                    ));
                }
                draft.emit(Event::Reopened {})?;
                Ok(done())
            }
            Self::Incarnate => {
                let live: Vec<_> =
                    draft.facts().live_turns(draft.goal_id())?.iter().map(|turn| turn.turn_id).collect();
                for turn_id in live {
                    turn::lose_incarnation(draft, turn_id)?;
                }
                Ok(done())
            }
        }
    }
}

/// Only reads and `reopen` touch a closed Goal.
pub(super) fn check_not_closed(goal: &Goal) -> Result<()> {
    let goal_id = &goal.goal_id;
    match goal.state {
        GoalState::Active | GoalState::Stopped => Ok(()),
        GoalState::Closed { .. } => {
            Err(Error::new(Code::GoalClosed, format!("the Goal {goal_id} is closed"))
                .hint(format!("goal reopen {goal_id}")))
        }
    }
}

fn done() -> Concluded {
    (Outcome::default(), None)
}

fn current<'d>(draft: &'d Draft<'_>) -> Result<&'d Goal> {
    draft.facts().goal(draft.goal_id())?.ok_or_else(|| Error::from(Code::NotFound))
}

fn start(draft: &mut Draft<'_>, new: &NewGoal) -> Result<Concluded> {
    if draft.facts().goal(draft.goal_id())?.is_some() {
        let goal = draft.goal_id().clone();
        return Err(
            Error::new(Code::GoalExists, format!("the Goal {goal} exists")).hint(format!("goal show {goal}"))
        );
    }
    check_text(&new.objective, &new.acceptance, &new.boundary, &new.stop_conditions)?;
    check_validators(&new.validators)?;
    check_lists(&[new.non_goals.len(), new.authority_sources.len()])?;
    if new.acceptance.iter().any(|criterion| !criterion.state.is_open()) {
        return Err(Error::new(Code::InvalidArgument, "a new Goal's criteria are open"));
    }
    let instance = GoalInstance::from_bytes(draft.mint());
    draft.emit(Event::Started { instance, new: Box::new(new.clone()) })?;
    Ok((Outcome { created: Some(true), ..Outcome::default() }, None))
}

fn update(draft: &mut Draft<'_>, change: &GoalChange) -> Result<Concluded> {
    if *change == GoalChange::default() {
        return Err(Error::new(Code::InvalidArgument, "nothing to change is given"));
    }
    let goal = current(draft)?;
    let mut change = change.clone();
    for (number, check) in std::mem::take(&mut change.checks) {
        let criteria = change.acceptance.get_or_insert_with(|| goal.acceptance.clone());
        let count = criteria.len();
        let criterion = usize::from(number).checked_sub(1).and_then(|place| criteria.get_mut(place));
        criterion.ok_or_else(|| no_criterion(number, count))?.check = Some(check);
    }
    if let Some(criteria) = &mut change.acceptance {
        for criterion in criteria.iter_mut() {
            let old =
                goal.acceptance.iter().find(|old| old.text == criterion.text && old.check == criterion.check);
            criterion.state = old.map_or(CriterionState::Open, |old| old.state.clone());
        }
    }
    let boundary = change.boundary.as_ref().map(|change| change.of(&goal.boundary));
    check_text(
        change.objective.as_ref().unwrap_or(&goal.objective),
        change.acceptance.as_ref().unwrap_or(&goal.acceptance),
        boundary.as_ref().unwrap_or(&goal.boundary),
        change.stop_conditions.as_ref().unwrap_or(&goal.stop_conditions),
    )?;
    check_validators(change.validators.as_deref().unwrap_or_default())?;
    let len = |list: &Option<Vec<ShortText>>| list.as_ref().map_or(0, Vec::len);
    check_lists(&[len(&change.non_goals), len(&change.authority_sources)])?;
    let waive = std::mem::take(&mut change.waive);
    if change != GoalChange::default() {
        draft.emit(Event::Updated { change: Box::new(change) })?;
    }
    close::waive(draft, &waive)?;
    Ok(done())
}

/// What proves a Todo, in order: its own validators, else the Goal's.
pub fn validators<'r>(goal: &'r Goal, todo: &'r Todo) -> &'r [Validator] {
    if todo.kind == TodoKind::Replan {
        // That the plan has changed shows in the plan.
        return &[];
    }
    if todo.validators.is_empty() { &goal.validators } else { &todo.validators }
}

/// Whether something proves a Todo.
pub(super) fn has_validators(facts: &Facts, todo: &Todo) -> Result<bool> {
    let goal = facts.goal(todo.todo_id.goal())?.ok_or_else(|| Error::from(Code::Internal))?;
    Ok(!validators(goal, todo).is_empty())
}

/// The no to a criterion that is not there.
fn no_criterion(number: u8, criteria: usize) -> Error {
    Error::new(Code::InvalidArgument, format!("there is no criterion {number}; the Goal has {criteria}"))
}

fn check_lists(lengths: &[usize]) -> Result<()> {
    if lengths.iter().any(|len| *len > 32) {
        return Err(Error::new(Code::InvalidArgument, "a list of a Goal holds at most 32 items"));
    }
    Ok(())
}

/// Objective, acceptance, boundary and stop conditions together stay within 4 KiB.
fn check_text(
    objective: &Text,
    acceptance: &[Criterion],
    boundary: &Boundary,
    stop_conditions: &[ShortText],
) -> Result<()> {
    check_lists(&[
        acceptance.len(),
        boundary.write_scopes.len(),
        boundary.needs_approval.len(),
        stop_conditions.len(),
    ])?;
    let checks: Vec<_> = acceptance.iter().filter_map(|criterion| criterion.check.clone()).collect();
    for check in &checks {
        check_validators(std::slice::from_ref(check))?;
    }
    let argv = |check: &Validator| check.argv.iter().map(|arg| arg.len()).sum::<usize>();
    let bytes = objective.as_str().len()
        + acceptance.iter().map(|criterion| criterion.text.as_str().len()).sum::<usize>()
        + checks.iter().map(argv).sum::<usize>()
        + boundary.write_scopes.iter().map(|scope| scope.as_str().len()).sum::<usize>()
        + boundary.needs_approval.iter().map(|key| key.to_string().len()).sum::<usize>()
        + stop_conditions.iter().map(|text| text.as_str().len()).sum::<usize>();
    if bytes > 4096 {
        return Err(Error::new(
            Code::PayloadTooLarge,
            format!(
                "objective, acceptance, boundary and stop conditions have {bytes} bytes, the limit is 4096"
            ),
        )
        .detail("limit_bytes", 4096));
    }
    Ok(())
}

/// At most eight validators, each a program with at most 32 arguments in 4 KiB and a timeout of at most a day.
pub(super) fn check_validators(validators: &[Validator]) -> Result<()> {
    let bad = |why: &str| Err(Error::new(Code::InvalidArgument, format!("a validator {why}")));
    if validators.len() > 8 {
        return Err(Error::new(Code::InvalidArgument, "there are at most 8 validators"));
    }
    for validator in validators {
        let bytes: usize = validator.argv.iter().map(|arg| arg.len()).sum();
        if validator.argv.first().is_none_or(|program| program.is_empty()) {
            return bad("names a program");
        }
        if validator.argv.len() > 32 || bytes > 4096 {
            return bad("has at most 32 arguments in 4096 bytes");
        }
        if validator.argv.iter().any(|arg| arg.contains('\0')) {
            return bad("holds no NUL");
        }
        if validator.progress_exit == Some(0) {
            return bad("passes with 0, so that cannot mean progress");
        }
        let ms = validator.timeout_ms.as_ms();
        if !(1000..=86_400_000).contains(&ms) {
            return bad("may take between 1 s and 24 h");
        }
        let env_bytes: usize = validator.env.iter().map(|(name, value)| name.len() + value.len()).sum();
        if validator.env.len() > 32 || env_bytes > 8192 {
            return bad("has at most 32 environment entries in 8192 bytes");
        }
    }
    Ok(())
}
