//! Owns the handler of `loop run`: it looks up, asks the controller, and does what that says.
//!
//! Knows no rule: what is to be done the kernel decides, what follows from it the controller. It writes and spends nothing
//! itself; each Turn does, and a loop that is killed is gone on with by another.

mod answer;
mod used;
mod work;

use std::{path::PathBuf, time::Duration as Wait};

use super::{
    caller::{Caller, caller},
    desk::Desk,
    given, names,
    reader::Reader,
    submit::operation_id,
    turn::{hosting, place},
    turn_plan::{self, Asking},
    workbench::{Signals, Workbench},
};
use crate::{
    authority::clock::Deadline,
    cli::{Args, Context, Rendered},
    error::{Code, Error, Result},
    model::{AgentId, EndpointId, GoalId, OperationId, OwnId, Receipt, Timestamp, TodoId, Workspace},
    projection::plain,
    turn::{
        self, CommandHost, DriverLock, Host,
        controller::{Disposition, Fresh, Mark, Next, Refusal, disposition},
    },
};
use used::{Declared, Used};

/// How long a wait lasts until the person at the loop is listened to again.
const LISTEN_EVERY: Wait = Wait::from_millis(500);
/// How long a wait lasts at most until the decision is made anew: a driver that dies rings no bell.
const LOOK_EVERY: Wait = Wait::from_secs(30);
/// How often in a row others may get there first.
const LOST_MAX: u32 = 10;

/// `loop run`.
pub(in crate::cli) fn run(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (agent, endpoint) = given::executor(args)?;
    let goal = names::goal(&mut desk, None)?;
    if args.switch("dry-run") {
        let tree = turn_plan::given_tree(context, args, &desk)?;
        let asking = Asking { workspace: tree.as_ref(), ..Asking::new(&goal, &agent, &endpoint) };
        return turn_plan::planned(context, args, &mut desk, &asking);
    }
    let who = caller(context, args, &mut desk)?;
    if who.provenance.contained.is_some() {
        return Err(Error::new(Code::ActorNotAllowed, "what runs below a Turn starts no loop"));
    }
    let base = operation_id(args)?;
    let bench = Workbench::of(context, &desk)?;
    let (workspace, folder) = place(context, args, &mut desk, &goal)?;
    let host = host(context, args, &desk, &bench, folder)?;
    let declared = Declared::of(args, &desk.settings)?;
    let reader = Reader::of(context, args, &desk);
    let mut looping = Loop {
        waits: !args.switch("no-wait"),
        desk,
        bench,
        who,
        base,
        goal,
        agent,
        endpoint,
        workspace,
        host,
        signals: Signals::listen()?,
        used: Used::nothing_of(declared),
        last: None,
        receipt: None,
        onward: None,
        begun: 0,
        lost: 0,
        told: None,
        reader,
        context,
    };
    let went = looping.look_back().and_then(|()| looping.go());
    let left = looping.give_back();
    match went.and_then(|end| left.map(|_| end)) {
        Ok(end) => looping.answer(&end),
        Err(error) => Err(looping.cut_short(error)),
    }
}

fn host(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
    bench: &Workbench,
    folder: PathBuf,
) -> Result<Box<dyn Host>> {
    bench.host(CommandHost::NAME, hosting(context, args, desk, bench, folder)?)
}

/// The next Turn, which the settlement of the last one admitted, and the right to drive it.
#[derive(Debug)]
struct Onward {
    receipt: Receipt,
    lock: DriverLock,
    own_id: Option<OwnId>,
    todo_id: TodoId,
}

/// A loop at work.
struct Loop<'c, 'e, 's> {
    context: &'c mut Context<'e, 's>,
    desk: Desk,
    bench: Workbench,
    who: Caller,
    base: OperationId,
    goal: GoalId,
    agent: AgentId,
    endpoint: EndpointId,
    workspace: Workspace,
    host: Box<dyn Host>,
    signals: Signals,
    used: Used,
    waits: bool,
    /// What names the receipt of the last move of its last Turn.
    last: Option<Mark>,
    /// That receipt.
    receipt: Option<Receipt>,
    onward: Option<Onward>,
    /// How many Turns this verb has begun, its earlier starts included; what it only brought on is none of them.
    begun: usize,
    /// How often in a row others got there first.
    lost: u32,
    /// What was waited for when it was said last.
    told: Option<&'static str>,
    /// Who reads its answer.
    reader: Reader,
}

