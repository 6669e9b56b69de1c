//! Owns what a new or changed Todo must look like.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Change, Coordinator, Event, check_maker, check_plan_open, named, same_goal};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Read, Wanted, goal},
    model::{
        AgentId, Boundary, Duration, GateState, Monitor, Origin, Priority, Requires, ShortText, Text, Title,
        TodoId, TodoKind, TodoState, Validator, Wake,
    },
};

/// What a new Todo is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTodo {
    /// One line.
    pub title: Title,
    /// What exactly is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text>,
    /// What sort of work it is; never replan, which only the system makes.
    pub kind: TodoKind,
    /// How soon it is wanted.
    #[serde(default, skip_serializing_if = "Priority::is_default")]
    pub priority: Priority,
    /// What must be done before: at most 64 Todos of the Goal.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub depends_on: BTreeSet<TodoId>,
    /// What it waits for, if it is deferred from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<Wake>,
    /// What is in its way, if it is blocked from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<ShortText>,
    /// What its executor must have and may touch.
    #[serde(default, skip_serializing_if = "Requires::is_empty")]
    pub requires: Requires,
    /// Agents that may not take it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded_agents: BTreeSet<AgentId>,
    /// What proves it; a person's to name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validators: Vec<Validator>,
    /// How often a monitor is looked at; 60 s at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<Duration>,
    /// Looks without change before a person hears of it; 20 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_limit: Option<u32>,
    /// The Todo it reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviews: Option<TodoId>,
    /// The coordinator it returns to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<TodoId>,
    /// Whether it starts paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Where the wish came up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl NewTodo {
    /// A Todo of a kind with a title, and nothing else.
    pub fn titled(title: Title, kind: TodoKind) -> Self {
        Self {
            title,
            detail: None,
            kind,
            priority: Priority::default(),
            depends_on: BTreeSet::new(),
            wake: None,
            blocked: None,
            requires: Requires::default(),
            excluded_agents: BTreeSet::new(),
            validators: Vec::new(),
            every_ms: None,
            unchanged_limit: None,
            reviews: None,
            coordinates: None,
            hold: false,
            origin: None,
        }
    }

    fn monitor(&self) -> Result<Option<Monitor>> {
        let is_monitor = self.kind == TodoKind::Monitor;
        if !is_monitor && (self.every_ms.is_some() || self.unchanged_limit.is_some()) {
            return Err(Error::new(Code::InvalidArgument, "only a monitor is looked at every so often"));
        }
        let every_ms = self.every_ms.unwrap_or(Duration::from_mins(60));
        let unchanged_limit = self.unchanged_limit.unwrap_or(20);
        if every_ms < Duration::from_secs(60) || unchanged_limit == 0 {
            return Err(Error::new(
                Code::InvalidArgument,
                "a monitor is looked at every 60 s at most, and at least once",
            ));
        }
        Ok(is_monitor.then_some(Monitor { every_ms, unchanged_limit, looked_at: None, unchanged: 0 }))
    }
}

pub(super) fn reads(new: &NewTodo, wanted: &mut Wanted<'_>) {
    new.depends_on.iter().for_each(|id| wanted.want(Read::Todo(id.clone())));
    new.reviews.iter().chain(&new.coordinates).for_each(|id| wanted.want(Read::Todo(id.clone())));
    new.wake.iter().for_each(|wake| wake_reads(wake, wanted));
}

pub(in crate::kernel) fn wake_reads(wake: &Wake, wanted: &mut Wanted<'_>) {
    match wake {
        Wake::After(_) => {}
        Wake::TodoDone(id) => wanted.want(Read::Todo(id.clone())),
        Wake::Gate(id) => wanted.want(Read::Gate(*id)),
    }
}

