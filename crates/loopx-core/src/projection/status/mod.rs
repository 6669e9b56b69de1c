//! Owns the first screen: what each Goal waits for, whether an agent may continue, what must happen first, and
//! what the last run proved or blocked.
//!
//! Costs the same at ten Todos and at a million: counts are read as counts, everything else is a bounded page.

mod attention;
mod can;
mod list;
mod seen;
mod waiting;

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    decision::{Inquiry, decision},
    gate::GateRow,
    goal::named,
    todo::OwnerRow,
    turn::TurnRow,
};
use crate::{
    authority::{Count, View},
    error::Result,
    kernel::{Decided, Seen as Sighted, Sight, Terms},
    model::{AgentId, Cause, Goal, GoalId, GoalState, MachineId, Timestamp, TodoId, Turn, TurnId, TurnState},
};
pub use list::{AttentionPage, AttentionRow, Saw, attention};
use seen::{Reach, Seen};

/// How many Goals that are not closed are shown whole.
const GOALS: usize = 50;
/// How many Goals are looked at to find those.
const GOALS_MAX: usize = 1000;

/// What a Goal waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingOn {
    /// A person.
    User,
    /// An agent: it works, or may take something.
    Agent,
    /// Room in the budget.
    Quota,
    /// Another agent's ownership.
    Peer,
    /// A moment, or something that has to come true.
    Time,
    /// The readback of something outside.
    External,
    /// The repair of a Turn whose outcome is not known.
    Repair,
    /// Nobody; it is closed.
    Nobody,
}

impl WaitingOn {
    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Quota => "quota",
            Self::Peer => "peer",
            Self::Time => "time",
            Self::External => "external",
            Self::Repair => "repair",
            Self::Nobody => "nobody",
        }
    }
}

/// What must happen first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Next {
    /// What, in one line.
    pub text: String,
    /// The command that does it.
    pub command: String,
}

/// What the last run proved or blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastRun {
    /// The Turn.
    #[serde(flatten)]
    pub turn: TurnRow,
    /// In one line.
    pub text: String,
}

/// Who owns a Todo now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owned {
    /// The Todo.
    pub todo_id: TodoId,
    /// Its title.
    pub title: String,
    /// Who, until when.
    #[serde(flatten)]
    pub owner: OwnerRow,
}

/// A Turn that does not go on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// The Turn.
    #[serde(flatten)]
    pub turn: TurnRow,
    /// What keeps it there.
    pub causes: Vec<Cause>,
}

macro_rules! ranks {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// How urgent something is. Source: the kernel's "Status, attention, metrics".
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rank { $($(#[$doc])* $name,)* }

        impl Rank {
            /// All ranks, the most urgent first.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable spelling.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

ranks! {
    /// What happened is not known, or whoever was at it is gone.
    Lost "lost";
    /// A question blocks, or the whole Goal is stopped; the oldest first.
    Gate "gate";
    /// A person has to move it.
    Person "person";
    /// An agent can take a plan that has to change.
    Replan "replan";
    /// An agent can take it.
    Work "work";
}

/// Something that needs somebody, and the command that moves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attention {
    /// How urgent it is.
    pub rank: Rank,
    /// What it is: `clock_jump`, `effect_unresolved`, `turn_unresolved`, `driver_gone`, `turn_unproved`, `turn_held`,
    /// `ownership_expired`, `gate`, `todo`, `proposal`, `agent`, `goal`, `effect`, `replan`, `due`, `return`.
    pub kind: &'static str,
    /// The id it is about.
    pub about: String,
    /// In one line.
    pub text: String,
    /// The command, without the program's name.
    pub command: String,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<Timestamp>,
    /// Whether it is said by what it is about alone, and so stands as that stands. What is derived from more, a time,
    /// another row, what this machine sees, can be new though that has not changed.
    #[serde(skip)]
    stands: bool,
}

/// The status of one Goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalStatus {
    /// The slug.
    pub goal_id: GoalId,
    /// What should be true in the end.
    pub objective: String,
    /// `active`, `stopped` or `closed`.
    pub state: &'static str,
    /// What it waits for.
    pub waiting_on: WaitingOn,
    /// Why, in one line.
    pub because: String,
    /// Until when, if a moment is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<Timestamp>,
    /// Whether an agent works, or may take something, now.
    pub may_continue: bool,
    /// What must happen first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Next>,
    /// What the last run proved or blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
    /// How many Todos stand where.
    pub counts: Count,
    /// Criteria that are shown or waived, and all of them.
    pub criteria_met: usize,
    /// All criteria.
    pub criteria: usize,
    /// Who owns what; the newest ones.
    pub owners: Vec<Owned>,
    /// Turns that are held or unresolved.
    pub stuck: Vec<Stuck>,
    /// Gates that block; the oldest ones.
    pub gates: Vec<GateRow>,
    /// What needs somebody, most urgent first.
    pub attention: Vec<Attention>,
    /// What the agent that was asked for should do now.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::moments::named")]
    pub decision: Option<Decided>,
    /// What deserves a second look, though nothing refuses it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The next moment at which time alone may change any of this, as far as was looked.
    #[serde(skip)]
    pub changes_at: Option<Timestamp>,
}

/// The status of all Goals, or of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// When it was read, by the ledger's clock.
    pub now_ms: Timestamp,
    /// Whether the clock jumped, so that nothing expires until a person accepts it.
    pub clock_jump: bool,
    /// Goals that are not closed: the folder's, then by slug; a closed one only when it was asked for by name.
    pub goals: Vec<GoalStatus>,
    /// How many closed Goals are left out.
    pub closed: usize,
    /// Whether there are more Goals than are shown.
    pub more: bool,
}

/// What an edge sees of executors on its machine; the ledger alone cannot tell a driver that died from one at work.
#[derive(Clone, Copy)]
pub struct Eyes<'e> {
    /// This machine.
    pub machine_id: Option<&'e MachineId>,
    /// What the locks of this machine say of the driver of a Turn; none: unknown.
    pub driver: &'e dyn Fn(TurnId) -> Option<Sighted>,
    /// Which of some Turns were looked into in vain.
    pub tried: &'e dyn Fn(&[Turn]) -> Result<BTreeSet<TurnId>>,
}

impl std::fmt::Debug for Eyes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eyes").field("machine_id", &self.machine_id).finish_non_exhaustive()
    }
}

