//! Owns which command frees what waits: a gate, a Turn that is held or unresolved, a Todo that is a person's, a Goal at
//! its end.
//!
//! Knows nothing of the order in which they are asked about; that stands with the rules of a decision, and with status.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    Asker, Covered, Facts, Read, Reason, Seen, UnresolvedBy, UserWhy, Wanted, effect,
    gate::{answer_command, deny_command},
    goal, reason, seeded, turn,
};
use crate::{
    error::{Code, Error, Result, echo, shell_line},
    model::{
        Blocks, Cause, Effect, EffectState, Gate, GateState, GoalId, Label, MachineId, ProposalId,
        ReplanCause, ReturnId, Stopped, Todo, TodoId, TodoState, Turn, TurnId, TurnState, Unresolved,
        gathered,
    },
};

/// How many asks are named at once.
pub const ASKS_MAX: usize = 32;

/// One thing a person has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// Why.
    pub why: &'static str,
    /// The id it is about.
    pub about: String,
    /// The command that moves it.
    pub command: String,
    /// What is asked, in one line, where that is a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

impl Ask {
    /// Why a person is asked who has nothing to do but close the Goal.
    pub const READY_TO_CLOSE: &str = "ready_to_close";
    /// Why somebody is asked who can find out, or give up finding out, what an outside effect did.
    pub const EFFECT: &str = "effect";
    /// Why a person is asked who has to say yes or no to what was proposed.
    pub const PROPOSAL: &str = "proposal";
    /// Why a person is asked who has to raise a limit of zero before anything can run.
    pub const LIMIT_ZERO: &str = "limit_zero";
    /// Why a person is asked who has to say first what there is to do.
    pub const NO_TODO: &str = "no_todo";
}

/// One thing a person has to do, beside questions that were asked in words.
pub(super) fn ask(why: &'static str, about: &impl ToString, command: String) -> Ask {
    Ask { why, about: about.to_string(), command, question: None }
}

/// What gives the command that a proposal holds.
pub fn confirm_command(id: ProposalId) -> String {
    format!("proposal confirm {id}")
}

/// What takes a return in, and what does not.
pub fn return_commands(id: ReturnId) -> [String; 2] {
    [format!("peer adopt {id}"), format!("peer reject {id} --reason TEXT")]
}

/// The command that says no, beside one that says yes; none for what is neither.
pub fn refuse_command(command: &str) -> Option<String> {
    let reject = |noun: &str| {
        let id =
            command.strip_prefix(noun)?.strip_prefix(if noun == "peer" { " adopt " } else { " confirm " })?;
        Some(format!("{noun} reject {id} --reason TEXT"))
    };
    deny_command(command).or_else(|| reject("peer")).or_else(|| reject("proposal"))
}

/// A proposal that a person has to answer, where nothing else is left to be done.
pub fn proposal_ask(id: ProposalId) -> Ask {
    ask(Ask::PROPOSAL, &id, confirm_command(id))
}

/// What answers a gate that blocks.
pub fn gate_ask(gate: &Gate) -> Ask {
    let id = gate.gate_id;
    let is_denied = matches!(gate.state, GateState::Denied { .. });
    let command = answer_command(&id.to_string(), gate.kind, &gate.options, is_denied);
    Ask { question: Some(echo(gate.question.as_str()).into_owned()), ..ask("gate", &id, command) }
}

/// The questions with which the executor of a Turn ended it, as far as they are not answered.
pub fn end_asks(facts: &Facts, turn: &Turn) -> Result<Vec<Ask>> {
    let (TurnState::Stopped { why: Stopped::UserAction }, Some(todo_id)) = (&turn.state, turn.todo_id())
    else {
        return Ok(Vec::new());
    };
    // They were opened in the commit of its end.
    let is_its = |gate: &&Gate| Some(gate.opened_at) == turn.ended_at;
    Ok(facts.todo_gates(todo_id)?.into_iter().filter(is_its).map(gate_ask).collect())
}

/// What an edge sees beside the ledger: its machine, the drivers on it, and what was looked into in vain.
#[derive(Clone, Copy)]
pub struct Sight<'s> {
    /// This machine.
    pub machine_id: Option<&'s MachineId>,
    /// What its locks say of whoever drives, or proves, a Turn; none: unknown.
    pub driver: &'s dyn Fn(TurnId) -> Option<Seen>,
    /// Unresolved Turns whose readback was tried as they stand now, and led nowhere.
    pub tried: &'s BTreeSet<TurnId>,
}