/// Adds a Todo and returns its id.
pub(in crate::kernel) fn add(draft: &mut Draft<'_>, new: &NewTodo) -> Result<TodoId> {
    let goal = draft.facts().goal(draft.goal_id())?.ok_or_else(|| Error::from(Code::NotFound))?;
    let (number, boundary) = (goal.next_todo, goal.boundary.clone());
    let by_agent = draft.actor().agent().is_some();
    if new.kind == TodoKind::Replan {
        return Err(Error::new(Code::InvalidArgument, "only the system makes a replan Todo"));
    }
    if by_agent && !new.validators.is_empty() {
        return Err(Error::new(
            Code::UserOnly,
            "an agent's Todo gets the Goal's validators and may not name others",
        ));
    }
    check_plan_open(draft, None)?;
    if new.wake.is_some() && new.blocked.is_some() {
        return Err(Error::new(Code::InvalidArgument, "a new Todo is deferred or blocked, not both"));
    }
    if new.depends_on.len() > 64 {
        return Err(Error::new(Code::InvalidArgument, "a Todo depends on at most 64 others"));
    }
    let detail_bytes = new.detail.as_ref().map_or(0, |detail| detail.as_str().len());
    check_own_part(detail_bytes, &new.requires, &new.excluded_agents, &new.validators)?;
    check_scopes(&boundary, &new.requires)?;
    let monitor = new.monitor()?;
    for id in new.depends_on.iter().chain(&new.reviews) {
        named(draft, id)?;
    }
    if let Some(coordinator) = &new.coordinates {
        check_coordinator(draft, coordinator)?;
    }
    if let Some(wake) = &new.wake {
        check_wake(draft, None, wake)?;
    }
    if number == u32::MAX {
        return Err(Error::new(Code::Internal, "the Goal has no Todo number left"));
    }
    let todo_id = TodoId::new(draft.goal_id().clone(), number);
    draft.emit(Event::Added { todo_id: todo_id.clone(), new: Box::new(new.clone()), monitor })?;
    Ok(todo_id)
}

/// Changes what is given; raises the requirement's revision.
pub(in crate::kernel) fn update(draft: &mut Draft<'_>, todo_id: &TodoId, change: &Change) -> Result<()> {
    if *change == Change::default() {
        return Err(Error::new(Code::InvalidArgument, "nothing to change is given"));
    }
    let todo = named(draft, todo_id)?.clone();
    check_maker(draft, &todo)?;
    check_plan_open(draft, Some(&todo))?;
    if !todo.is_live() {
        return Err(super::no_move(&todo, "be updated"));
    }
    if change.validators.is_some() && draft.actor().agent().is_some() {
        return Err(Error::new(Code::UserOnly, "validators are a person's to name"));
    }
    match change.coordinates.as_ref().and_then(Coordinator::todo_id) {
        Some(coordinator) if coordinator == todo_id => {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the Todo {todo_id} cannot return to itself"),
            ));
        }
        Some(coordinator) => check_coordinator(draft, coordinator)?,
        None => {}
    }
    let goal = draft.facts().goal(draft.goal_id())?.ok_or_else(|| Error::from(Code::NotFound))?;
    let requires = change.requires.as_ref().map(|change| change.of(&todo.requires));
    let requires = requires.as_ref().unwrap_or(&todo.requires);
    check_scopes(&goal.boundary, requires)?;
    let detail_bytes = match &change.detail {
        Some(detail) => detail.as_str().len(),
        None => draft.facts().text(todo_id)?.map_or(0, |text| text.detail.as_str().len()),
    };
    check_own_part(
        detail_bytes,
        requires,
        change.excluded_agents.as_ref().unwrap_or(&todo.excluded_agents),
        change.validators.as_ref().unwrap_or(&todo.validators),
    )?;
    draft.emit(Event::Updated { todo_id: todo_id.clone(), change: Box::new(change.clone()) })
}

/// A coordinator takes returns in; one that was cancelled does not, whoever names it or returns to it. Nothing waits
/// along this, so it may go round.
pub(in crate::kernel) fn check_coordinator(draft: &Draft<'_>, coordinator: &TodoId) -> Result<()> {
    let row = named(draft, coordinator)?;
    match row.state {
        TodoState::Cancelled { .. } => {
            let message = format!("the coordinator {coordinator} is cancelled; nothing is returned to it");
            Err(Error::new(Code::InvalidTransition, message)
                .detail("todo_id", coordinator.to_string())
                .detail("state", row.state.as_str())
                .hint(format!("todo reopen {coordinator}")))
        }
        TodoState::Open | TodoState::Deferred { .. } | TodoState::Blocked { .. } | TodoState::Done { .. } => {
            Ok(())
        }
    }
}

