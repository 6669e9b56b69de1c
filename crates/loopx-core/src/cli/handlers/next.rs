//! Owns the handler of `next`: what an agent should do now, and with `--claim` its admission to that.
//!
//! Knows no rule: what is to be done, and in which Goal, the kernel decides.

use serde_json::Value;

use super::{
    caller::{Caller, caller, caller_named},
    decided::Asked,
    desk::Desk,
    given, goal, names,
    next_answer::Answer,
    status::with_eyes,
    submit::{self, Wish},
    todo_owned,
};
use crate::{
    cli::{Args, Context, Origin, Rendered},
    error::{Code, Error, Result},
    kernel::{
        Action, ClaimCommand, Command, Decided, Depth, Outcome,
        claim::{Claim, Next, Sighted},
    },
    model::{Actor, AgentId, Duration, EndpointId, Executor, GoalId, OwnId, Receipt, Timestamp, Workspace},
    projection::{self, Inquiry},
};

/// How often it is decided anew where what was decided had changed once it was to be taken.
const ROUNDS: usize = 2;

/// `next`.
pub(in crate::cli) fn next(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    if args.switch("claim") {
        return claim(context, args, &mut desk);
    }
    let asking = Asking::of(context, args, &mut desk)?;
    let (goal, decided) = asking.decide(context, args, &mut desk)?;
    let answer = Answer::of(&asking, goal, decided);
    answer.shown(context, args, &mut desk)
}

/// Who asks what is next, and over which Goals.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) agent: AgentId,
    endpoint: EndpointId,
    executor: Executor,
    pub(super) own_id: Option<OwnId>,
    /// The one Goal that is meant; none for all of them.
    pub(super) goal: Option<GoalId>,
}