impl Eyes<'_> {
    /// What is seen of the driver of a Turn that this machine drives.
    pub(super) fn of(&self, turn: &Turn) -> Option<Sighted> {
        let here =
            turn.is_driven() && turn.machine_id.is_some() && turn.machine_id.as_ref() == self.machine_id;
        if here { (self.driver)(turn.turn_id) } else { None }
    }

    /// What is seen of whoever drives, or proves, any Turn of this machine.
    fn sight<'s>(&'s self, tried: &'s BTreeSet<TurnId>) -> Sight<'s> {
        Sight { machine_id: self.machine_id, driver: self.driver, tried }
    }

    /// What of a Turn is left that should be at work, as is seen from here; none where it is, or nothing can be told.
    pub(super) fn left(&self, turn: &Turn) -> Option<Left> {
        if !is_running(turn) {
            return None;
        }
        if turn.is_driven() {
            return (self.of(turn) == Some(Sighted::Gone)).then_some(Left::Driver);
        }
        let is_unproved =
            matches!(turn.state, TurnState::Candidate) && (self.driver)(turn.turn_id) == Some(Sighted::Gone);
        is_unproved.then_some(Left::Result)
    }
}

/// What nobody brings on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// A Turn whose driver was on this machine and is gone.
    Driver,
    /// The result of an attached one, which nobody on this machine proves.
    Result,
}

/// Whether a Turn should be at work.
fn is_running(turn: &Turn) -> bool {
    matches!(turn.state, TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate)
}

/// Which Goals a status is of.
#[derive(Debug, Clone, Copy)]
pub enum Which<'g> {
    /// This one.
    One(&'g GoalId),
    /// All that are not closed.
    All {
        /// The one that its reader works on stands first.
        first: Option<&'g GoalId>,
    },
}

/// Reads the status of one Goal, or of all that are not closed.
///
/// Errors: `not_found` for a Goal, or an agent, that is not there.
pub fn status(
    view: &mut dyn View,
    terms: &Terms,
    which: Which<'_>,
    agent: Option<&AgentId>,
    eyes: &Eyes<'_>,
) -> Result<Status> {
    let (goals, closed, more) = match which {
        Which::One(id) => (vec![named(view, terms, id)?], 0, false),
        Which::All { first } => standing(view, first)?,
    };
    let goals: Result<Vec<_>> =
        goals.into_iter().map(|goal| of_goal(view, terms, &goal, agent, eyes)).collect();
    Ok(Status { now_ms: terms.now, clock_jump: terms.clock_jump, goals: goals?, closed, more })
}

/// The Goals that are not closed, how many are, and whether some were not looked at.
fn standing(view: &mut dyn View, first: Option<&GoalId>) -> Result<(Vec<Goal>, usize, bool)> {
    let mut all = view.goals(None, GOALS_MAX + 1)?;
    let mut more = all.len() > GOALS_MAX;
    let seen = all.len();
    all.retain(|goal| !matches!(goal.state, GoalState::Closed { .. }));
    let closed = seen - all.len();
    more |= all.len() > GOALS;
    all.sort_by_key(|goal| Some(&goal.goal_id) != first);
    all.truncate(GOALS);
    Ok((all, closed, more))
}

fn of_goal(
    view: &mut dyn View,
    terms: &Terms,
    goal: &Goal,
    agent: Option<&AgentId>,
    eyes: &Eyes<'_>,
) -> Result<GoalStatus> {
    let seen = Seen::look(view, terms, goal, eyes, Reach::GLANCE)?;
    let decided = |agent: &AgentId| {
        let endpoint = agent.default_endpoint();
        decision(view, terms, &goal.goal_id, &Inquiry::new(agent, &endpoint), eyes)
    };
    let decision = agent.map(decided).transpose()?;
    let wait = match (agent, &decision) {
        (Some(agent), Some(decision)) => waiting::for_agent(&seen, agent, decision),
        (None, _) | (_, None) => waiting::for_all(view, &seen, eyes)?,
    };
    let attention = attention::rows(&seen, &wait, eyes)?;
    let first = attention::first(&attention, &wait);
    let first = first.map(|row| Next { text: row.text.clone(), command: row.command.clone() });
    Ok(GoalStatus {
        goal_id: goal.goal_id.clone(),
        objective: goal.objective.to_string(),
        state: super::goal::state(goal),
        waiting_on: wait.on,
        because: wait.because,
        until_ms: wait.until,
        may_continue: wait.may_continue,
        first,
        last_run: seen.last_run(),
        criteria_met: goal.acceptance.iter().filter(|criterion| !criterion.state.is_open()).count(),
        criteria: goal.acceptance.len(),
        owners: seen.owners(),
        gates: seen.gates.iter().map(|gate| GateRow::of(gate, terms, &BTreeSet::new())).collect(),
        warnings: seen.warnings(),
        changes_at: seen.next_moment(wait.until),
        stuck: seen.stuck,
        counts: seen.counts,
        attention,
        decision,
    })
}