impl std::fmt::Debug for Sight<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sight").field("machine_id", &self.machine_id).finish_non_exhaustive()
    }
}

/// The command that brings on a Turn which nobody holds; none while somebody brings it on, or where nobody here can.
pub fn onward_command(turn: &Turn, sight: &Sight<'_>) -> Option<String> {
    let is_elsewhere =
        turn.is_driven() && turn.machine_id.is_some() && turn.machine_id.as_ref() != sight.machine_id;
    let is_left = !is_elsewhere && (sight.driver)(turn.turn_id) == Some(Seen::Gone);
    match &turn.state {
        TurnState::Unresolved { .. } => {
            Some(unresolved_ask(turn, may_be_told(turn, sight.machine_id, sight.tried)).command)
        }
        TurnState::Candidate if is_left => Some(recover_command(turn.turn_id)),
        TurnState::Admitted | TurnState::Dispatched if is_left && turn.is_driven() => {
            Some(recover_command(turn.turn_id))
        }
        TurnState::Candidate
        | TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => None,
    }
}

/// What answers the gates that block a whole Goal.
pub(super) fn goal_gate_asks(facts: &Facts, goal_id: &GoalId) -> Vec<Ask> {
    let blocks = |gate: &&Gate| gate.goal_id == *goal_id && gate.blocks == Blocks::Goal && gate.is_blocking();
    facts.rows().gates.values().filter(blocks).map(gate_ask).collect()
}

/// The command that looks into a Turn, and brings it on from where it was left.
pub fn recover_command(turn_id: TurnId) -> String {
    format!("turn recover {turn_id} --resume")
}

/// The command that records what can be proved of a Turn, and starts nothing.
pub(super) fn prove_command(turn_id: TurnId) -> String {
    format!("turn recover {turn_id} --prove")
}

/// The command by which a person gives up a Turn.
pub fn abandon_command(turn_id: TurnId) -> String {
    format!("turn abandon {turn_id} --reason TEXT")
}

/// The command that leads on with an effect: a readback while none was tried as it stands, then a person's word.
///
/// Given as it is, a readback says that it told nothing: whoever follows it blindly claims nothing.
pub fn effect_command(effect: &Effect) -> String {
    let id = effect.effect_id;
    match effect.state {
        // What was never sent did not happen.
        EffectState::Intended => format!("effect reconcile {id} --absent --evidence EVIDENCE"),
        EffectState::Dispatched | EffectState::Unknown if effect.may_be_read_back() => {
            format!("effect reconcile {id}")
        }
        EffectState::Dispatched | EffectState::Unknown => {
            format!("effect write-off {id} --reason TEXT --evidence EVIDENCE")
        }
        EffectState::Confirmed
        | EffectState::Absent
        | EffectState::Failed
        | EffectState::WrittenOff { .. } => format!("effect show {id}"),
    }
}

/// What leads out of an effect that is not resolved.
pub fn effect_ask(effect: &Effect) -> Ask {
    ask(Ask::EFFECT, &effect.effect_id, effect_command(effect))
}

/// The effects that block a Todo, as far as they are loaded; none that somebody is at work on.
fn effect_asks(facts: &Facts, todo: &Todo) -> Vec<Ask> {
    let idle = todo.blocking_effects.iter().filter(|id| effect::in_hand(facts, **id).is_none());
    idle.filter_map(|id| effect::loaded(facts.rows(), *id)).map(effect_ask).collect()
}

/// Whether a look from a machine may still tell what an unresolved Turn did, and nobody has looked into it as it stands.
///
/// Only its own machine can look into a driven one; of an attached one a check can be run again, and what its agent
/// did is told by nobody else.
pub fn may_be_told(turn: &Turn, machine_id: Option<&MachineId>, tried: &BTreeSet<TurnId>) -> bool {
    let TurnState::Unresolved { why, .. } = turn.state else { return false };
    let can_look = if turn.is_driven() {
        turn.machine_id.is_none() || turn.machine_id.as_ref() == machine_id
    } else {
        why == Unresolved::Inconclusive
    };
    can_look && !tried.contains(&turn.turn_id)
}

