//! Owns what `next` says of a decision, and of what it led to: for programs, and for people.
//!
//! Knows no rule, and not how the decision came about.

use serde_json::{Map, Value, json};

use super::{
    decided::{self, Asked},
    desk::Desk,
    names,
    next::Asking,
    reader::Reader,
    schema, show,
};
use crate::{
    cli::{Args, Block, Context, Document, Rendered},
    error::Result,
    kernel::{Action, Ask, Decided, Facts, Outcome, Read, gate_ask, return_commands},
    model::{AgentId, GoalId, OwnId, PeerReturn, Receipt, Todo, TodoId, TodoKind, json_value},
    projection::{self, TurnRow, should, with_units},
};

/// How many returns that wait for a word are named at once.
const RETURNS_MAX: usize = 4;

/// What is said of a decision, and of what it led to.
#[derive(Debug)]
pub(super) struct Answer {
    agent: AgentId,
    goal: GoalId,
    own_id: Option<OwnId>,
    one_goal: bool,
    decided: Decided,
    receipt: Option<Receipt>,
    pub(super) outcome: Outcome,
}

impl Answer {
    pub(super) fn of(asking: &Asking, goal: GoalId, decided: Decided) -> Self {
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

    /// With what was written, and what that came to.
    pub(super) fn received(self, receipt: Receipt, outcome: Outcome) -> Self {
        Self { receipt: Some(receipt), outcome, ..self }
    }

    /// The ownership that goes with the Turn which was presented.
    pub(super) fn with_own(mut self, desk: &mut Desk) -> Result<Self> {
        if let Action::Run { todo_id, turn_id: Some(turn_id) } = &self.decided.action {
            let own = names::todo_row(desk, todo_id)?.ownership.filter(|own| own.turn_id == *turn_id);
            self.outcome.turn_id = Some(*turn_id);
            self.outcome.own_id = own.as_ref().map(|own| own.own_id);
            self.outcome.expires_at_ms = own.map(|own| own.expires_at);
        }
        Ok(self)
    }

    pub(super) fn shown(
        mut self,
        context: &Context<'_, '_>,
        args: &Args,
        desk: &mut Desk,
    ) -> Result<Rendered> {
        if self.receipt.is_some()
            && let Action::AskUser { asks } = &mut self.decided.action
        {
            *asks = opened(desk, &self.outcome.todo_ids)?;
        }
        // What a whole Goal is obliged to is no Todo before it is taken.
        let named = |action: &Action| action.replan().is_none_or(|of| of.covered().is_some());
        let todo = self.decided.action.todo_id().filter(|_| named(&self.decided.action)).cloned();
        let todo = todo.map(|id| names::todo_row(desk, &id)).transpose()?;
        let refused = todo.as_ref().filter(|_| self.receipt.is_some()).and_then(Todo::to_repair);
        if let (Some(end), Action::Run { todo_id, .. }) = (refused, &self.decided.action) {
            self.decided.action = Action::Repair { todo_id: todo_id.clone(), failure: end.note.clone() };
        }
        // A replan that was taken by its name is a Todo by now.
        if let (true, Some(todo_id)) = (self.receipt.is_some(), replan_of(todo.as_ref())) {
            self.decided.action = Action::Replan { todo_id, replan: None };
        }
        let exit = decided::exit(&self.decided.action);
        let awaited = match &self.decided.action {
            Action::Wait { turn_id: Some(turn_id), .. } => {
                Some(TurnRow::of(&names::turn_row(desk, *turn_id)?))
            }
            _ => None, // same spelling: what is no wait names no Turn
        };
        let returns = match &todo {
            Some(todo) => desk.look(|view, _| projection::undecided(view, &todo.todo_id, RETURNS_MAX))?,
            None => Vec::new(),
        };
        let returns: Vec<&PeerReturn> = returns.iter().map(|row| row.get()).collect::<Result<_>>()?;
        let document = self.document(context, args, desk, todo.as_ref(), &returns)?;
        let body = self.body(args, todo.as_ref(), awaited.as_ref(), &returns)?;
        let body = Reader::of(context, args, desk).told(&body)?;
        let rendered = Rendered::new(schema::NEXT, &body, document)?.exit(exit);
        Ok(match &self.receipt {
            Some(receipt) => rendered.operation(receipt.operation_id(), receipt.is_replayed()),
            None => rendered,
        })
    }

    /// The token that goes with the Turn.
    fn presented(&self) -> Option<OwnId> {
        self.outcome.own_id.or(self.own_id)
    }

    /// How its owner says what becomes of a return.
    fn decisions(&self, given: &PeerReturn, own_id: Option<OwnId>) -> [String; 2] {
        let own_id = own_id.map_or_else(|| "OWN_ID".to_owned(), |own_id| own_id.to_string());
        return_commands(given.return_id)
            .map(|command| format!("{command} --as agent:{} --own {own_id}", self.agent))
    }

    fn body(
        &self,
        args: &Args,
        todo: Option<&Todo>,
        awaited: Option<&TurnRow>,
        returns: &[&PeerReturn],
    ) -> Result<Value> {
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
        if let Some(turn) = awaited {
            body.insert("turn".to_owned(), json_value(turn)?);
            body.insert("command".to_owned(), json!(decided::turn_show(turn.turn_id)));
        }
        if !returns.is_empty() {
            let own_id = self.presented();
            let one = |given: &&PeerReturn| {
                json!({
                    "return_id": given.return_id,
                    "from": given.from,
                    "summary": given.summary,
                    "commands": self.decisions(given, own_id),
                })
            };
            body.insert("returns".to_owned(), returns.iter().map(one).collect());
        }
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
        returns: &[&PeerReturn],
    ) -> Result<Document> {
        let action = &self.decided.action;
        let (why, _) = decided::explain(desk, &self.decided)?;
        let own_id = self.presented();
        let asked = Asked { goal: &self.goal, agent: &self.agent, one_goal: self.one_goal, own_id };
        let mut commands = decided::commands(desk, &asked, &self.decided)?;
        let is_admitted = self.outcome.own_id.is_some();
        if let (true, Some(own_id), Some(todo)) = (is_admitted, own_id, todo) {
            commands = vec![format!("todo done {} --as agent:{} --own {own_id}", todo.todo_id, self.agent)];
        }
        commands.extend(returns.iter().flat_map(|given| self.decisions(given, own_id)));
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
            .list("returned to it", returns.iter().map(|given| show::undecided(given)))
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

/// The Todo, if it is to change a plan.
fn replan_of(todo: Option<&Todo>) -> Option<TodoId> {
    todo.filter(|todo| todo.kind == TodoKind::Replan).map(|todo| todo.todo_id.clone())
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