impl Loop<'_, '_, '_> {
    /// Goes on until the controller says that it ends.
    fn go(&mut self) -> Result<Disposition> {
        loop {
            let head = self.head()?;
            let fresh = self.fresh()?;
            let budget = self.used.budget();
            match disposition(self.last.as_ref(), &fresh, &budget) {
                Disposition::RunNow { todo_id, turn_id: _ } => self.turn(&todo_id)?,
                Disposition::Repair { work: Some(todo_id), .. } => {
                    if self.rest(backoff(u32::from(budget.alike)))? {
                        self.turn(&todo_id)?;
                    }
                }
                Disposition::Reconcile { look: Some(turn_id) } => {
                    if !self.recover(turn_id)? {
                        return Ok(Disposition::Reconcile { look: None });
                    }
                }
                Disposition::Wait { why, until } if self.waits && budget.spent().is_none() => {
                    self.wait(why, until, head)?;
                }
                // Somebody else moved this agent's work: what is decided now is looked at as by a loop that begins.
                Disposition::Refused(Refusal::Stale | Refusal::OutOfOrder) => {
                    self.say("others have moved this agent's work; the loop takes it from where it is now");
                    self.last = None;
                }
                end => return Ok(end),
            }
        }
    }

    /// What stands in the ledger now, and what follows from it.
    fn fresh(&mut self) -> Result<Fresh> {
        let (goal, agent) = (&self.goal, &self.agent);
        let after = match self.last {
            Some(_) => self.desk.look(|view, _| turn::controller::past(view, goal, agent))?,
            None => None,
        };
        if self.signals.count() > 0 {
            return Ok(Fresh { after, next: Next::Interrupted });
        }
        let asking = Asking {
            own_id: self.onward.as_ref().and_then(|onward| onward.own_id),
            workspace: Some(&self.workspace),
            ..Asking::new(&self.goal, &self.agent, &self.endpoint)
        };
        let decided = turn_plan::decide(self.context, &mut self.desk, &asking)?;
        Ok(Fresh { after, next: Next::of(&decided) })
    }

    fn head(&mut self) -> Result<u64> {
        let goal = &self.goal;
        self.desk.look(|view, _| Ok(view.head(goal)?.map_or(0, |head| head.seq)))
    }

    /// Sleeps at the bell until the Goal moves, a moment comes, the budget's time is over, or somebody wants it to end.
    fn wait(&mut self, why: &'static str, until: Option<Timestamp>, head: u64) -> Result<()> {
        if self.told.replace(why) != Some(why) {
            let until = until
                .map_or_else(String::new, |at| format!(", until {} at the latest", super::show::utc(at)));
            self.say(&format!("waiting: {}{until}", plain(why)));
        }
        let mut span = self.used.time().min(LOOK_EVERY);
        if let Some(until) = until {
            let now = self.desk.authority.present()?.now;
            span = span.min(Wait::from_millis(until.since(now).as_ms()).max(LISTEN_EVERY));
        }
        let deadline = Deadline::after(span);
        let goal = self.goal.clone();
        while !deadline.left().is_zero() && self.signals.count() == 0 {
            let moved = self.desk.authority.wait(deadline.left().min(LISTEN_EVERY), |view| {
                Ok(view.head(&goal)?.map_or(0, |now| now.seq) != head)
            })?;
            if moved {
                break;
            }
        }
        Ok(())
    }

    /// Lets some time pass; no, where somebody wants the loop to end, or its time is over.
    fn rest(&mut self, span: Wait) -> Result<bool> {
        let deadline = Deadline::after(span.min(self.used.time()));
        while !deadline.left().is_zero() {
            if self.signals.count() > 0 {
                return Ok(false);
            }
            self.desk.authority.wait(deadline.left().min(LISTEN_EVERY), |_| Ok(false))?;
        }
        Ok(self.signals.count() == 0 && !self.used.time().is_zero())
    }

    /// Others got there first: decides again after a while, and not for ever.
    fn lose(&mut self, refused: Error) -> Result<()> {
        self.lost += 1;
        if self.lost >= LOST_MAX {
            return Err(refused);
        }
        if turn::is_undo(&refused) && self.told.replace("undo") != Some("undo") {
            self.say(&format!("waiting: {}", refused.message()));
        }
        self.rest(backoff(self.lost) / 8)?;
        Ok(())
    }

    fn say(&mut self, line: &str) {
        self.context.note(line);
    }
}

/// How long a loop rests before it tries once more: 1 s × 2ⁿ, a minute at most.
fn backoff(tries: u32) -> Wait {
    Wait::from_secs(1 << tries.saturating_sub(1).min(6)).min(Wait::from_secs(60))
}