/// What leads out of an unresolved Turn: a look while one may tell, then a person's word.
pub fn unresolved_ask(turn: &Turn, may_be_told: bool) -> Ask {
    let id = turn.turn_id;
    let command = if may_be_told { recover_command(id) } else { abandon_command(id) };
    ask("unresolved", &id, command)
}

/// What [`held_asks`] must read that is not loaded yet; asked once.
pub fn held_reads(turn: &Turn, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    want_held(turn, &mut wanted);
    wanted.missing
}

/// Asks for what [`held_asks`] looks at beside the Turn.
pub(super) fn want_held(turn: &Turn, wanted: &mut Wanted<'_>) {
    turn::want_causes(turn, wanted);
    turn::want_tree(turn, wanted);
    effect::want_open(&turn.goal_id, wanted);
    wanted.want(Read::GoalGates(turn.goal_id.clone()));
    if let Some(todo_id) = turn.todo_id() {
        wanted.want(Read::CancelledDeps(todo_id.clone()));
    }
}

/// What frees a held Turn, cause by cause; nothing left means that a proof settles it. What ends by itself is not named,
/// nor what comes after a pause. Where other work is in the way, that is brought on, and nothing proves the Turn before.
pub fn held_asks(facts: &Facts, turn: &Turn, sight: &Sight<'_>) -> Result<Vec<(Option<Cause>, Ask)>> {
    let id = turn.turn_id;
    let held = |command: String| ask(Code::Held.as_str(), &id, command);
    let causes = turn::causes(facts, turn)?;
    let beside = turn::waits_for(facts, turn, &causes)?;
    if turn::is_provable(&causes) && beside.is_none() {
        return Ok(vec![(causes.first().copied(), held(prove_command(id)))]);
    }
    let beside = beside.and_then(|other| Some((other.turn_id, onward_command(other, sight)?)));
    let mut asks = Vec::new();
    // What a person paused is asked about before anything else of it, as its reason has it.
    let paused = causes.contains(&Cause::Hold);
    // A result is accepted, or worked on again, once its agent has ended what it is at work on.
    let busy = causes.contains(&Cause::AgentBusy);
    let asked = |cause: &Cause| match cause {
        Cause::Hold => true,
        Cause::Requirement => !paused && !busy,
        Cause::Gate
        | Cause::Acceptance
        | Cause::Deps
        | Cause::Proposal
        | Cause::TreeBusy
        | Cause::AgentBusy
        | Cause::Effect => !paused,
    };
    for cause in causes.into_iter().filter(asked) {
        let found = match (cause, turn.todo_id()) {
            (Cause::Requirement, _) => vec![held(format!("turn accept {id}"))],
            (Cause::Gate, todo_id) => {
                let mut gates = goal_gate_asks(facts, &turn.goal_id);
                if let Some(todo_id) = todo_id {
                    gates.extend(facts.todo_gates(todo_id)?.into_iter().map(gate_ask));
                }
                gates
            }
            (Cause::Acceptance, _) => {
                let gate = turn.acceptance_gate.and_then(|gate_id| facts.rows().gates.get(&gate_id));
                gate.map(|gate| Ask { why: Code::Held.as_str(), ..gate_ask(gate) }).into_iter().collect()
            }
            (Cause::Hold, Some(todo_id)) => vec![held(format!("todo unhold {todo_id}"))],
            (Cause::Deps, Some(todo_id)) => {
                let cut = |dep| held(format!("todo unlink {todo_id} --depends-on {dep}"));
                facts.cancelled_dep(todo_id).map(cut).into_iter().collect()
            }
            (Cause::Effect, Some(todo_id)) => match facts.todo(todo_id)? {
                Some(todo) => effect_asks(facts, todo).into_iter().map(|ask| held(ask.command)).collect(),
                None => Vec::new(),
            },
            (Cause::TreeBusy | Cause::AgentBusy, _) => {
                let other = |(other, command)| ask(Code::Held.as_str(), &other, command);
                beside.clone().map(other).into_iter().collect()
            }
            (Cause::Proposal, Some(todo_id)) => {
                let covering = facts.todo(todo_id)?.and_then(|todo| todo.covering.as_ref());
                let proposed = covering.into_iter().flat_map(|covering| &covering.proposed);
                proposed.map(|id| held(confirm_command(*id))).collect()
            }
            (Cause::Hold | Cause::Deps | Cause::Proposal | Cause::Effect, None) => Vec::new(),
        };
        asks.extend(found.into_iter().map(|ask| (Some(cause), ask)));
    }
    Ok(asks)
}

