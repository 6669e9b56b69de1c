//! Owns the loop's controller: what follows from a last receipt, a fresh decision and a budget, the first row that matches.
//!
//! `disposition` is pure and total: no ledger, no clock, no process; `past` reads what it is given from a view. What it says,
//! somebody else does. Invariant: a receipt is compared with
//! the one that the ledger names, and nothing that it says of itself is believed. Source: the design's table "The loop".

mod budget;
mod past;

use serde::Serialize;

pub use budget::{Budget, Left, Meter};
pub use past::{Ended, Past, mark, next_of, past};

use crate::{
    error::Code,
    kernel::{Action, Ask, Decided, UnresolvedBy},
    model::{Continuation, Digest, ShortText, Stopped, Timestamp, TodoId, TurnId},
};

/// How many Turns in a row may end in the same failure before a loop leaves it to somebody else.
pub const FAILURES_MAX: u8 = 3;

/// What names one receipt: the Turn it moved, its place in the Goal's chain, and the digest of all it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The Turn.
    pub turn_id: TurnId,
    /// The number of the last event of its commit.
    pub revision: u64,
    /// Of the whole receipt: operation, actor, Goal, moment, outcome.
    pub digest: Digest,
}

/// What a loop finds when it looks up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// The last Turn of this agent in this Goal, by the receipt of its last move; none before its first.
    pub after: Option<Past>,
    /// What to do.
    pub next: Next,
}

/// What a decision, or the person at the loop, says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Work on a Todo.
    Run {
        /// Which.
        todo_id: TodoId,
        /// Its Turn, where that is admitted already, and this loop's.
        turn_id: Option<TurnId>,
    },
    /// Work on a Todo whose last result was refused.
    Repair {
        /// Which.
        todo_id: TodoId,
        /// What went wrong.
        failure: Option<ShortText>,
    },
    /// Change the plan.
    Replan,
    /// Find out what became of a Turn.
    Reconcile {
        /// Which.
        turn_id: TurnId,
    },
    /// Wait.
    Wait {
        /// For what.
        why: &'static str,
        /// Until when, if that is known; else for a change.
        until: Option<Timestamp>,
    },
    /// A person has to act.
    AskUser {
        /// What each has to do.
        asks: Vec<Ask>,
        /// Whether all that is left to do is to close the Goal.
        ready_to_close: bool,
    },
    /// The Goal is stopped.
    Stopped,
    /// The Goal is closed.
    Closed,
    /// A person wants the loop to end.
    Interrupted,
}

impl Next {
    /// What a decision says to a loop.
    pub fn of(decided: &Decided) -> Self {
        match &decided.action {
            Action::Run { todo_id, turn_id } => Self::Run { todo_id: todo_id.clone(), turn_id: *turn_id },
            Action::Repair { todo_id, failure } => {
                Self::Repair { todo_id: todo_id.clone(), failure: failure.clone() }
            }
            Action::Replan { .. } => Self::Replan,
            Action::Reconcile { of: UnresolvedBy::Turn(turn_id), .. } => {
                Self::Reconcile { turn_id: *turn_id }
            }
            // A loop reaches no provider: somebody else reads back what became of an effect.
            Action::Reconcile { of: UnresolvedBy::Effect(effect_id), command } => {
                let about = effect_id.to_string();
                let ask = Ask { why: Ask::EFFECT, about, command: command.clone(), question: None };
                Self::AskUser { asks: vec![ask], ready_to_close: false }
            }
            Action::Wait { why, .. } if *why == Code::GoalStopped.as_str() => Self::Stopped,
            Action::Wait { why, until, .. } => Self::Wait { why, until: *until },
            Action::AskUser { asks } => Self::AskUser {
                asks: asks.clone(),
                ready_to_close: asks.iter().any(|ask| ask.why == Ask::READY_TO_CLOSE),
            },
            Action::Closed => Self::Closed,
        }
    }
}

/// Why a receipt, or what is decided after it, is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The ledger has no such receipt, or not with these words.
    Forged,
    /// It is of a Turn that is not the last one of this agent in this Goal.
    Stale,
    /// It is of the last Turn, and not of its last move.
    OutOfOrder,
    /// What is to be run is none of the successors that the completion declared.
    NoSuccessor(TodoId),
    /// What is to be run is what was completed.
    SameTodo(TodoId),
}

impl Refusal {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Forged => "forged",
            Self::Stale => "stale",
            Self::OutOfOrder => "out_of_order",
            Self::NoSuccessor(_) => "no_successor",
            Self::SameTodo(_) => "same_todo",
        }
    }
}

/// Why a loop stops though there may be more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopWhy {
    /// The person at the loop wants it.
    Interrupted,
    /// Somebody stopped its last Turn.
    TurnStopped,
    /// The Goal is stopped.
    GoalStopped,
    /// The budget is spent.
    Budget(Meter),
}

/// Why the plan has to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplanWhy {
    /// The budget is spent, and the last Turn brought progress and no end.
    Budget(Meter),
    /// The last Turn says that the plan does not hold.
    Asked,
    /// So it was decided.
    Decided,
}

