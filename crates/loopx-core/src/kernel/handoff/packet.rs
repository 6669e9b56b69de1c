//! Owns the packet: what whoever takes a Todo over is told, made of facts, and the revision that names exactly that.
//!
//! Invariant: the revision is the digest of the packet, so it moves when a part of it does and at no other time. Who works
//! on the Todo, until when, and what was recorded beside it is no part.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Wanted, effect, goal::validators},
    model::{
        AgentId, Boundary, Covering, Digest, Effect, EffectId, GateId, GateKind, Goal, Priority, Requires,
        ShortText, Text, Title, Todo, TodoId, TodoKind, TodoState, TurnId, Validator, Verdict,
    },
};

/// What whoever takes a Todo over is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Packet {
    /// What should be true in the end.
    pub objective: Text,
    /// Where agents may write, and what needs a person's approval.
    pub boundary: Boundary,
    /// The work.
    pub todo: Work,
    /// What was proved of it, last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validated: Option<Standing>,
    /// The questions that block it, oldest first: of the Goal, and by name.
    pub open_gates: Vec<OpenGate>,
    /// What was done outside and is not known, oldest first.
    pub unresolved_effects: Vec<OpenEffect>,
    /// What comes next.
    pub next_action: Next,
    /// What has to be read, and obeyed.
    pub required_reads: Vec<ShortText>,
}

/// The Todo, as far as it says what has to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Its id.
    pub todo_id: TodoId,
    /// One line.
    pub title: Title,
    /// What exactly is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text>,
    /// What sort of work it is.
    pub kind: TodoKind,
    /// How soon it is wanted.
    pub priority: Priority,
    /// Where it stands.
    pub state: TodoState,
    /// Whether a person paused it.
    pub hold: bool,
    /// What must be done before.
    pub depends_on: BTreeSet<TodoId>,
    /// What its executor must have and may touch.
    pub requires: Requires,
    /// Who may not take it.
    pub excluded_agents: BTreeSet<AgentId>,
    /// What proves it; the Goal's where it names none, and none where the plan itself shows it.
    pub validators: Vec<Validator>,
    /// The Todo it reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<TodoId>,
    /// The coordinator it returns to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<TodoId>,
    /// What it is to change the plan of, if it is a replan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covering: Option<Box<Covering>>,
    /// Moves with what has to be done.
    pub requirement_revision: u64,
}

/// What was proved of some work, last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The Turn whose result it was.
    pub turn_id: TurnId,
    /// Whose Turn that was.
    pub agent_id: AgentId,
    /// In short, what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ShortText>,
    /// The digest of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// What the validators said of it; where none could, a person accepted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A question that blocks some work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenGate {
    /// Its id.
    pub gate_id: GateId,
    /// What sort of question it is.
    pub kind: GateKind,
    /// The question.
    pub question: ShortText,
    /// Where it stands.
    pub state: &'static str,
    /// The revision of its row.
    pub gate_revision: u64,
}

/// Something outside of which nobody knows what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenEffect {
    /// Its id.
    pub effect_id: EffectId,
    /// What is meant to happen.
    pub what: ShortText,
    /// Where it stands.
    pub state: &'static str,
    /// The revision of its row.
    pub effect_revision: u64,
}

/// What comes next of some work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Next {
    /// In one word.
    pub step: NextStep,
    /// What is broken, or what whoever proved something wrote of what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Box<str>>,
}

/// What comes next of some work, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// Nothing was proved yet.
    Begin,
    /// What the last result left broken is repaired.
    Repair,
    /// It goes on from what was proved.
    GoOn,
    /// Nothing: it was done, or dropped.
    Over,
}

impl Packet {
    /// What names exactly this.
    ///
    /// Errors: `internal`.
    pub fn revision(&self) -> Result<Digest> {
        Digest::of_value(self)
    }
}

/// What [`packet`] must read that is not loaded yet; asked at most twice.
pub fn packet_reads(todo_id: &TodoId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    want(todo_id, &mut wanted);
    wanted.missing
}