/// What [`todo_asks`] must read of Todos that is not loaded yet, beside what their reasons look at; asked once.
pub fn todo_ask_reads<'i>(todos: impl IntoIterator<Item = &'i TodoId>, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    for todo in todos.into_iter().filter_map(|id| facts.rows().todos.get(id)) {
        if todo.counters.blocking_gates > 0 {
            wanted.want(Read::TodoGates(todo.todo_id.clone()));
        }
        if todo.counters.cancelled_deps > 0 {
            wanted.want(Read::CancelledDeps(todo.todo_id.clone()));
        }
        effect::want(todo, &mut wanted);
        let turn = todo.turn_id.and_then(|turn_id| facts.rows().turns.get(&turn_id));
        if let Some(turn) = turn.filter(|turn| matches!(turn.state, TurnState::Held { .. })) {
            want_held(turn, &mut wanted);
        }
    }
    wanted.missing
}

/// What frees a Todo from one reason, for the agent that has it; nothing where no person is waited for.
pub fn todo_asks(facts: &Facts, asker: &Asker<'_>, todo: &Todo, reason: &Reason) -> Result<Vec<Ask>> {
    let id = &todo.todo_id;
    let lacks = !todo.requires.capabilities.is_subset(&asker.viewer.capabilities);
    Ok(match reason {
        // The author of what a Todo reviews waits for its own result, which is asked about there; later another
        // agent reviews it, or a person does.
        Reason::User(UserWhy::Excluded) if !todo.excluded_agents.contains(asker.viewer.agent_id) => {
            if todo.turn_id.is_some() || reason::works_on_reviewed(facts, todo, &asker.viewer)? {
                return Ok(Vec::new());
            }
            let waive = if goal::has_validators(facts, todo)? { " --waive REASON" } else { "" };
            vec![ask("user", id, format!("todo done {id}{waive}"))]
        }
        Reason::User(why) => vec![person_ask(facts, *why, todo)],
        Reason::Unresolved(UnresolvedBy::Effect(_)) => effect_asks(facts, todo),
        Reason::Unresolved(UnresolvedBy::Turn(turn_id)) => {
            let told = |turn: &Turn| may_be_told(turn, asker.machine_id, &asker.tried);
            facts.turn(turn_id)?.map(|turn| unresolved_ask(turn, told(turn))).into_iter().collect()
        }
        Reason::Held(turn_id, _) => match facts.turn(turn_id)?.filter(|turn| turn.goal_id == *id.goal()) {
            Some(turn) => asker.held_asks(facts, turn)?,
            // What another Goal holds is shown there.
            None => vec![ask(Code::Held.as_str(), turn_id, format!("turn show {turn_id}"))],
        },
        Reason::Gate if seeded!(AsksNobody) => Vec::new(),
        Reason::Gate if facts.has(&Read::TodoGates(id.clone())) => {
            facts.todo_gates(id)?.into_iter().map(gate_ask).collect()
        }
        Reason::Gate => vec![ask("gate", id, format!("gate list --todo {id}"))],
        Reason::Capability => vec![capability_ask(asker, todo, lacks)],
        Reason::Approval(_) if lacks => vec![capability_ask(asker, todo, lacks)],
        Reason::Approval(_) => {
            vec![ask("gate", id, format!("todo claim {id} --as agent:{}", asker.viewer.agent_id))]
        }
        Reason::Replan(Covered::Consumed(cause)) => vec![consumed_ask(facts, *cause, todo)],
        // Whoever claims it is free to.
        Reason::Replan(Covered::Derived(_) | Covered::By(_))
        | Reason::Time(_)
        | Reason::Mine(_)
        | Reason::Peer { .. }
        | Reason::Deps
        | Reason::Claimable => Vec::new(),
    })
}

