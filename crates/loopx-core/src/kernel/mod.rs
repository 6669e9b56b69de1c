//! Owns the rules: what a command reads, whether it is accepted, and what then happened.
//!
//! Pure: no file, no clock, no randomness, no SQL. `reads` is asked until it wants nothing more, at most
//! `READ_ROUNDS` times; `decide` then answers with a refusal, which writes nothing, or with a `Decision`.
//! One folder a domain, each with its `Command`, its `Event`, its reads, its decisions and their application.

mod actors;
mod agent;
mod asks;
mod attention;
mod batch;
pub mod claim;
mod delta;
mod draft;
mod effect;
mod evidence;
mod facts;
mod gap;
mod gate;
mod goal;
mod handoff;
mod index;
mod next;
mod peer;
mod proposal;
mod quota;
mod reach;
mod read;
mod reason;
mod replan;
mod reward;
pub(crate) mod seeded;
mod todo;
pub mod turn;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub(crate) use actors::authorize;
pub use actors::{Person, Rights, Verb};
pub use agent::{Command as AgentCommand, Event as AgentEvent};
pub use asks::{
    ASKS_MAX, Ask, Sight, abandon_command, close_asks, close_reads, confirm_command, consumed_ask,
    effect_ask, effect_command, end_asks, gate_ask, held_asks, held_reads, may_be_told, onward_command,
    person_ask, proposal_ask, recover_command, refuse_command, return_commands, todo_ask_reads, todo_asks,
    unresolved_ask,
};
pub use attention::{
    Command as AttentionCommand, Event as AttentionEvent, SeenAs, SeenRow, sighting_key,
    version as seen_version, version_read as seen_version_read,
};
pub use batch::{Item as BatchItem, Ref as BatchRef};
pub use claim::{Command as ClaimCommand, Event as ClaimEvent};
pub use delta::{Delta, Target};
pub use draft::{Context, Minted};
pub use effect::{Command as EffectCommand, Event as EffectEvent, Intent, Told, in_hand as effect_in_hand};
pub use evidence::{Command as EvidenceCommand, Event as EvidenceEvent};
pub use facts::{Facts, IdList, Rows, Terms, Used, Writes};
pub use gap::{gap_reads, offered as offered_gap};
pub use gate::{Command as GateCommand, Event as GateEvent, NewGate, answer_command, deny_command};
pub use goal::{Command as GoalCommand, Event as GoalEvent, GoalChange, NewGoal, validators};
pub use handoff::{
    Command as HandoffCommand, Event as HandoffEvent, Next as NextAction, NextStep, OpenEffect, OpenGate,
    Packet, Standing, packet, packet_reads,
};
pub use index::{Index, Ready, index, woken_ready_at};
#[cfg(test)]
pub(crate) use next::would_admit;
pub use next::{
    Action, Asker, Decided, Looked, Obligation, Seen, across, best, budget_why, decide_first, decide_next,
    next_reads,
};
pub use peer::{Command as PeerCommand, Event as PeerEvent, Given};
pub use proposal::{Command as ProposalCommand, Event as ProposalEvent};
pub use quota::{
    Command as QuotaCommand, Event as QuotaEvent, Left as QuotaLeft, is_zero as is_zero_limit,
    left as quota_left, raise_command, room, room_reads,
};
pub(crate) use quota::{check_currency, check_limit};
pub use read::{Depth, Read};
pub use reason::{
    PeerBy, Reason, UnresolvedBy, UserWhy, Viewer, consumed, reason, reason_reads, waits_for_person,
};
pub use replan::{Covered, Event as ReplanEvent};
pub use reward::{Command as RewardCommand, Event as RewardEvent};
pub use todo::{Change, Command as TodoCommand, Coordinator, Event as TodoEvent, NewTodo};
pub use turn::{
    Command as TurnCommand, Event as TurnEvent, Found, GRACE, Step, around as turn_around,
    causes as turn_causes, is_approved, is_provable, waits_for,
};

use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, AgentId, EffectId, EvidenceId, Expected, Gate, GateId, Goal, GoalId, GoalState, HandoffId,
        Operation, OwnId, ProposalId, ReturnId, RewardId, Timestamp, TodoId, TurnId,
    },
};
use draft::Draft;
pub(crate) use seeded::seeded;

/// What a refusal says of something in this state that is to `verb`.
fn stands(state: &str, verb: &str) -> String {
    if verb.strip_prefix("be ") == Some(state) {
        format!("is {state} already")
    } else {
        format!("is {state}; it cannot {verb}")
    }
}

