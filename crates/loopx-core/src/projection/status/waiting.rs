//! Owns what a Goal waits for, in one word and one line.

use super::{
    Eyes, WaitingOn,
    can::{Can, can},
    seen::Seen,
};
use crate::{
    authority::View,
    error::{Code, Result, echo},
    kernel::{
        Action, Ask, Decided, Facts, READ_ROUNDS, UnresolvedBy, close_asks, close_reads, effect_command,
        proposal_ask, recover_command,
    },
    model::{AgentId, Covers, Goal, GoalState, ReplanRef, Timestamp, TodoId, TurnState},
    projection::{turn::left, words::plain},
};

/// Why a Goal waits for what an agent of it left behind; which Turn that is stands first.
const LEFT: &str = "a Turn is to be brought to its end";

/// What a Goal waits for.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) on: WaitingOn,
    pub(super) because: String,
    pub(super) until: Option<Timestamp>,
    pub(super) may_continue: bool,
    /// What has to be brought on before its agent can take anything.
    pub(super) recover: Option<String>,
    /// What an agent can take now.
    pub(super) take: Option<(AgentId, TodoId)>,
    /// The name of the replan that covers that, where it is one to be claimed by its name.
    pub(super) replan: Option<ReplanRef>,
    /// Whether what can be taken is a replan, by name or written.
    pub(super) replans: bool,
    /// What a person can do, where nothing can be taken.
    pub(super) asks: Vec<Ask>,
}

impl Wait {
    fn new(on: WaitingOn, because: impl Into<String>) -> Self {
        Self {
            on,
            because: because.into(),
            until: None,
            may_continue: false,
            recover: None,
            take: None,
            replan: None,
            replans: false,
            asks: Vec::new(),
        }
    }
}

/// What a Goal waits for, whoever asks.
pub(super) fn for_all(view: &mut dyn View, seen: &Seen<'_>, eyes: &Eyes<'_>) -> Result<Wait> {
    match seen.goal.state {
        GoalState::Closed { .. } => return Ok(Wait::new(WaitingOn::Nobody, "it is closed")),
        GoalState::Stopped => return Ok(Wait::new(WaitingOn::User, "it is stopped")),
        GoalState::Active => {}
    }
    let renewal = seen.renewal();
    let recover = renewal.map(|turn| recover_command(turn.turn_id));
    let mut running = 0;
    for turn in &seen.live {
        running += usize::from(seen.is_at_work(turn)?);
    }
    if running > 0 {
        let because = match running {
            1 => "an agent works".to_owned(),
            n => format!("{n} agents work"),
        };
        return Ok(Wait { may_continue: true, recover, ..Wait::new(WaitingOn::Agent, because) });
    }
    if seen.goal.goal_gates > 0 {
        return Ok(Wait::new(WaitingOn::User, "a question blocks the whole Goal"));
    }
    // Whoever approved it waits for it, whatever else could be taken.
    if let Some(turn) = renewal {
        return Ok(Wait { recover, ..Wait::new(WaitingOn::User, left(&seen.facts, turn)) });
    }
    let (until, waits, asks) = match can(view, seen, eyes)? {
        Can::Take { agent, todo, replan, replans } => {
            let because = match replan.as_ref().map(|of| &of.covers) {
                Some(Covers::Goal(_)) => not_shown(seen.goal),
                Some(Covers::Todo(_)) | None => format!("{agent} can take {todo}"),
            };
            let take = Some((agent, todo));
            let wait = Wait::new(WaitingOn::Agent, because);
            return Ok(Wait { may_continue: true, take, replan, replans, ..wait });
        }
        Can::Later(until) => {
            return Ok(Wait { until, ..Wait::new(WaitingOn::Quota, "the budget of Turns is used up") });
        }
        Can::Nothing { until, waits, asks } => (until, waits, asks),
    };
    if let Some(turn) = seen.left().next() {
        let recover = Some(recover_command(turn.turn_id));
        return Ok(Wait { recover, ..Wait::new(WaitingOn::Repair, LEFT) });
    }
    if seen.live.iter().any(|turn| matches!(turn.state, TurnState::Unresolved { .. })) {
        return Ok(Wait::new(WaitingOn::Repair, "what a Turn did is not known"));
    }
    if let Some(effect) = seen.effects.first() {
        let recover = Some(effect_command(effect));
        let because = "it is not known what an outside effect did";
        return Ok(Wait { recover, ..Wait::new(WaitingOn::External, because) });
    }
    if let Some(because) = persons(seen, &asks) {
        return Ok(Wait { asks, ..Wait::new(WaitingOn::User, because) });
    }
    if waits || seen.count("deferred") > 0 || seen.count("monitor") > 0 {
        return Ok(Wait { until, ..Wait::new(WaitingOn::Time, in_time(seen.goal)) });
    }
    let proposed = seen.proposals.first().map(|proposal| proposal_ask(proposal.proposal_id));
    let because = if proposed.is_some() { "what was proposed is not answered" } else { over(seen) };
    let asks = proposed.into_iter().chain(at_end(view, seen)?).collect();
    Ok(Wait { asks, ..Wait::new(WaitingOn::User, because) })
}

/// What is left of a Goal that has nothing to do.
fn at_end(view: &mut dyn View, seen: &Seen<'_>) -> Result<Vec<Ask>> {
    let goal = &seen.goal.goal_id;
    let mut facts = Facts::new(seen.terms.clone());
    for _ in 0..READ_ROUNDS {
        let missing = close_reads(goal, &facts);
        if missing.is_empty() {
            break;
        }
        view.load(&missing, &mut facts)?;
    }
    close_asks(&facts, goal)
}