pub(super) fn want(todo_id: &TodoId, wanted: &mut Wanted<'_>) {
    let goal = todo_id.goal();
    for read in [
        Read::Goal(goal.clone()),
        Read::Todo(todo_id.clone()),
        Read::Text(todo_id.clone()),
        Read::TodoGates(todo_id.clone()),
        Read::GoalGates(goal.clone()),
        Read::Proven(todo_id.clone()),
    ] {
        wanted.want(read);
    }
    if let Some(todo) = wanted.rows().todos.get(todo_id) {
        effect::want(todo, wanted);
    }
}

/// What whoever takes a Todo over is told.
///
/// Errors: `not_found`.
pub fn packet(facts: &Facts, todo_id: &TodoId) -> Result<Packet> {
    let missing =
        |what: &str, hint: String| Error::new(Code::NotFound, format!("there is no {what}")).hint(hint);
    let goal_id = todo_id.goal();
    let goal =
        facts.goal(goal_id)?.ok_or_else(|| missing(&format!("Goal {goal_id}"), "goal list".to_owned()))?;
    let todo = facts
        .todo(todo_id)?
        .ok_or_else(|| missing(&format!("Todo {todo_id}"), format!("todo list --goal {goal_id}")))?;
    let proven = facts.proven(todo_id)?;
    let said = proven.and_then(|turn| turn.candidate.as_ref());
    let last_validated = proven.map(|turn| Standing {
        turn_id: turn.turn_id,
        agent_id: turn.agent_id.clone(),
        summary: said.and_then(|said| said.summary.clone()),
        digest: said.map(|said| said.digest),
        verdict: turn.verdict.clone(),
    });
    let broken = todo.last_end.as_ref().filter(|end| end.repair && todo.is_live());
    let (step, words) = match (broken, proven) {
        (Some(end), _) => (NextStep::Repair, end.note.as_ref().map(ShortText::as_str)),
        (None, _) if !todo.is_live() => (NextStep::Over, None),
        (None, Some(_)) => {
            (NextStep::GoOn, said.and_then(|said| said.next_action.as_ref()).map(Text::as_str))
        }
        (None, None) => (NextStep::Begin, None),
    };
    let next_action = Next { step, said: words.map(Into::into) };
    Ok(Packet {
        objective: goal.objective.clone(),
        boundary: goal.boundary.clone(),
        todo: work(facts, goal, todo)?,
        last_validated,
        open_gates: gates(facts, todo_id)?,
        unresolved_effects: effects(facts, todo)?,
        next_action,
        required_reads: goal.authority_sources.clone(),
    })
}

fn work(facts: &Facts, goal: &Goal, todo: &Todo) -> Result<Work> {
    Ok(Work {
        todo_id: todo.todo_id.clone(),
        title: todo.title.clone(),
        detail: facts.text(&todo.todo_id)?.map(|text| text.detail.clone()),
        kind: todo.kind,
        priority: todo.priority,
        state: todo.state.clone(),
        hold: todo.hold,
        depends_on: todo.depends_on.clone(),
        requires: todo.requires.clone(),
        excluded_agents: todo.excluded_agents.clone(),
        validators: validators(goal, todo).to_vec(),
        reviews: todo.reviews.clone(),
        coordinates: todo.coordinates.clone(),
        covering: todo.covering.clone(),
        requirement_revision: todo.requirement_revision,
    })
}

fn gates(facts: &Facts, todo_id: &TodoId) -> Result<Vec<OpenGate>> {
    let all = facts.gates_before(todo_id)?.into_iter();
    let all = all.map(|gate| OpenGate {
        gate_id: gate.gate_id,
        kind: gate.kind,
        question: gate.question.clone(),
        state: gate.state.as_str(),
        gate_revision: gate.revision,
    });
    Ok(all.collect())
}

fn effects(facts: &Facts, todo: &Todo) -> Result<Vec<OpenEffect>> {
    let mut all = Vec::new();
    for id in &todo.blocking_effects {
        let found: Option<&Effect> = facts.noun(*id.as_bytes())?;
        all.extend(found.map(|effect| OpenEffect {
            effect_id: effect.effect_id,
            what: effect.what.clone(),
            state: effect.state.as_str(),
            effect_revision: effect.revision,
        }));
    }
    Ok(all)
}