/// How often [`reads`] may ask for more.
pub const READ_ROUNDS: usize = 2;

/// Every write that a door can ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Of the Goal.
    Goal(goal::Command),
    /// Of an agent in it.
    Agent(agent::Command),
    /// Of its budget.
    Quota(quota::Command),
    /// Of a Todo.
    Todo(todo::Command),
    /// Of an ownership.
    Claim(claim::Command),
    /// Of a Turn, by a person or an owner.
    Turn(turn::Command),
    /// Of a gate.
    Gate(gate::Command),
    /// Of evidence.
    Evidence(evidence::Command),
    /// Of a change outside.
    Effect(effect::Command),
    /// Of a judgement of work that was done.
    Reward(reward::Command),
    /// Of a command that waits for a person.
    Proposal(proposal::Command),
    /// Of what a person saw.
    Attention(attention::Command),
    /// Of a result that a peer gives to its coordinator.
    Peer(peer::Command),
    /// Of work that is handed over.
    Handoff(handoff::Command),
    /// Many of one Goal, all or nothing.
    Batch(Vec<batch::Item>),
}

impl Command {
    /// Asks for what it is decided on.
    fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        match self {
            Self::Goal(command) => command.reads(goal, wanted),
            Self::Agent(command) => command.reads(goal, wanted),
            Self::Quota(command) => command.reads(goal, wanted),
            Self::Todo(command) => command.reads(goal, wanted),
            Self::Claim(command) => command.reads(goal, actor, wanted),
            Self::Turn(command) => command.reads(goal, wanted),
            Self::Gate(command) => command.reads(goal, wanted),
            Self::Evidence(command) => command.reads(goal, wanted),
            Self::Effect(command) => command.reads(goal, actor, wanted),
            Self::Reward(command) => command.reads(goal, wanted),
            Self::Proposal(command) => command.reads(goal, actor, wanted),
            Self::Attention(command) => command.reads(wanted),
            Self::Peer(command) => command.reads(goal, actor, wanted),
            Self::Handoff(command) => command.reads(goal, actor, wanted),
            Self::Batch(items) => batch::reads(items, goal, wanted),
        }
    }

    /// Decides it for whoever gives it.
    fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Goal(command) => command.decide(draft),
            Self::Agent(command) => command.decide(draft),
            Self::Quota(command) => command.decide(draft),
            Self::Todo(command) => command.decide(draft),
            Self::Claim(command) => command.decide(draft),
            Self::Turn(command) => command.decide(draft),
            Self::Gate(command) => command.decide(draft),
            Self::Evidence(command) => command.decide(draft),
            Self::Effect(command) => command.decide(draft),
            Self::Reward(command) => command.decide(draft),
            Self::Proposal(command) => command.decide(draft),
            Self::Attention(command) => command.decide(draft),
            Self::Peer(command) => command.decide(draft),
            Self::Handoff(command) => command.decide(draft),
            Self::Batch(items) => batch::decide(items, draft),
        }
    }
}

/// What is decided on: a command of any door, or a step that only the driver of a Turn submits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A door's.
    Command(Command),
    /// A driver's.
    Step(Step),
}

impl Input {
    /// The verb, by which the table of actors judges it.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Step(step) => step.verb(),
            Self::Command(command) => match command {
                Command::Goal(command) => command.verb(),
                Command::Agent(command) => command.verb(),
                Command::Quota(command) => command.verb(),
                Command::Todo(command) => command.verb(),
                Command::Claim(command) => command.verb(),
                Command::Turn(command) => command.verb(),
                Command::Gate(command) => command.verb(),
                Command::Evidence(evidence::Command::Add { .. }) => Verb::EvidenceAdd,
                Command::Effect(command) => command.verb(),
                Command::Reward(reward::Command::Add { .. }) => Verb::RewardAdd,
                Command::Proposal(command) => command.verb(),
                Command::Attention(attention::Command::Seen { .. }) => Verb::AttentionSeen,
                Command::Peer(command) => command.verb(),
                Command::Handoff(handoff::Command::Accept { .. }) => Verb::HandoffAccept,
                Command::Batch(_) => Verb::Batch,
            },
        }
    }
}

/// The oldest schema that can hold an event: that of its domain, or as the event says.
macro_rules! since {
    (within $event:ident) => {
        $event.since()
    };
    ($since:literal $event:ident) => {{
        let _ = $event;
        $since
    }};
}