impl Asking {
    /// Whoever a call names by `--agent`, else the agent that acts.
    ///
    /// Errors: as [`caller`]; `invalid_argument` where nobody is named, or two are.
    pub(super) fn of(context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Self> {
        let (agent, endpoint) = match args.text("agent") {
            Some(word) => {
                let agent = names::agent(word)?;
                let acting = args.text("as").map(str::parse::<Actor>).transpose()?;
                let acting = acting.as_ref().and_then(Actor::agent).filter(|(acting, _)| **acting == agent);
                let endpoint =
                    acting.map_or_else(|| agent.default_endpoint(), |(_, endpoint)| endpoint.clone());
                (agent, endpoint)
            }
            None => agent_of(&caller(context, args, desk).map_err(nobody)?)?,
        };
        Self::new(args, agent, endpoint)
    }

    fn new(args: &Args, agent: AgentId, endpoint: EndpointId) -> Result<Self> {
        let goal = names::goal_given(args)?;
        let own_id = if takes(args, "own") { given::parsed(args, "own")? } else { None };
        let is_driven = takes(args, "driven") && args.switch("driven");
        let executor = if is_driven { Executor::Hosted } else { Executor::Attached };
        Ok(Self { agent, endpoint, executor, own_id, goal })
    }

    /// For whom a decision was made, in one of the Goals.
    pub(super) fn asked<'a>(&'a self, goal: &'a GoalId) -> Asked<'a> {
        Asked { goal, agent: &self.agent, one_goal: self.goal.is_some(), own_id: self.own_id }
    }

    /// What it should do, by a read alone.
    pub(super) fn decide(
        &self,
        context: &Context<'_, '_>,
        args: &Args,
        desk: &mut Desk,
    ) -> Result<(GoalId, Decided)> {
        let bound = desk.bound_goal();
        let of = self.goal.as_ref().or(bound.as_ref());
        let given = if takes(args, "workspace") { args.file("workspace") } else { None };
        let tree = todo_owned::tree_elsewhere(context, given, desk, of)?;
        let workspace = tree.map(|tree| goal::work_tree(context, desk, Some(&tree))).transpose()?;
        self.decide_in(desk, workspace.map(|(workspace, _)| workspace).as_ref())
    }

    fn decide_in(&self, desk: &mut Desk, workspace: Option<&Workspace>) -> Result<(GoalId, Decided)> {
        let inquiry = Inquiry {
            own_id: self.own_id,
            workspace,
            executor: self.executor,
            ..Inquiry::new(&self.agent, &self.endpoint)
        };
        with_eyes(desk, |view, terms, eyes| match &self.goal {
            Some(goal) => Ok((goal.clone(), projection::decision(view, terms, goal, &inquiry, eyes)?)),
            None => projection::decisions(view, terms, &inquiry, eyes),
        })
    }
}

/// Whether a command has an argument of this name.
fn takes(args: &Args, id: &str) -> bool {
    args.command().args.iter().any(|arg| arg.id == id)
}

/// The agent that acts.
fn agent_of(caller: &Caller) -> Result<(AgentId, EndpointId)> {
    match caller.actor.agent() {
        Some((agent, endpoint)) => Ok((agent.clone(), endpoint.clone())),
        None => Err(nobody(Error::from(Code::MissingActor))),
    }
}

/// That no agent is named, where it is an agent's question.
fn nobody(error: Error) -> Error {
    if error.code() != Code::MissingActor {
        return error;
    }
    Error::new(Code::MissingActor, "what is next is an agent's question: name it")
        .hint("next --agent AGENT")
        .detail("argument", "--agent")
}

/// `next --claim`.
fn claim(context: &mut Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Rendered> {
    let caller = claimant(context, args, desk)?;
    let (agent, endpoint) = agent_of(&caller)?;
    let asking = Asking::new(args, agent, endpoint)?;
    let operation_id = submit::operation_id(args)?;
    // What was given before returns what it returned, whatever is next now.
    let before = match args.text("op-id") {
        Some(_) => desk.authority.receipt(&operation_id)?.and_then(|receipt| receipt.goal_id().cloned()),
        None => None,
    };
    if let Some(goal_id) = before {
        let command = asking.command(context, args, desk, &goal_id, Sighted::default())?;
        let wish = Wish::new(goal_id, command);
        let receipt = submit::receive(context, args, desk, caller, operation_id, wish)?;
        return asking.received(receipt, None)?.shown(context, args, desk);
    }
    let mut last = None;
    for round in 0..ROUNDS {
        let (goal_id, decided) = asking.decide(context, args, desk)?;
        let is_taken = match &decided.action {
            Action::Run { turn_id: None, .. } | Action::Repair { .. } | Action::Replan { .. } => true,
            Action::AskUser { .. } => !decided.unasked.is_empty(),
            Action::Run { .. } | Action::Reconcile { .. } | Action::Wait { .. } | Action::Closed => false,
        };
        if !is_taken {
            let answer = Answer::of(&asking, goal_id, decided).with_own(desk)?;
            return answer.shown(context, args, desk);
        }
        if let Some(todo_id) = decided.action.todo_id() {
            let replan = decided.action.replan().cloned();
            let claim = Claim { replan, ..Claim::attached(todo_id.clone()) };
            let met = Command::Claim(ClaimCommand::Claim(Box::new(claim)));
            submit::prove_in_the_way(context, desk, &goal_id, &met, &caller.actor)?;
        }
        // What a short page settled is looked for there first.
        let depth = if round == 0 { decided.depth } else { Depth::Whole };
        let sighted =
            with_eyes(desk, |view, _, eyes| projection::sighted(view, &goal_id, &asking.agent, eyes))?;
        let command = asking.command(context, args, desk, &goal_id, Sighted { depth, ..sighted })?;
        let wish = Wish::new(goal_id.clone(), command);
        match submit::receive(context, args, desk, caller.clone(), operation_id.clone(), wish) {
            Ok(receipt) => {
                let answer = asking.received(receipt, Some(decided))?;
                if let Some(turn_id) = answer.outcome.turn_id {
                    todo_owned::begun(context, desk, turn_id);
                }
                return answer.shown(context, args, desk);
            }
            Err(error) if is_changed(error.code()) => last = Some((goal_id, decided, error)),
            Err(error) => return Err(error),
        }
    }
    let (goal_id, decided, error) = last.ok_or_else(|| Error::from(Code::Internal))?;
    let until = error.details().get("until_ms").and_then(Value::as_i64).map(Timestamp::from_ms);
    let action = Action::Wait { why: "changed", until, turn_id: None };
    Answer::of(&asking, goal_id, instead(decided, action)).shown(context, args, desk)
}

/// What a decision looked at, with another answer.
fn instead(decided: Decided, action: Action) -> Decided {
    let Decided { rule, also, trace, .. } = decided;
    Decided { also, trace, ..Decided::of(rule, action) }
}

/// Whether a refusal says that something else is to be done by now.
fn is_changed(code: Code) -> bool {
    matches!(code, Code::NotReady | Code::ReconciliationRequired | Code::GoalClosed)
}

/// Who takes what is next: the agent that is named by `--agent`, else whoever acts.
fn claimant(context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Caller> {
    let Some(word) = args.text("agent") else {
        return caller(context, args, desk).map_err(nobody);
    };
    let agent = names::agent(word)?;
    let standing = args.text("as").map(str::parse::<Actor>).transpose()?;
    let is_same = |actor: &Actor| actor.agent().is_some_and(|(acting, _)| *acting == agent);
    if args.origin("as") == Some(Origin::Flag) && !standing.as_ref().is_some_and(is_same) {
        let message = format!("`--agent` names {agent}, and `--as` somebody else");
        return Err(Error::new(Code::InvalidArgument, message).detail("argument", "--agent"));
    }
    let acting = standing.filter(is_same);
    let endpoint = agent.default_endpoint();
    let named = acting.unwrap_or_else(|| Actor::Agent(agent.clone(), endpoint));
    caller_named(context, args, desk, Some(named))
}

impl Asking {
    fn command(
        &self,
        context: &Context<'_, '_>,
        args: &Args,
        desk: &mut Desk,
        goal: &GoalId,
        sighted: Sighted,
    ) -> Result<Command> {
        let tree = todo_owned::tree_elsewhere(context, args.file("workspace"), desk, Some(goal))?;
        let next = Next {
            ttl_ms: Some(Duration::from_ms(desk.settings.millis("ownership.ttl")?)),
            workspace: tree.map(|tree| goal::workspace(context, desk, Some(&tree))).transpose()?,
            own_id: self.own_id,
            sighted,
        };
        Ok(Command::Claim(ClaimCommand::Next(Box::new(next))))
    }

    /// The answer that a receipt is: what was admitted, or what a person was asked.
    fn received(&self, receipt: Receipt, found: Option<Decided>) -> Result<Answer> {
        let goal = receipt.goal_id().cloned().ok_or_else(|| Error::from(Code::Internal))?;
        let outcome: Outcome = receipt.outcome()?;
        let action = match (receipt.negative(), outcome.todo_ids.first()) {
            (None, Some(todo_id)) => Action::Run { todo_id: todo_id.clone(), turn_id: outcome.turn_id },
            (Some(Code::GateOpened), _) => Action::AskUser { asks: Vec::new() },
            (Some(_), _) | (None, None) => return Err(Error::from(Code::Internal)),
        };
        let decided = match found {
            Some(found) => instead(found, action),
            None => Decided::of(7, action),
        };
        Ok(Answer::of(self, goal, decided).received(receipt, outcome))
    }
}