/// What is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// What the last Turn did: it failed, or was fenced.
    Turn(TurnId),
    /// The same, and one time too often: the plan has to change before another Turn.
    Plan(TurnId),
    /// A Todo whose last result was refused, whoever brought that.
    Todo {
        /// Which.
        todo_id: TodoId,
        /// What went wrong.
        failure: Option<ShortText>,
    },
}

/// What a loop does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Nothing: receipt and decision do not belong together.
    Refused(Refusal),
    /// Nothing: the work is at its end.
    Terminal,
    /// A person has to act.
    UserActionRequired(Vec<Ask>),
    /// Something is to be repaired: here and now, or by somebody else.
    Repair {
        /// What.
        broken: Broken,
        /// The Todo that one more Turn may work on; none where no Turn can help, or may.
        work: Option<TodoId>,
    },
    /// Find out what became of a Turn: here and now, or by a person.
    Reconcile {
        /// Which, where a look from here may tell.
        look: Option<TurnId>,
    },
    /// Run a Turn.
    RunNow {
        /// On which Todo.
        todo_id: TodoId,
        /// The Turn, where it is admitted already.
        turn_id: Option<TurnId>,
    },
    /// The plan has to be looked at.
    Replan(ReplanWhy),
    /// Wait.
    Wait {
        /// For what.
        why: &'static str,
        /// Until when, if that is known.
        until: Option<Timestamp>,
    },
    /// Stop.
    Stop(StopWhy),
}

impl Disposition {
    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Terminal => "terminal",
            Self::UserActionRequired(_) => "user_action_required",
            Self::Repair { .. } => "repair",
            Self::Reconcile { .. } => "reconcile",
            Self::RunNow { .. } => "run_now",
            Self::Replan(_) => "replan",
            Self::Wait { .. } => "wait",
            Self::Stop(_) => "stop",
        }
    }
}

/// What a loop does next: the first row of the table that matches.
pub fn disposition(last: Option<&Mark>, fresh: &Fresh, budget: &Budget) -> Disposition {
    if let Some(refusal) = last.and_then(|last| mismatch(last, fresh.after.as_ref())) {
        return Disposition::Refused(refusal);
    }
    let past = last.and(fresh.after.as_ref());
    let ended = past.map(|past| &past.ended);
    let seen = Seen { turn_id: past.map(|past| past.mark.turn_id), ended, next: &fresh.next, budget };
    Seen::ROWS.iter().find_map(|row| row(&seen)).unwrap_or_else(|| seen.by_decision())
}

/// What is wrong with a receipt that is not the predecessor which the ledger names.
fn mismatch(last: &Mark, after: Option<&Past>) -> Option<Refusal> {
    let Some(Past { mark: named, .. }) = after else { return Some(Refusal::Forged) };
    if last.turn_id != named.turn_id {
        Some(Refusal::Stale)
    } else if last.revision != named.revision {
        Some(Refusal::OutOfOrder)
    } else {
        (last.digest != named.digest).then_some(Refusal::Forged)
    }
}

/// What the rows look at.
struct Seen<'a> {
    /// The last Turn; none for a loop that begins.
    turn_id: Option<TurnId>,
    /// How the last Turn ended; none for a loop that begins.
    ended: Option<&'a Ended>,
    next: &'a Next,
    budget: &'a Budget,
}

