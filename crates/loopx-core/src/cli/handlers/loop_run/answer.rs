//! Owns how the end of a loop is answered: what was done, what it used, what each open Todo waits for, what comes next.
//!
//! Knows no rule. What only waits, for a moment or a person, is an answer with its own exit code; what went wrong, or was
//! cut short, is an error of its class with the same account among its details.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    super::{names, schema, show, turn_end, turn_output, turn_plan},
    Loop,
    used::Ran,
};
use crate::{
    authority::TodoFilter,
    cli::{
        Block, Document, Look, Rendered,
        parse::show_duration_ms,
        render::text,
        table::{ASKS_USER, WAITS},
    },
    error::{Code, Error, Result},
    kernel::{
        ASKS_MAX, Ask, Asker, Facts, READ_ROUNDS, Read, Reason, UnresolvedBy, Viewer, reason, reason_reads,
        recover_command, todo_ask_reads, todo_asks,
    },
    model::{Executor, FailedBy, TodoId, json_value},
    projection::{asked, plain, word},
    turn::controller::{Broken, Disposition, Ended, FAILURES_MAX, Meter, Refusal, ReplanWhy, StopWhy},
};

/// How many open Todos are named.
const OPEN_MAX: usize = 20;

/// An open Todo, and what it waits for.
struct Open {
    todo_id: TodoId,
    title: String,
    reason: Reason,
    /// What frees it, where a person has to.
    asks: Vec<Ask>,
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
        let Some(code) = end.code else {
            let lines = self.summary(Document::new().line(end.why.clone()), &open, &end);
            let lines = lines.lines(self.onward_lines(&end));
            let mut body = json!({ "loop": account });
            if let (Value::Object(fields), Some(receipt)) = (&mut body, &self.receipt) {
                fields.insert("receipt".to_owned(), json_value(receipt)?);
            }
            let rendered = Rendered::new(schema::LOOP, &body, lines)?.exit(end.exit);
            return Ok(rendered.operation(&self.base, false));
        };
        self.tell(&end, &open);
        let error = self.with_account(Error::new(code, end.why), account)?;
        Err(match end.command {
            Some(command) => error.hint(command),
            None => error,
        })
    }

    /// The error that cut the loop short, after the same account as of any other end, where it has run anything.
    pub(super) fn cut_short(&mut self, error: Error) -> Error {
        if self.used.all().is_empty() {
            return error;
        }
        let hint = error.hint_args().map(str::to_owned);
        let end = End { why: error.message().to_owned(), command: hint, code: Some(error.code()), exit: 0 };
        // What is wrong may be the ledger itself.
        let open = self.open().unwrap_or_default();
        self.tell(&end, &open);
        let account = self.account_of("error", &end, &open);
        let again = self.again();
        match self.with_account(error.clone(), account) {
            Ok(error) if error.hint_args().is_none() => error.hint(again),
            Ok(error) => error,
            Err(_) => error,
        }
    }

    fn with_account(&self, error: Error, account: Value) -> Result<Error> {
        let error = error.detail("operation_id", self.base.as_str()).detail("loop", account);
        Ok(match &self.receipt {
            Some(receipt) => error.detail("receipt", json_value(receipt)?),
            None => error,
        })
    }

    /// Tells on stderr what an answer says, where the answer is an error; how it ended, and what leads on, that says.
    fn tell(&mut self, end: &End, open: &[Open]) {
        let again = self.again();
        let is_said = end.command.as_ref() == Some(&again);
        let goes_on = (!is_said).then(|| format!("afterwards: {}", self.reader.command(&again)));
        let document = self.summary(Document::new(), open, end).lines(goes_on);
        let look = Look {
            colour: self.context.look.colour_err,
            columns: self.context.look.columns_err,
            ..self.context.look
        };
        for line in text(&document, look).lines() {
            self.say(line);
        }
    }

    /// What leads on from an end that is no error.
    fn onward_lines(&self, end: &End) -> Vec<String> {
        let Some(command) = &end.command else { return Vec::new() };
        let mut lines = vec![format!("next: {}", self.reader.command(&names::commanded(command)))];
        let again = self.again();
        if *command != again {
            lines.push(format!("afterwards: {}", self.reader.command(&again)));
        }
        lines
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
                End::good(format!("{agent} waits: {}{until}", plain(why)), WAITS.0, Some(plan))
            }
            Disposition::UserActionRequired(asks) => {
                let about: Vec<_> = asks.iter().map(|ask| asked(ask, &ask.about)).collect();
                End::good(format!("a person has to act: {}", about.join("; ")), ASKS_USER.0, by_ask(asks))
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
            Disposition::Replan(ReplanWhy::Decided) => {
                End::bad(Code::NotReady, "the plan has to change before the work goes on", plan)
            }
            Disposition::Repair { broken, .. } => self.broken(broken),
            Disposition::Reconcile { .. } => self.unresolved()?,
            Disposition::Refused(refusal) => End::bad(Code::StaleRevision, refused(refusal), plan),
            Disposition::RunNow { .. } => return Err(Error::from(Code::Internal)),
        })
    }

    /// The call that goes on: the same one, with a budget of its own.
    fn again(&self) -> String {
        let shown = self.context.anew();
        shown
            .unwrap_or_else(|| format!("loop run --agent {} --goal {} --host COMMAND", self.agent, self.goal))
    }

    fn spent(&self, meter: Meter) -> String {
        let declared = self.used.declared();
        match meter {
            Meter::Turns if declared.turns == 1 => "the budget of 1 Turn is spent".to_owned(),
            Meter::Turns => format!("the budget of {} Turns is spent", declared.turns),
            Meter::Wall => format!("the budget of {} is spent", show_duration_ms(declared.wall_ms)),
            Meter::Cost => "the budget of cost is spent, or what was used of it is not known".to_owned(),
        }
    }

    fn last_turn(&self) -> Option<String> {
        self.last.map(|last| format!("turn show {}", last.turn_id))
    }

    /// Something is to be repaired, and no further Turn is begun for it.
    fn broken(&self, broken: &Broken) -> End {
        let budget = self.used.budget();
        let spent = budget.spent().map(|meter| self.spent(meter));
        let rest = match (spent, broken) {
            (Some(spent), _) => spent,
            (None, Broken::Plan(_)) => "before another is begun, its plan has to change".to_owned(),
            (None, Broken::Turn(_) | Broken::Todo { .. }) => "no other can be begun now".to_owned(),
        };
        if let Some(last) = self.used.all().last().filter(|_| budget.alike >= FAILURES_MAX) {
            let (code, why) = failed(&last.ended);
            let said = self.alike(last, budget.alike);
            return End::bad(code, format!("{said}: {why}"), turn_output::command(last.turn_id));
        }
        match broken {
            Broken::Turn(turn_id) | Broken::Plan(turn_id) => {
                let last = self.used.ran(*turn_id);
                let (code, why) =
                    last.map_or_else(|| failed(&Ended::RepairRequired), |ran| failed(&ran.ended));
                let todo = last.and_then(|ran| ran.todo_id.as_ref()).map(|todo| format!(", on {todo},"));
                let todo = todo.unwrap_or_default();
                let why = format!("the last Turn{todo} failed: {why}; and {rest}");
                End::bad(code, why, turn_output::command(*turn_id))
            }
            Broken::Todo { todo_id, failure } => {
                let note = failure.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
                let why =
                    format!("{rest}; {todo_id} is to be repaired next, its last result was refused{note}");
                End::bad(Code::NotReady, why, self.again())
            }
        }
    }

    /// That the last Turns failed in the same way, and on what.
    fn alike(&self, last: &Ran, count: u8) -> String {
        let todo = last.todo_id.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut row = self.used.all().iter().rev().take(usize::from(count));
        if row.all(|ran| ran.todo_id == last.todo_id) {
            format!("{count} Turns in a row on {todo} failed alike")
        } else {
            format!("{count} Turns in a row failed alike, the last on {todo}")
        }
    }

    fn unresolved(&mut self) -> Result<End> {
        let last = self.used.all().iter().rev().find(|ran| ran.ended == Ended::Unresolved);
        let Some(turn_id) = last.map(|ran| ran.turn_id) else {
            let plan = format!("turn plan --agent {} --goal {}", self.agent, self.goal);
            return Ok(End::bad(Code::TurnUnresolved, "what a Turn did is not known", plan));
        };
        let around = self.bench.site(&mut self.desk).around(turn_id)?;
        let command = around.asks.first().map_or_else(|| recover_command(turn_id), |ask| ask.command.clone());
        Ok(End::bad(Code::TurnUnresolved, format!("what the Turn {turn_id} did is not known"), command))
    }

    /// The open Todos, what each waits for, and what frees it; what its own Turns wait with is always among them.
    fn open(&mut self) -> Result<Vec<Open>> {
        let tried = turn_plan::tried(&mut self.desk, &self.goal)?;
        let waits = |ran: &&Ran| matches!(ran.ended, Ended::Held | Ended::Unresolved);
        let waiting: Vec<_> =
            self.used.all().iter().filter(waits).filter_map(|ran| ran.todo_id.clone()).collect();
        let (goal, agent, workspace) = (&self.goal, &self.agent, &self.workspace);
        let (endpoint, machine_id) = (&self.endpoint, &self.bench.machine.machine_id);
        self.desk.look(|view, terms| {
            let filter = TodoFilter { goal, live: true, bucket: None };
            let mut ids: Vec<_> =
                view.todos(&filter, 0, OPEN_MAX)?.into_iter().map(|todo| todo.todo_id).collect();
            for id in &waiting {
                if !ids.contains(id) {
                    ids.push(id.clone());
                }
            }
            let mut facts = Facts::new(terms.clone());
            view.load(&[Read::Agent(goal.clone(), agent.clone())].into(), &mut facts)?;
            let row = facts.agent(&(goal.clone(), agent.clone()))?;
            let capabilities = row.map(|row| row.capabilities.clone()).unwrap_or_default();
            let viewer = Viewer { agent_id: agent, capabilities, own_id: None, workspace: Some(workspace) };
            let asker = Asker {
                viewer,
                endpoint,
                executor: Executor::Hosted,
                machine_id: Some(machine_id),
                seen: BTreeMap::new(),
                tried: tried.clone(),
            };
            for _ in 0..=READ_ROUNDS {
                let mut missing = reason_reads(&ids, &asker.viewer, &facts);
                missing.extend(todo_ask_reads(&ids, &facts));
                view.load(&missing, &mut facts)?;
            }
            let mut open = Vec::new();
            for id in &ids {
                let Some(todo) = facts.todo(id)?.filter(|todo| todo.is_live()) else { continue };
                let reason = reason(&facts, todo, &asker.viewer)?;
                let asks = todo_asks(&facts, &asker, todo, &reason)?;
                open.push(Open { todo_id: id.clone(), title: todo.title.to_string(), reason, asks });
            }
            Ok(open)
        })
    }

    fn account(&self, disposition: &Disposition, end: &End, open: &[Open]) -> Value {
        let mut account = self.account_of(disposition.name(), end, open);
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

    fn account_of(&self, disposition: &'static str, end: &End, all: &[Open]) -> Value {
        let turns: Vec<_> = self
            .used
            .all()
            .iter()
            .map(|ran| {
                json!({
                    "turn_id": ran.turn_id,
                    "todo_id": ran.todo_id,
                    "state": ran.state,
                    "brought_on": !ran.is_begun(),
                })
            })
            .collect();
        let rows: Vec<_> = all
            .iter()
            .map(|one| json!({"todo_id": one.todo_id, "title": one.title, "waits_for": one.reason.name()}))
            .collect();
        let settled = self.used.all().iter().filter(|ran| ran.state == "settled").count();
        let mut account = json!({
            "goal_id": self.goal,
            "agent_id": self.agent,
            "operation_id": self.base,
            "disposition": disposition,
            "why": end.why,
            "turns": turns,
            "settled": settled,
            "used": self.used.object(),
            "budget": self.used.declared().object(),
            "open": rows,
            "again": self.again(),
        });
        if let (Value::Object(fields), Some(command)) = (&mut account, &end.command) {
            fields.insert("next".to_owned(), command.as_str().into());
        }
        let asks: Vec<_> = asks_of(all).collect();
        if let (Value::Object(fields), false) = (&mut account, asks.is_empty()) {
            fields.insert("asks".to_owned(), serde_json::to_value(asks).unwrap_or_default());
        }
        account
    }

    /// What was done, what is left, and what was used: the same of every end.
    fn summary(&self, mut document: Document, open: &[Open], end: &End) -> Document {
        let ran = self.used.all();
        if !ran.is_empty() {
            let row = |ran: &Ran| {
                let todo = ran.todo_id.as_ref().map(ToString::to_string).unwrap_or_default();
                vec![names::short(&ran.turn_id), todo, ended(ran)]
            };
            document = document.log(&["TURN", "TODO", "ENDED"], ran.iter().map(row).collect());
        }
        if !open.is_empty() {
            let rows = open
                .iter()
                .map(|one| vec![one.todo_id.to_string(), waits_for(&one.reason), one.title.clone()]);
            document = document.table(&["LEFT", "WAITS FOR", "TITLE"], rows.collect());
        }
        document = document.line(self.used.line());
        let waits = self.waiting(open, end);
        if waits.is_empty() {
            return document;
        }
        document.with(Block::Heading(2, "Waits for a person".to_owned())).code(waits)
    }

    /// What a person has to do, each as its command; what leads on from here is said by itself.
    fn waiting(&self, open: &[Open], end: &End) -> Vec<String> {
        let mut said: BTreeSet<&str> = end.command.as_deref().into_iter().collect();
        let mut lines = Vec::new();
        for one in open {
            let asks: Vec<_> = one.asks.iter().filter(|ask| said.insert(&ask.command)).collect();
            if asks.is_empty() {
                continue;
            }
            lines.push(format!("{} ({})", one.todo_id, waits_for(&one.reason)));
            let commands = asks.iter().map(|ask| names::commanded(&ask.command));
            lines.extend(commands.map(|command| format!("    {}", self.reader.command(&command))));
        }
        lines
    }
}

