//! Owns how the end of a loop is answered: what was done, what it used, what each open Todo waits for, what comes next.
//!
//! Knows no rule. What only waits, for a moment or a person, is an answer with its own exit code; what went wrong, or was
//! cut short, is an error of its class with the same account among its details.

use serde_json::{Value, json};

use super::{
    super::{schema, show, turn_end},
    Loop,
};
use crate::{
    authority::TodoFilter,
    cli::{Document, Rendered, parse::show_duration_ms},
    error::{Code, Error, Result},
    kernel::{Ask, Facts, READ_ROUNDS, Read, Reason, Viewer, reason, reason_reads, recover_command},
    model::{FailedBy, TodoId, json_value},
    projection::{plain, word},
    turn::controller::{Disposition, Ended, FAILURES_MAX, Meter, Refusal, ReplanWhy, StopWhy},
};

/// The exit code of a loop that ends where it would wait.
const WAITS: u8 = 10;
/// The exit code of a loop that ends where a person has to act.
const ASKS: u8 = 11;
/// How many open Todos are named.
const OPEN_MAX: usize = 20;

/// An open Todo, and what it waits for.
struct Open {
    todo_id: TodoId,
    title: String,
    reason: Reason,
}

/// How a loop ends: in words, with what leads on, and with the code where it is an error.
struct End {
    why: String,
    command: Option<String>,
    code: Option<Code>,
    exit: u8,
}

impl End {
    fn good(why: impl Into<String>, exit: u8, command: Option<String>) -> Self {
        Self { why: why.into(), command, code: None, exit }
    }

    fn bad(code: Code, why: impl Into<String>, command: impl Into<String>) -> Self {
        Self { why: why.into(), command: Some(command.into()), code: Some(code), exit: 0 }
    }
}