macro_rules! events {
    ($($name:ident $module:ident since $since:tt;)*) => {
        /// Everything that can have happened.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum Event { $(#[doc = concat!("To the domain `", stringify!($module), "`.")] $name($module::Event),)* }

        $(impl From<$module::Event> for Event {
            fn from(event: $module::Event) -> Self {
                Self::$name(event)
            }
        })*

        impl Event {
            /// Applies what happened to the rows it names.
            pub fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
                match self { $(Self::$name(event) => event.apply(context, facts),)* }
            }

            /// The stable name of what happened, for people and for filters.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name(event) => event.kind(),)* }
            }

            /// The oldest schema of a ledger that can hold it.
            pub const fn since(&self) -> i32 {
                match self { $(Self::$name(event) => { let since: i32 = since!($since event); since })* }
            }
        }
    };
}

events! {
    Goal goal since 1;
    Agent agent since 1;
    Quota quota since within;
    Todo todo since within;
    Claim claim since within;
    Turn turn since 1;
    Gate gate since 1;
    Evidence evidence since 1;
    Effect effect since 2;
    Reward reward since 2;
    Proposal proposal since 2;
    Replan replan since 2;
    Attention attention since 2;
    Peer peer since 2;
    Handoff handoff since 2;
}

/// Gives each event of a domain its stable name, `<domain>.<past tense>`.
macro_rules! event_kinds {
    ($event:ty { $($name:ident => $text:literal),* $(,)? }) => {
        impl $event {
            /// The stable name of what happened.
            pub(crate) fn kind(&self) -> &'static str {
                match self { $(Self::$name { .. } => $text,)* }
            }
        }
    };
}
pub(crate) use event_kinds;

/// What an accepted command did.
#[derive(Debug)]
pub struct Decision {
    /// In order.
    pub events: Vec<Event>,
    /// What has to be written.
    pub writes: Writes,
    /// What the receipt says.
    pub outcome: Outcome,
    /// The code of a negative end: accepted, written, and yet a no.
    pub negative: Option<Code>,
}

/// What a receipt says of a write: the ids and states that it made or met.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Whether something was made, where a repeated wish makes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
    /// The Todos it made or moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_ids: Vec<TodoId>,
    /// Todos the caller should look at: dependants that were done already; the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected: Vec<TodoId>,
    /// How many those are, where they are not all listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_count: Option<u64>,
    /// The token of the ownership it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_id: Option<OwnId>,
    /// Until when that keeps others out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<Timestamp>,
    /// The Turn it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The Turn its holder goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_turn_id: Option<TurnId>,
    /// Where that Turn stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_state: Option<String>,
    /// The gate it opened or moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_id: Option<GateId>,
    /// The evidence it recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_ids: Vec<EvidenceId>,
    /// The effect it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_id: Option<EffectId>,
    /// Where that effect stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_state: Option<String>,
    /// The judgement it recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_id: Option<RewardId>,
    /// The proposal it made or answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<ProposalId>,
    /// The return it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_id: Option<ReturnId>,
    /// What became of that return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_state: Option<String>,
    /// The handoff it recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_id: Option<HandoffId>,
}

/// What an accepted command comes to: its outcome, and the code of a negative end.
type Concluded = (Outcome, Option<Code>);

/// Collects what a command still has to read.
#[derive(Debug)]
pub(crate) struct Wanted<'f> {
    facts: &'f Facts,
    missing: BTreeSet<Read>,
}

impl<'f> Wanted<'f> {
    /// Asks for something, unless it is here.
    fn want(&mut self, read: Read) {
        if !self.facts.has(&read) {
            self.missing.insert(read);
        }
    }

    /// Asks for what a caller believes something of.
    fn want_expected(&mut self, expected: &Expected) {
        expected.todos.keys().for_each(|id| self.want(Read::Todo(id.clone())));
        if let Some((gate_id, _)) = &expected.gate {
            self.want(Read::Gate(*gate_id));
        }
    }

    /// Asks for the live Turns of an agent, unless all of the Goal are here.
    fn want_agent_turns(&mut self, goal: &GoalId, agent: &AgentId) {
        if !self.facts.has(&Read::LiveTurns(goal.clone())) {
            self.want(Read::AgentTurns(goal.clone(), agent.clone()));
        }
    }

