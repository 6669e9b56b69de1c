//! Owns the handler of `next`: what an agent should do now, and with `--claim` its admission to that.
//!
//! Knows no rule: what is to be done, and in which Goal, the kernel decides.

use serde_json::{Map, Value, json};

use super::{
    caller::{Caller, caller, caller_named},
    decided::{self, Asked},
    desk::Desk,
    given, goal, names,
    reader::Reader,
    schema, show,
    status::with_eyes,
    submit::{self, Wish},
    todo_owned,
};
use crate::{
    cli::{Args, Block, Context, Document, Origin, Rendered},
    error::{Code, Error, Result},
    kernel::{
        Action, Ask, ClaimCommand, Command, Decided, Depth, Facts, Outcome, Read,
        claim::{Claim, Next, Sighted},
        gate_ask,
    },
    model::{
        Actor, AgentId, Duration, EndpointId, GoalId, OwnId, Receipt, Timestamp, Todo, TodoId, Workspace,
        json_value,
    },
    projection::{self, Inquiry, should, with_units},
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
    own_id: Option<OwnId>,
    /// The one Goal that is meant; none for all of them.
    goal: Option<GoalId>,
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
        let own_id = given::parsed(args, "own")?;
        Ok(Self { agent, endpoint, own_id, goal })
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
        let tree = todo_owned::tree_elsewhere(context, args, desk, of)?;
        let workspace = tree.map(|tree| goal::work_tree(context, desk, Some(&tree))).transpose()?;
        self.decide_in(desk, workspace.map(|(workspace, _)| workspace).as_ref())
    }

    fn decide_in(&self, desk: &mut Desk, workspace: Option<&Workspace>) -> Result<(GoalId, Decided)> {
        let inquiry =
            Inquiry { agent: &self.agent, endpoint: &self.endpoint, own_id: self.own_id, workspace };
        with_eyes(desk, |view, terms, eyes| match &self.goal {
            Some(goal) => Ok((goal.clone(), projection::decision(view, terms, goal, &inquiry, eyes)?)),
            None => projection::decisions(view, terms, &inquiry, eyes),
        })
    }
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
            Action::Run { turn_id: None, .. } | Action::Repair { .. } => true,
            Action::AskUser { .. } => !decided.unasked.is_empty(),
            Action::Run { .. } | Action::Reconcile { .. } | Action::Wait { .. } | Action::Closed => false,
        };
        if !is_taken {
            let answer = Answer::of(&asking, goal_id, decided).with_own(desk)?;
            return answer.shown(context, args, desk);
        }
        if let Some(todo_id) = decided.action.todo_id() {
            let met = Command::Claim(ClaimCommand::Claim(Box::new(Claim::attached(todo_id.clone()))));
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
    let action = Action::Wait { why: "changed", until };
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
        let tree = todo_owned::tree_elsewhere(context, args, desk, Some(goal))?;
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
        Ok(Answer { receipt: Some(receipt), outcome, ..Answer::of(self, goal, decided) })
    }
}

/// What is said of a decision, and of what it led to.
#[derive(Debug)]
struct Answer {
    agent: AgentId,
    goal: GoalId,
    own_id: Option<OwnId>,
    one_goal: bool,
    decided: Decided,
    receipt: Option<Receipt>,
    outcome: Outcome,
}

impl Answer {
    fn of(asking: &Asking, goal: GoalId, decided: Decided) -> Self {
        Self {
            agent: asking.agent.clone(),
            goal,
            own_id: asking.own_id,
            one_goal: asking.goal.is_some(),
            decided,
            receipt: None,
            outcome: Outcome::default(),
        }
    }

    /// The ownership that goes with the Turn which was presented.
    fn with_own(mut self, desk: &mut Desk) -> Result<Self> {
        if let Action::Run { todo_id, turn_id: Some(turn_id) } = &self.decided.action {
            let own = names::todo_row(desk, todo_id)?.ownership.filter(|own| own.turn_id == *turn_id);
            self.outcome.turn_id = Some(*turn_id);
            self.outcome.own_id = own.as_ref().map(|own| own.own_id);
            self.outcome.expires_at_ms = own.map(|own| own.expires_at);
        }
        Ok(self)
    }