/// What frees an agent that cannot take a Todo as it is.
fn capability_ask(asker: &Asker<'_>, todo: &Todo, lacks: bool) -> Ask {
    let id = &todo.todo_id;
    if !lacks {
        // A gap in the criteria is claimed by its name.
        let gap = todo.covering.as_ref().map(|covering| &covering.of).filter(|of| of.covered().is_none());
        let word = gap.map_or_else(|| id.to_string(), ToString::to_string);
        return ask(
            "capability",
            id,
            format!("todo claim {word} --as agent:{} --workspace .", asker.viewer.agent_id),
        );
    }
    let all: BTreeSet<_> = gathered(asker.viewer.capabilities.union(&todo.requires.capabilities));
    let (agent, goal) = (asker.viewer.agent_id, id.goal());
    let flags = all.into_iter().flat_map(|key| ["--capability", Label::as_str(key)]);
    let words = ["agent", "add", agent.as_str()].into_iter().chain(flags).chain(["--goal", goal.as_str()]);
    // A label holds no NUL.
    ask("capability", id, shell_line(words).unwrap_or_else(|| "agent add --help".to_owned()))
}

/// What a person does about a Todo that waits for one, whoever asks.
pub fn person_ask(facts: &Facts, why: UserWhy, todo: &Todo) -> Ask {
    let id = &todo.todo_id;
    let command = match why {
        UserWhy::Ended => format!("todo reopen {id}"),
        UserWhy::Blocked => format!("todo unblock {id}"),
        UserWhy::Hold => format!("todo unhold {id}"),
        // What is put off cannot be done yet; a person may still want it now.
        UserWhy::Action => match &todo.state {
            TodoState::Deferred { wake } if !facts.is_awake(wake, todo) => format!("todo unblock {id}"),
            TodoState::Deferred { .. }
            | TodoState::Open
            | TodoState::Blocked { .. }
            | TodoState::Done { .. }
            | TodoState::Cancelled { .. } => format!("todo done {id}"),
        },
        UserWhy::Blocker => format!("todo resolve {id}"),
        UserWhy::Excluded => format!("todo update {id} --clear exclude"),
        UserWhy::ReplanFailed => format!("todo done {id}"),
    };
    ask("user", id, command)
}

/// What a person does about what is lost, once a replan was made for it in vain.
pub fn consumed_ask(facts: &Facts, cause: ReplanCause, todo: &Todo) -> Ask {
    let id = &todo.todo_id;
    let cut = facts.cancelled_dep(id).filter(|_| cause == ReplanCause::DependencyCancelled);
    let command = match (cause, cut) {
        (ReplanCause::WakeLost, _) => format!("todo unblock {id}"),
        (_, Some(dep)) => format!("todo unlink {id} --depends-on {dep}"),
        (_, None) => format!("todo show {id}"), // nothing else stands on
    };
    ask("replan", id, command)
}

/// What [`close_asks`] must read that is not loaded yet; asked at most twice.
pub fn close_reads(goal_id: &GoalId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    let each: [fn(GoalId) -> Read; 5] =
        [Read::Goal, Read::LiveTurns, Read::Unfinished, Read::Gated, Read::GoalGates];
    for read in each {
        wanted.want(read(goal_id.clone()));
    }
    effect::want_open(goal_id, &mut wanted);
    for todo in wanted.rows().todos.values().filter(|todo| todo.counters.blocking_gates > 0) {
        wanted.want(Read::TodoGates(todo.todo_id.clone()));
    }
    wanted.missing
}

/// Whether a Goal that has nothing left to do can be closed, or what a close would still meet.
pub fn close_asks(facts: &Facts, goal_id: &GoalId) -> Result<Vec<Ask>> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let mut asks = Vec::new();
    if goal.next_todo == 1 {
        asks.push(ask(Ask::NO_TODO, goal_id, format!("todo add TITLE --goal {goal_id}")));
    }
    let Some(error) = goal::close_refusal(facts, goal_id)? else {
        asks.push(ask(Ask::READY_TO_CLOSE, goal_id, format!("goal close {goal_id} --achieved")));
        return Ok(asks);
    };
    let before = asks.len();
    if error.code() == Code::GateBlocked {
        let gates = facts.rows().gates.values().filter(|gate| gate.goal_id == *goal_id && gate.is_blocking());
        asks.extend(gates.take(ASKS_MAX).map(gate_ask));
    }
    if asks.len() == before {
        let command = error.hint_args().map_or_else(|| format!("goal show {goal_id}"), str::to_owned);
        // An effect is asked about by its own id.
        let effect = error.details().get("effect_id").and_then(serde_json::Value::as_str);
        asks.push(match effect {
            Some(effect_id) => ask(Ask::EFFECT, &effect_id, command),
            None => ask("acceptance_gap", goal_id, command),
        });
    }
    Ok(asks)
}