impl Loop<'_, '_, '_> {
    /// Answers the end of the loop.
    ///
    /// Errors: the class of what ended it, with the account of the loop.
    pub(super) fn answer(&mut self, disposition: &Disposition) -> Result<Rendered> {
        let end = self.end(disposition)?;
        let open = self.open()?;
        let account = self.account(disposition, &end, &open);
        let lines = self.document(&end, &open);
        let Some(code) = end.code else {
            let mut body = json!({ "loop": account });
            if let (Value::Object(fields), Some(receipt)) = (&mut body, &self.receipt) {
                fields.insert("receipt".to_owned(), json_value(receipt)?);
            }
            let rendered = Rendered::new(schema::LOOP, &body, lines)?.exit(end.exit);
            return Ok(rendered.operation(&self.base, false));
        };
        for line in self.told(&open) {
            self.say(&line);
        }
        let mut error =
            Error::new(code, end.why).detail("operation_id", self.base.as_str()).detail("loop", account);
        if let Some(receipt) = &self.receipt {
            error = error.detail("receipt", json_value(receipt)?);
        }
        Err(match end.command {
            Some(command) => error.hint(command),
            None => error,
        })
    }

    fn end(&mut self, disposition: &Disposition) -> Result<End> {
        let (goal, agent) = (self.goal.clone(), self.agent.clone());
        let plan = format!("turn plan --agent {agent} --goal {goal}");
        let by_ask = |asks: &[Ask]| asks.first().map(|ask| ask.command.clone());
        Ok(match disposition {
            Disposition::Terminal => End::good("the work is at its end", 0, None),
            Disposition::Wait { why, until } => {
                let until =
                    until.map_or_else(String::new, |at| format!(", until {} at the latest", show::utc(at)));
                End::good(format!("{agent} waits: {}{until}", plain(why)), WAITS, Some(plan))
            }
            Disposition::UserActionRequired(asks) => {
                let about: Vec<_> =
                    asks.iter().map(|ask| format!("{} ({})", plain(ask.why), ask.about)).collect();
                End::good(format!("a person has to act: {}", about.join("; ")), ASKS, by_ask(asks))
            }
            Disposition::Stop(StopWhy::Interrupted) => {
                End::bad(Code::NotReady, "the loop was ended by a signal", self.again())
            }
            Disposition::Stop(StopWhy::TurnStopped) => {
                End::bad(Code::NotReady, "its last Turn was stopped, so the loop ends too", self.again())
            }
            Disposition::Stop(StopWhy::GoalStopped) => End::bad(
                Code::GoalStopped,
                format!("the Goal {goal} is stopped"),
                format!("goal resume {goal}"),
            ),
            Disposition::Stop(StopWhy::Budget(meter)) => {
                End::bad(Code::NotReady, self.spent(*meter), self.again())
            }
            Disposition::Replan(ReplanWhy::Budget(meter)) => {
                let why = format!(
                    "{}, and its last Turn brought progress and no end: look at the plan",
                    self.spent(*meter)
                );
                End::bad(Code::NotReady, why, format!("todo list --goal {goal}"))
            }
            Disposition::Replan(ReplanWhy::Asked) => End::bad(
                Code::NotReady,
                "the last Turn says that the plan does not hold",
                self.last_turn().unwrap_or(plan),
            ),
            Disposition::Repair { .. } => self.broken(),
            Disposition::Reconcile { .. } => self.unresolved()?,
            Disposition::Refused(refusal) => End::bad(Code::StaleRevision, refused(refusal), plan),
            Disposition::RunNow { .. } => return Err(Error::from(Code::Internal)),
        })
    }

    /// The call that goes on.
    fn again(&self) -> String {
        format!("loop run --agent {} --goal {} --host COMMAND", self.agent, self.goal)
    }

    fn spent(&self, meter: Meter) -> String {
        let declared = self.used.declared();
        match meter {
            Meter::Turns => format!("the budget of {} Turns is spent", declared.turns),
            Meter::Wall => format!("the budget of {} is spent", show_duration_ms(declared.wall_ms)),
            Meter::Cost => "the budget of cost is spent, or what was used of it is not known".to_owned(),
        }
    }

    fn last_turn(&self) -> Option<String> {
        self.used.ran().last().map(|ran| format!("turn show {}", ran.turn_id))
    }

    /// The last Turn failed, and no further one is begun.
    fn broken(&self) -> End {
        let plan = format!("turn plan --agent {} --goal {}", self.agent, self.goal);
        let Some(last) = self.used.ran().last() else {
            return End::bad(
                Code::NotReady,
                "what is to be done next is a repair, and nothing is left for it",
                plan,
            );
        };
        let budget = self.used.budget();
        let todo = last.todo_id.as_ref().map(ToString::to_string).unwrap_or_default();
        let times = if budget.alike >= FAILURES_MAX {
            format!("{} Turns in a row failed alike", budget.alike)
        } else if let Some(meter) = budget.spent() {
            format!("the last Turn failed, and {}", self.spent(meter))
        } else {
            "the last Turn failed, and no other can be begun now".to_owned()
        };
        let (code, why) = match &last.ended {
            Ended::Failed(how) => (failure_code(*how), plain(failure_word(*how)).to_owned()),
            Ended::Fenced => (Code::OwnershipSuperseded, "another ownership took over".to_owned()),
            Ended::Completion { .. }
            | Ended::Progress
            | Ended::RepairRequired
            | Ended::ReplanRequired
            | Ended::Stopped(_)
            | Ended::Unresolved
            | Ended::Held
            | Ended::AtWork => (Code::NotReady, "its result has to be repaired".to_owned()),
        };
        End::bad(code, format!("{times} on {todo}: {why}"), format!("turn show {} --output", last.turn_id))
    }

    fn unresolved(&mut self) -> Result<End> {
        let last = self.used.ran().iter().rev().find(|ran| ran.ended == Ended::Unresolved);
        let Some(turn_id) = last.map(|ran| ran.turn_id) else {
            let plan = format!("turn plan --agent {} --goal {}", self.agent, self.goal);
            return Ok(End::bad(Code::TurnUnresolved, "what a Turn did is not known", plan));
        };
        let around = self.bench.site(&mut self.desk).around(turn_id)?;
        let command = around.asks.first().map_or_else(|| recover_command(turn_id), |ask| ask.command.clone());
        Ok(End::bad(Code::TurnUnresolved, format!("what the Turn {turn_id} did is not known"), command))
    }

    /// The open Todos, and what each waits for.
    fn open(&mut self) -> Result<Vec<Open>> {
        let (goal, agent, workspace) = (&self.goal, &self.agent, &self.workspace);
        self.desk.look(|view, terms| {
            let filter = TodoFilter { goal, live: true, bucket: None };
            let ids: Vec<_> =
                view.todos(&filter, 0, OPEN_MAX)?.into_iter().map(|todo| todo.todo_id).collect();
            let mut facts = Facts::new(terms.clone());
            view.load(&[Read::Agent(goal.clone(), agent.clone())].into(), &mut facts)?;
            let row = facts.agent(&(goal.clone(), agent.clone()))?;
            let capabilities = row.map(|row| row.capabilities.clone()).unwrap_or_default();
            let viewer = Viewer { agent_id: agent, capabilities, own_id: None, workspace: Some(workspace) };
            for _ in 0..READ_ROUNDS {
                let missing = reason_reads(&ids, &viewer, &facts);
                view.load(&missing, &mut facts)?;
            }
            let mut open = Vec::new();
            for id in &ids {
                let Some(todo) = facts.todo(id)? else { continue };
                let (todo_id, title) = (id.clone(), todo.title.to_string());
                open.push(Open { todo_id, title, reason: reason(&facts, todo, &viewer)? });
            }
            Ok(open)
        })
    }

    fn account(&self, disposition: &Disposition, end: &End, open: &[Open]) -> Value {
        let turns: Vec<_> = self
            .used
            .ran()
            .iter()
            .map(|ran| json!({"turn_id": ran.turn_id, "todo_id": ran.todo_id, "state": ran.state}))
            .collect();
        let open: Vec<_> = open
            .iter()
            .map(|one| json!({"todo_id": one.todo_id, "title": one.title, "waits_for": one.reason.name()}))
            .collect();
        let settled = self.used.ran().iter().filter(|ran| ran.state == "settled").count();
        let mut account = json!({
            "goal_id": self.goal,
            "agent_id": self.agent,
            "operation_id": self.base,
            "disposition": disposition.name(),
            "why": end.why,
            "turns": turns,
            "settled": settled,
            "used": self.used.object(),
            "budget": self.used.declared().object(),
            "open": open,
        });
        if let (Value::Object(fields), Some(command)) = (&mut account, &end.command) {
            fields.insert("next".to_owned(), command.as_str().into());
        }
        match (&mut account, disposition) {
            (Value::Object(fields), Disposition::Refused(refusal)) => {
                fields.insert("refusal".to_owned(), refusal.as_str().into());
            }
            (Value::Object(fields), Disposition::UserActionRequired(asks)) => {
                fields.insert("asks".to_owned(), serde_json::to_value(asks).unwrap_or_default());
            }
            (Value::Object(fields), Disposition::Wait { until: Some(until), .. }) => {
                fields.insert("until_ms".to_owned(), until.as_ms().into());
            }
            _ => {} // wildcard: nothing more is said of the others
        }
        account
    }

    fn document(&self, end: &End, open: &[Open]) -> Document {
        let mut document = Document::new().line(end.why.clone());
        let ran = self.used.ran();
        if !ran.is_empty() {
            let row = |ran: &super::used::Ran| {
                let todo = ran.todo_id.as_ref().map(ToString::to_string).unwrap_or_default();
                vec![ran.turn_id.to_string(), todo, ran.state.to_owned()]
            };
            document = document.table(&["TURN", "TODO", "STATE"], ran.iter().map(row).collect());
        }
        if !open.is_empty() {
            let rows = open
                .iter()
                .map(|one| vec![one.todo_id.to_string(), waits_for(&one.reason), one.title.clone()]);
            document = document.table(&["OPEN", "WAITS FOR", "TITLE"], rows.collect());
        }
        document = document.line(self.used_line());
        match &end.command {
            Some(command) => document.line(format!("next: {} {command}", self.context.program)),
            None => document,
        }
    }

    /// What is told on stderr where the answer is an error.
    fn told(&self, open: &[Open]) -> Vec<String> {
        let mut lines: Vec<_> = self
            .used
            .ran()
            .iter()
            .map(|ran| {
                let todo = ran.todo_id.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("done: the Turn {} on {todo} is {}", ran.turn_id, ran.state)
            })
            .collect();
        lines.extend(
            open.iter().map(|one| format!("left: {} waits for: {}", one.todo_id, waits_for(&one.reason))),
        );
        lines.push(self.used_line());
        lines
    }

    fn used_line(&self) -> String {
        let declared = self.used.declared();
        let used = self.used.object();
        let number = |name: &str| used.get(name).and_then(Value::as_u64);
        let wall = number("wall_ms").unwrap_or(0);
        let cost = match (declared.cost_micros, number("cost_micros")) {
            (None, _) => String::new(),
            (Some(of), Some(cost)) => format!(", {cost} of {of} millionths"),
            (Some(of), None) => format!(", an unknown part of {of} millionths"),
        };
        format!(
            "used: {} of {} Turns, {} of {}{cost}",
            number("turns").unwrap_or(0),
            declared.turns,
            show_duration_ms(wall / 1000 * 1000),
            show_duration_ms(declared.wall_ms)
        )
    }
}