impl Seen<'_> {
    /// The rows of the table after its first, in order; what none of them takes follows the decision alone.
    const ROWS: [fn(&Self) -> Option<Disposition>; 8] = [
        Self::nothing_follows,
        Self::person,
        Self::broken,
        Self::unknown,
        Self::progress,
        Self::successor,
        Self::active_goal,
        Self::told,
    ];

    /// Completion `no_followup`; closed or ready to close: terminal.
    fn nothing_follows(&self) -> Option<Disposition> {
        let ends = match self.next {
            Next::Closed => true,
            Next::AskUser { ready_to_close, .. } => *ready_to_close,
            Next::Run { .. }
            | Next::Repair { .. }
            | Next::Replan
            | Next::Reconcile { .. }
            | Next::Wait { .. }
            | Next::Stopped
            | Next::Interrupted => false,
        };
        let completed =
            matches!(self.ended, Some(Ended::Completion { continuation: Continuation::NoFollowup, .. }));
        (completed && ends).then_some(Disposition::Terminal)
    }

    /// Any; `ask_user`: a person has to act.
    fn person(&self) -> Option<Disposition> {
        match self.next {
            Next::AskUser { asks, .. } => Some(Disposition::UserActionRequired(asks.clone())),
            Next::Run { .. }
            | Next::Repair { .. }
            | Next::Replan
            | Next::Reconcile { .. }
            | Next::Wait { .. }
            | Next::Stopped
            | Next::Closed
            | Next::Interrupted => None,
        }
    }

    /// Failed or fenced; any: repair.
    fn broken(&self) -> Option<Disposition> {
        let turn_id =
            self.turn_id.filter(|_| matches!(self.ended, Some(Ended::Failed(_) | Ended::Fenced)))?;
        let replans = matches!(self.next, Next::Replan);
        Some(self.repair(if replans { Broken::Plan(turn_id) } else { Broken::Turn(turn_id) }))
    }

    /// Unresolved; any: reconcile.
    fn unknown(&self) -> Option<Disposition> {
        let look = match self.next {
            Next::Reconcile { turn_id } => Some(*turn_id),
            Next::Replan
            | Next::Run { .. }
            | Next::Repair { .. }
            | Next::Wait { .. }
            | Next::AskUser { .. }
            | Next::Stopped
            | Next::Closed
            | Next::Interrupted => None,
        };
        matches!(self.ended, Some(Ended::Unresolved)).then_some(Disposition::Reconcile { look })
    }

    /// Progress: while budget is left and there is work, one more Turn; once it is spent, whatever is decided, a look at
    /// the plan.
    fn progress(&self) -> Option<Disposition> {
        if !matches!(self.ended, Some(Ended::Progress)) {
            return None;
        }
        match (self.budget.spent(), self.next) {
            (Some(meter), _) => Some(Disposition::Replan(ReplanWhy::Budget(meter))),
            (None, Next::Run { todo_id, turn_id }) => Some(self.run(todo_id, *turn_id)),
            (None, _) => None, // wildcard: what is no work follows the decision
        }
    }

    /// Completion `successor`: a declared one is run, another is refused.
    fn successor(&self) -> Option<Disposition> {
        let Some(Ended::Completion { continuation: Continuation::Successor { todo_ids }, .. }) = self.ended
        else {
            return None;
        };
        let Next::Run { todo_id, turn_id } = self.next else { return None };
        if todo_ids.contains(todo_id) {
            return Some(self.run(todo_id, *turn_id));
        }
        Some(Disposition::Refused(Refusal::NoSuccessor(todo_id.clone())))
    }

    /// Completion `active_goal`, or one after which nothing was said to follow: another Todo is run, the same is refused.
    fn active_goal(&self) -> Option<Disposition> {
        let Some(Ended::Completion { todo_id: completed, .. }) = self.ended else { return None };
        let Next::Run { todo_id, turn_id } = self.next else { return None };
        if todo_id != completed {
            return Some(self.run(todo_id, *turn_id));
        }
        Some(Disposition::Refused(Refusal::SameTodo(todo_id.clone())))
    }

    /// What the last Turn said of itself, whatever is decided: that somebody stopped it, or that the plan does not hold.
    fn told(&self) -> Option<Disposition> {
        match self.ended? {
            Ended::Stopped(Stopped::Stop) => Some(Disposition::Stop(StopWhy::TurnStopped)),
            Ended::ReplanRequired => Some(Disposition::Replan(ReplanWhy::Asked)),
            Ended::Stopped(_)
            | Ended::Completion { .. }
            | Ended::Progress
            | Ended::RepairRequired
            | Ended::Failed(_)
            | Ended::Fenced
            | Ended::Unresolved
            | Ended::Held
            | Ended::AtWork => None,
        }
    }

    /// The rows in which the last receipt plays no part: none, and any.
    fn by_decision(&self) -> Disposition {
        match self.next {
            Next::Run { todo_id, turn_id } => self.run(todo_id, *turn_id),
            Next::Repair { todo_id, failure } => {
                self.repair(Broken::Todo { todo_id: todo_id.clone(), failure: failure.clone() })
            }
            Next::Replan => Disposition::Replan(ReplanWhy::Decided),
            Next::Reconcile { turn_id } => Disposition::Reconcile { look: Some(*turn_id) },
            Next::Wait { why, until } => Disposition::Wait { why, until: *until },
            Next::AskUser { asks, .. } => Disposition::UserActionRequired(asks.clone()),
            Next::Closed => Disposition::Terminal,
            Next::Stopped => Disposition::Stop(StopWhy::GoalStopped),
            Next::Interrupted => Disposition::Stop(StopWhy::Interrupted),
        }
    }

    /// A Turn, while the budget lasts.
    fn run(&self, todo_id: &TodoId, turn_id: Option<TurnId>) -> Disposition {
        match self.budget.spent() {
            None => Disposition::RunNow { todo_id: todo_id.clone(), turn_id },
            Some(meter) => Disposition::Stop(StopWhy::Budget(meter)),
        }
    }

    /// A repair: by one more Turn while one is decided, the budget lasts and the failure is not always the same.
    fn repair(&self, broken: Broken) -> Disposition {
        let work = match self.next {
            Next::Run { todo_id, .. } | Next::Repair { todo_id, .. } => Some(todo_id.clone()),
            Next::Replan
            | Next::Reconcile { .. }
            | Next::Wait { .. }
            | Next::AskUser { .. }
            | Next::Stopped
            | Next::Closed
            | Next::Interrupted => None,
        };
        let may = self.budget.spent().is_none() && self.budget.alike < FAILURES_MAX;
        Disposition::Repair { broken, work: work.filter(|_| may) }
    }
}

#[cfg(test)]
mod tests;