    fn shown(mut self, context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Rendered> {
        if self.receipt.is_some()
            && let Action::AskUser { asks } = &mut self.decided.action
        {
            *asks = opened(desk, &self.outcome.todo_ids)?;
        }
        let todo = self.decided.action.todo_id().cloned();
        let todo = todo.map(|id| names::todo_row(desk, &id)).transpose()?;
        let refused =
            todo.as_ref().filter(|_| self.receipt.is_some()).and_then(|todo| todo.last_end.as_ref());
        if let (Some(end), Action::Run { todo_id, .. }) =
            (refused.filter(|end| end.repair), &self.decided.action)
        {
            self.decided.action = Action::Repair { todo_id: todo_id.clone(), failure: end.note.clone() };
        }
        let exit = decided::exit(&self.decided.action);
        let document = self.document(context, args, desk, todo.as_ref())?;
        let body = self.body(args, todo.as_ref())?;
        let rendered = Rendered::new(schema::NEXT, &body, document)?.exit(exit);
        Ok(match &self.receipt {
            Some(receipt) => rendered.operation(receipt.operation_id(), receipt.is_replayed()),
            None => rendered,
        })
    }

    fn body(&self, args: &Args, todo: Option<&Todo>) -> Result<Value> {
        let mut body = Map::new();
        if let Some(receipt) = &self.receipt {
            body.insert("receipt".to_owned(), json_value(receipt)?);
        }
        if let Value::Object(fields) = with_units(json_value(&self.decided)?) {
            body.extend(fields);
        }
        body.insert("agent_id".to_owned(), json!(self.agent));
        body.insert("goal_id".to_owned(), json!(self.goal));
        body.insert("todo".to_owned(), todo.map_or(Value::Null, todo_fields));
        let Outcome { own_id, turn_id, expires_at_ms, .. } = &self.outcome;
        if let Some(own_id) = own_id {
            body.insert("own_id".to_owned(), json!(own_id));
            body.insert("turn_id".to_owned(), json!(turn_id));
            body.insert("expires_at".to_owned(), json!(expires_at_ms.map(show::rfc3339)));
            body.insert("expires_at_ms".to_owned(), json!(expires_at_ms));
        }
        if let Some(gate_id) = self.outcome.gate_id {
            body.insert("gate_id".to_owned(), json!(gate_id));
        }
        if args.switch("explain") {
            body.insert("trace".to_owned(), json_value(&self.decided.trace)?);
        }
        Ok(Value::Object(body))
    }

    fn document(
        &self,
        context: &Context<'_, '_>,
        args: &Args,
        desk: &mut Desk,
        todo: Option<&Todo>,
    ) -> Result<Document> {
        let action = &self.decided.action;
        let (why, _) = decided::explain(desk, &self.decided)?;
        let own_id = self.outcome.own_id.or(self.own_id);
        let asked = Asked { goal: &self.goal, agent: &self.agent, one_goal: self.one_goal, own_id };
        let mut commands = decided::commands(desk, &asked, &self.decided)?;
        let is_admitted = self.outcome.own_id.is_some();
        if let (true, Some(own_id), Some(todo)) = (is_admitted, own_id, todo) {
            commands = vec![format!("todo done {} --as agent:{} --own {own_id}", todo.todo_id, self.agent)];
        }
        let now = desk.look(|_, terms| Ok(terms.now))?;
        let until = match action {
            Action::Wait { until, .. } => until.map(|until| show::when(until, now)),
            _ => None, // same spelling: what is no wait names no moment
        };
        let facts = show::Facts::default()
            .add(
                self.agent.as_str(),
                format!("should {}", if is_admitted { "work on it" } else { should(action.name()) }),
            )
            .maybe("todo", todo.map(|todo| format!("{}: {}", todo.todo_id, todo.title)))
            .maybe("goal", todo.is_none().then_some(&self.goal))
            .maybe("why", why)
            .maybe("until", until)
            .maybe("own_id", self.outcome.own_id)
            .maybe("yours", self.outcome.expires_at_ms.map(|at| format!("until {}", show::utc(at))));
        let mut document = Document::new().with(facts.block());
        if args.switch("explain") {
            let rows = self.decided.trace.iter().map(|looked| {
                let held = if looked.held { "yes" } else { "no" };
                vec![looked.rule.to_string(), looked.asks.to_owned(), held.to_owned(), looked.saw.clone()]
            });
            document = document.log(&["RULE", "ASKS", "HELD", "SAW"], rows.collect());
        }
        let reader = Reader::of(context, args, desk);
        let mut commands = commands.iter().map(|command| reader.command(&names::commanded(command)));
        document = document.lines(commands.next().map(|command| format!("next: {command}")));
        let then: Vec<_> = commands.collect();
        if !then.is_empty() {
            document = document.with(Block::Heading(2, "Then".to_owned())).code(then);
        }
        Ok(document)
    }
}

/// What a program is told of the Todo.
fn todo_fields(todo: &Todo) -> Value {
    json!({
        "todo_id": todo.todo_id,
        "goal_id": todo.todo_id.goal(),
        "title": todo.title,
        "kind": todo.kind,
        "priority": todo.priority,
        "revision": todo.revision,
    })
}

/// What answers the gates that block some Todos.
fn opened(desk: &mut Desk, todo_ids: &[TodoId]) -> Result<Vec<Ask>> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&todo_ids.iter().map(|id| Read::TodoGates(id.clone())).collect(), &mut facts)?;
        let mut asks = Vec::new();
        for todo_id in todo_ids {
            asks.extend(facts.todo_gates(todo_id)?.into_iter().map(gate_ask));
        }
        Ok(asks)
    })
}