/// How a Turn of the loop ended, in words.
fn ended(ran: &Ran) -> String {
    let more = if ran.is_begun() { "" } else { ", brought on" };
    let ended = match &ran.ended {
        Ended::Failed(how) => format!("{}: {}", ran.state, plain(failure_word(*how))),
        Ended::Stopped(why) => format!("{}: {}", ran.state, plain(&word(why))),
        Ended::Completion { .. }
        | Ended::Progress
        | Ended::RepairRequired
        | Ended::ReplanRequired
        | Ended::Fenced
        | Ended::Unresolved
        | Ended::Held
        | Ended::AtWork => ran.state.to_owned(),
    };
    ended + more
}

/// What each person has to do about the open Todos, once.
fn asks_of(open: &[Open]) -> impl Iterator<Item = &Ask> {
    let mut said = BTreeSet::new();
    open.iter().flat_map(|one| &one.asks).filter(move |ask| said.insert(&ask.command)).take(ASKS_MAX)
}

/// With which code a Turn failed, and why in words.
fn failed(ended: &Ended) -> (Code, String) {
    match ended {
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
    }
}

fn waits_for(reason: &Reason) -> String {
    match reason {
        Reason::Claimable => "an agent".to_owned(),
        Reason::User(why) => plain(why.as_str()).to_owned(),
        Reason::Unresolved(UnresolvedBy::Effect(_)) => plain(Ask::EFFECT).to_owned(),
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