/// Scopes outside the Goal's are `boundary_violation`.
fn check_scopes(boundary: &Boundary, requires: &Requires) -> Result<()> {
    if boundary.write_scopes.is_empty() {
        return Ok(());
    }
    let outside = requires
        .write_scopes
        .iter()
        .find(|scope| !boundary.write_scopes.iter().any(|allowed| allowed.contains(scope)));
    match outside {
        Some(scope) => {
            let message = format!("the write scope {scope} is outside the Goal's");
            Err(Error::new(Code::BoundaryViolation, message).detail("scope", scope.as_str()))
        }
        None => Ok(()),
    }
}

/// Lists of at most 32, and the Todo's own part within 6 KiB.
fn check_own_part(
    detail_bytes: usize,
    requires: &Requires,
    excluded: &BTreeSet<AgentId>,
    validators: &[Validator],
) -> Result<()> {
    goal::check_validators(validators)?;
    let lengths =
        [requires.capabilities.len(), requires.write_scopes.len(), requires.effects.len(), excluded.len()];
    if lengths.iter().any(|len| *len > 32) {
        return Err(Error::new(Code::InvalidArgument, "a list of a Todo holds at most 32 items"));
    }
    let encoded =
        serde_json::to_vec(&(requires, excluded, validators)).map_or(usize::MAX, |bytes| bytes.len());
    let bytes = encoded.saturating_add(detail_bytes);
    if bytes > 6144 {
        return Err(Error::new(
            Code::PayloadTooLarge,
            format!("the Todo has {bytes} bytes, the limit is 6144"),
        )
        .detail("limit_bytes", 6144));
    }
    Ok(())
}

/// A wake must name something of this Goal, other than who waits, that can still come true.
pub(in crate::kernel) fn check_wake(draft: &Draft<'_>, waits: Option<&TodoId>, wake: &Wake) -> Result<()> {
    let lost =
        |what: String| Err(Error::new(Code::InvalidArgument, format!("{what}, so it never wakes anything")));
    match wake {
        Wake::After(_) => Ok(()),
        Wake::TodoDone(id) if waits == Some(id) => {
            Err(Error::new(Code::InvalidArgument, format!("the Todo {id} cannot wait for itself")))
        }
        Wake::TodoDone(id) => {
            same_goal(draft, id)?;
            match named(draft, id)?.state {
                TodoState::Cancelled { .. } => lost(format!("the Todo {id} is cancelled")),
                TodoState::Open
                | TodoState::Deferred { .. }
                | TodoState::Blocked { .. }
                | TodoState::Done { .. } => Ok(()),
            }
        }
        Wake::Gate(id) => {
            let gate = draft.facts().gate(id)?.filter(|gate| gate.goal_id == *draft.goal_id());
            let gate = gate.ok_or_else(|| Error::new(Code::NotFound, format!("there is no gate {id}")))?;
            match gate.state {
                GateState::Denied { .. } | GateState::Withdrawn { .. } => {
                    lost(format!("the gate {id} is {}", gate.state.as_str()))
                }
                GateState::Open
                | GateState::Deferred { .. }
                | GateState::Approved { .. }
                | GateState::Answered { .. } => Ok(()),
            }
        }
    }
}

/// How a wake stands when it is written: when it came true already, if it did.
pub(super) fn woken_at(facts: &crate::kernel::Facts, wake: &Wake) -> Result<Option<crate::model::Timestamp>> {
    Ok(match wake {
        Wake::After(_) => None,
        Wake::TodoDone(id) => facts.todo(id)?.filter(|todo| todo.is_done()).map(|_| facts.now()),
        Wake::Gate(id) => facts
            .gate(id)?
            .filter(|gate| matches!(gate.state, GateState::Approved { .. } | GateState::Answered { .. }))
            .map(|_| facts.now()),
    })
}