/// Why a Goal waits for a person, if it does.
fn persons(seen: &Seen<'_>, asks: &[Ask]) -> Option<String> {
    let work = seen.count("open") + seen.count("monitor") + seen.count("deferred");
    if work > 0 && seen.agents.is_empty() {
        return Some("no agent is registered".to_owned());
    }
    if !seen.stuck.is_empty() {
        return Some("a result is held".to_owned());
    }
    if !seen.gates.is_empty() {
        return Some("a question is not answered".to_owned());
    }
    if let Some(todo) = seen.persons().next() {
        return Some(format!("{} is a person's to move", todo.todo_id));
    }
    let first = asks.first()?;
    let lacks = asks.iter().any(|ask| ask.why == "capability");
    if asks.iter().any(|ask| ask.why == Ask::LIMIT_ZERO) {
        return Some(plain(Ask::LIMIT_ZERO).to_owned());
    }
    Some(if lacks {
        "no agent has what is needed".to_owned()
    } else {
        format!("{} waits for a person", first.about)
    })
}

/// Why a Goal waits that waits for time alone.
fn in_time(goal: &Goal) -> String {
    match (goal.awaited(), goal.open_criterion()) {
        (Some(monitor), Some((place, _))) => format!("criterion {place} awaits what {monitor} sees"),
        (Some(_) | None, _) => "everything left waits for its time".to_owned(),
    }
}

/// Which criterion of a Goal is the first that nothing shows.
pub(super) fn not_shown(goal: &Goal) -> String {
    let id = &goal.goal_id;
    match goal.open_criterion() {
        Some((place, one)) => {
            format!("criterion {place} of {id} is not shown yet: {}", echo(one.text.as_str()))
        }
        None => format!("{id} cannot be closed yet"),
    }
}

fn over(seen: &Seen<'_>) -> &'static str {
    let started = seen.counts.values().any(|count| *count > 0);
    let gap = seen.goal.open_criterion().is_some();
    match (started, gap) {
        (false, _) => "it has no Todo yet",
        (true, true) => "nothing is left to do, and not every criterion is met",
        (true, false) => "nothing is left to do",
    }
}

/// What a Goal waits for, as the decision for one agent has it.
pub(super) fn for_agent(seen: &Seen<'_>, agent: &AgentId, decision: &Decided) -> Wait {
    match &decision.action {
        Action::Run { todo_id, .. } => Wait {
            may_continue: true,
            take: Some((agent.clone(), todo_id.clone())),
            ..Wait::new(WaitingOn::Agent, format!("{todo_id} is to be worked on"))
        },
        Action::Repair { todo_id, .. } => Wait {
            may_continue: true,
            take: Some((agent.clone(), todo_id.clone())),
            ..Wait::new(WaitingOn::Repair, format!("{todo_id} is to be repaired"))
        },
        Action::Replan { todo_id, replan } => Wait {
            may_continue: true,
            take: Some((agent.clone(), todo_id.clone())),
            replan: replan.clone(),
            replans: true,
            ..Wait::new(
                WaitingOn::Agent,
                match replan {
                    Some(of) if of.covered().is_none() => not_shown(seen.goal),
                    Some(of) => format!("the plan of {} has to change", of.covers),
                    None => format!("{todo_id} is to change a plan"),
                },
            )
        },
        Action::Reconcile { of: UnresolvedBy::Effect(_), command } => {
            let because = "it is to be read back what an outside effect did";
            let recover = Some(command.clone());
            Wait { may_continue: true, recover, ..Wait::new(WaitingOn::External, because) }
        }
        Action::Reconcile { of: UnresolvedBy::Turn(turn_id), command } => {
            let recover = Some(command.clone());
            let renewal = seen.live.iter().find(|turn| turn.turn_id == *turn_id && seen.is_renewal(turn));
            let wait = match renewal {
                Some(turn) => Wait::new(WaitingOn::User, left(&seen.facts, turn)),
                None => Wait::new(WaitingOn::Repair, LEFT),
            };
            Wait { may_continue: true, recover, ..wait }
        }
        Action::Wait { why, until, .. } => {
            if *why == "time" {
                return Wait { until: *until, ..Wait::new(WaitingOn::Time, in_time(seen.goal)) };
            }
            let (on, because) = match *why {
                "quota" => (WaitingOn::Quota, "the budget of Turns is used up"),
                why if why == Code::GoalStopped.as_str() => (WaitingOn::User, "it is stopped"),
                "owned_by_peers" => (WaitingOn::Peer, "other agents own what is left"),
                "turn_elsewhere" => (WaitingOn::Agent, "this agent works already"),
                why if why == Code::TurnRunning.as_str() => (WaitingOn::Agent, "this agent works already"),
                _ => (WaitingOn::Time, "everything left waits for its time"),
            };
            Wait { until: *until, ..Wait::new(on, because) }
        }
        Action::AskUser { asks } => {
            let outside = |ask: &Ask| ask.why == Ask::EFFECT;
            if !asks.is_empty() && asks.iter().all(outside) {
                let because = "it is not known what an outside effect did";
                return Wait { asks: asks.clone(), ..Wait::new(WaitingOn::External, because) };
            }
            let is_over = asks.iter().any(|ask| matches!(ask.why, "ready_to_close" | "acceptance_gap"));
            let is_zero = asks.iter().any(|ask| ask.why == Ask::LIMIT_ZERO);
            let because = match (is_over, is_zero) {
                (true, _) => over(seen),
                (false, true) => plain(Ask::LIMIT_ZERO),
                (false, false) => "a person has to act",
            };
            Wait { asks: asks.clone(), ..Wait::new(WaitingOn::User, because) }
        }
        Action::Closed => Wait::new(WaitingOn::Nobody, "it is closed"),
    }
}