    /// What is loaded so far.
    fn rows(&self) -> &'f Rows {
        self.facts.rows()
    }
}

/// What a command must read that is not loaded yet; empty when it can be decided.
pub fn reads(operation: &Operation<Input>, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    let goal_id = &operation.goal_id;
    wanted.want(Read::Goal(goal_id.clone()));
    if let Some(goal) = facts.rows().goals.get(goal_id) {
        replan::want_of_goal(goal, &mut wanted);
        if let (GoalState::Stopped, Some((agent_id, _))) = (&goal.state, operation.actor.agent()) {
            // What is admitted goes on, the change of a plan too.
            wanted.want_agent_turns(goal_id, agent_id);
        }
    }
    wanted.want_expected(&operation.expected);
    if let Some(turn_id) = operation.provenance.contained {
        wanted.want(Read::Turn(turn_id));
    }
    match &operation.command {
        Input::Step(step) => step.reads(goal_id, &operation.actor, &mut wanted),
        Input::Command(command) => command.reads(goal_id, &operation.actor, &mut wanted),
    }
    wanted.missing
}

/// Decides a command on the facts it asked for.
pub fn decide(facts: Facts, operation: &Operation<Input>, minted: &mut Minted) -> Result<Decision> {
    let Operation { actor, provenance, goal_id, command: input, .. } = operation;
    let verb = input.verb();
    authorize(verb, actor, provenance, facts.terms().strict)?;
    check_containment(&facts, operation)?;
    if verb != Verb::GoalStart {
        let goal = facts.goal(goal_id)?.ok_or_else(|| no_goal(operation))?;
        // A claim is first asked for its agent, then for its Goal.
        let later = matches!(verb, Verb::GoalReopen | Verb::GoalIncarnate | Verb::TodoClaim | Verb::TurnRun);
        if !later {
            goal::check_not_closed(goal)?;
        }
    }
    check_expected(&facts, goal_id, &operation.expected)?;
    let mut draft = Draft::new(facts, goal_id.clone(), actor.clone(), *provenance, minted);
    let (outcome, negative) = match input {
        Input::Step(step) => step.decide(&mut draft)?,
        Input::Command(command) => command.decide(&mut draft)?,
    };
    replan::sweep(&mut draft)?;
    let (events, writes) = draft.finish();
    Ok(Decision { events, writes, outcome, negative })
}

fn no_goal(operation: &Operation<Input>) -> Error {
    Error::new(Code::NotFound, format!("there is no Goal {}", operation.goal_id)).hint("goal list")
}

/// A contained caller is never more than the agent of its own Turn.
fn check_containment(facts: &Facts, operation: &Operation<Input>) -> Result<()> {
    let Some(turn_id) = operation.provenance.contained else { return Ok(()) };
    let turn = facts.turn(&turn_id)?;
    let same = turn.is_some_and(|turn| {
        turn.goal_id == operation.goal_id && operation.actor.agent() == Some((&turn.agent_id, &turn.endpoint))
    });
    if same {
        return Ok(());
    }
    Err(Error::new(
        Code::ActorNotAllowed,
        format!("{} is not the agent of the Turn it runs in", operation.actor),
    ))
}

/// Refuses what a caller believes of revisions that have moved on.
fn check_expected(facts: &Facts, goal_id: &GoalId, expected: &Expected) -> Result<()> {
    let stale = |what: String, expected: u64, found: u64| {
        Error::new(Code::StaleRevision, format!("{what} is at revision {found}, not {expected}"))
            .detail("expected", expected)
            .detail("found", found)
    };
    if let Some(revision) = expected.goal {
        let found = facts.goal(goal_id)?.map_or(0, |goal: &Goal| goal.revision);
        if found != revision && !seeded!(AnyRevision) {
            return Err(stale(format!("the Goal {goal_id}"), revision, found));
        }
    }
    for (todo_id, revision) in &expected.todos {
        let found = facts.todo(todo_id)?.map_or(0, |todo| todo.revision);
        if found != *revision && !seeded!(AnyRevision) {
            return Err(stale(format!("the Todo {todo_id}"), *revision, found));
        }
    }
    if let Some((gate_id, revision)) = &expected.gate {
        let found = facts.gate(gate_id)?.map_or(0, |gate: &Gate| gate.revision);
        if found != *revision {
            return Err(stale(format!("the gate {gate_id}"), *revision, found));
        }
    }
    Ok(())
}