fn waits_for(reason: &Reason) -> String {
    match reason {
        Reason::Claimable => "nothing".to_owned(),
        Reason::User(why) => plain(why.as_str()).to_owned(),
        Reason::Held(_, causes) => {
            let words: Vec<_> = causes.iter().map(|cause| plain(&word(cause)).to_owned()).collect();
            words.join(", ")
        }
        other => plain(other.name()).to_owned(), // wildcard: the others have one word each
    }
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Forged => "the ledger has no such receipt of this loop's last Turn".to_owned(),
        Refusal::Stale => "the receipt is not of the last Turn of this agent".to_owned(),
        Refusal::OutOfOrder => "the receipt is not of the last move of that Turn".to_owned(),
        Refusal::NoSuccessor(todo_id) => {
            format!("{todo_id} comes next, and is none of the successors that the last completion declared")
        }
        Refusal::SameTodo(todo_id) => format!("{todo_id} comes next, and was just completed"),
    }
}

const fn failure_word(how: FailedBy) -> &'static str {
    match how {
        FailedBy::Host(failure) => failure.as_str(),
        FailedBy::Validate => "validate",
    }
}

const fn failure_code(how: FailedBy) -> Code {
    match how {
        FailedBy::Validate => Code::ValidationFailed,
        FailedBy::Host(failure) => turn_end::failure_code(failure),
    }
}
