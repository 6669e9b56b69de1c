//! Owns one Turn of a loop: admitting it or taking it over, driving it, and bringing on what a crash left.
//!
//! Knows no rule; all of it goes the ways of `turn run` and `turn recover --resume`.

use std::cell::{Cell, RefCell};

use super::{
    super::{progress, turn::is_lost},
    Loop, Onward,
    used::{Ran, Share},
};
use crate::{
    error::{Code, Error, Result},
    kernel::Outcome,
    model::{Actor, Duration, OperationId, Provenance, TodoId, Turn, TurnId},
    projection::plain,
    turn::{
        self, Admitted, Done, DriverLock, Phase, Start, Watcher,
        controller::{Ended, mark, next_of, past},
    },
};

/// Whose a Turn is that a loop drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The loop's own, begun now; it is not counted yet.
    New,
    /// The loop's own, that an earlier start of it began.
    Own,
    /// Another call's, to which what would follow belongs too: under the loop's id nobody would find it again.
    Others,
}

/// Watches one Turn of a loop: shows it, and says whether the loop goes on from there.
struct Watch<'w> {
    progress: &'w dyn Watcher,
    /// Tells the person at the loop, once, what a second signal would do.
    warns: &'w dyn Fn(),
    goes_on: &'w dyn Fn() -> bool,
    next: RefCell<Option<DriverLock>>,
}

impl Watcher for Watch<'_> {
    fn wants_stop(&self) -> bool {
        (self.warns)();
        self.progress.wants_stop()
    }

    fn caller(&self) -> Option<(Actor, Provenance)> {
        self.progress.caller()
    }

    fn sees(&self, phase: Phase) {
        self.progress.sees(phase);
    }

    fn goes_on(&self) -> bool {
        (self.goes_on)()
    }

    fn takes_on(&self, next: DriverLock) {
        self.next.replace(Some(next));
    }
}

impl Loop<'_, '_, '_> {
    /// Finds what the same verb, given before, has done already: a Turn counts once.
    ///
    /// Errors: `store_*`.
    pub(super) fn look_back(&mut self) -> Result<()> {
        let mut before: Option<Turn> = None;
        loop {
            let id = self.step()?;
            let turn_id = match self.desk.authority.receipt(&turn::Commit::Admit.of(&id)?)? {
                // A gate was opened instead: the id is used, and no Turn is of it.
                Some(receipt) if receipt.negative().is_some() => {
                    self.begun += 1;
                    continue;
                }
                Some(receipt) => receipt.outcome::<Outcome>()?.turn_id,
                None => self.onward_of(before.as_ref())?,
            };
            let Some(turn_id) = turn_id else { return Ok(()) };
            self.begun += 1;
            let turn = super::super::names::turn_row(&mut self.desk, turn_id)?;
            self.used.note(&turn, Share::Begun);
            before = Some(turn);
        }
    }

    /// The Turn that was admitted with the settlement of another.
    fn onward_of(&mut self, before: Option<&Turn>) -> Result<Option<TurnId>> {
        let Some(before) = before.filter(|before| Ended::of(before) == Ended::Progress) else {
            return Ok(None);
        };
        let goal = &self.goal;
        self.desk.look(|view, _| next_of(view, goal, before))
    }

    /// The id of the next Turn that this verb begins.
    fn step(&self) -> Result<OperationId> {
        self.base.step(&format!("turn.{}", self.begun + 1))
    }

    /// Runs one Turn on a Todo: the one that is admitted for it already, else a new one.
    ///
    /// Errors: those of the claim that are no lost race; those of [`turn::drive`].
    pub(super) fn turn(&mut self, todo_id: &TodoId) -> Result<()> {
        let start = self.start(todo_id)?;
        let onward = self.onward.take_if(|onward| onward.todo_id == *todo_id);
        let admitted = if let Some(Onward { receipt, lock, .. }) = onward {
            Admitted::next(receipt, lock)
        } else {
            if self.give_back()? {
                // What it held last is not its agent's last Turn any more.
                self.last = None;
            }
            match self.admit(&start) {
                Ok(admitted) => admitted,
                Err(refused) => {
                    // What was written all the same has used the id.
                    self.begun += usize::from(refused.code() == Code::GateOpened);
                    return if is_others(&refused) { self.lose(refused) } else { Err(refused) };
                }
            }
        };
        self.begun += 1;
        self.lost = 0;
        self.told = None;
        let of = self.used.declared().turns;
        self.say(&format!("Turn {} of at most {of}: {todo_id}", self.used.next_number()));
        let done =
            self.watched(Whose::New, |site, host, watch| turn::drive(site, &start, admitted, host, watch))?;
        self.last = Some(mark(&done.receipt)?);
        self.take_in(&done, Share::Begun)
    }

    fn start(&self, todo_id: &TodoId) -> Result<Start> {
        Ok(Start {
            operation_id: self.step()?,
            actor: self.who.actor.clone(),
            provenance: self.who.provenance,
            goal_id: self.goal.clone(),
            todo_id: todo_id.clone(),
            executor: (self.agent.clone(), self.endpoint.clone()),
            workspace: self.workspace.clone(),
            ttl_ms: Some(Duration::from_ms(self.desk.settings.millis("ownership.ttl")?)),
        })
    }

    fn admit(&mut self, start: &Start) -> Result<Admitted> {
        let (agent, todo_id) = (&self.agent, &start.todo_id);
        let concerns = |turn: &Turn| turn.agent_id == *agent || turn.todo_id() == Some(todo_id);
        let mut site = self.bench.site(&mut self.desk);
        let proved = turn::prove_before(&mut site, &start.goal_id, &concerns)?;
        let admitted = turn::admit(&mut site, start);
        self.keep_up(&proved)?;
        admitted
    }

    /// Holds the last move of a Turn that it brought on, where that is its agent's last one; else what it held.
    fn hold(&mut self, done: &Done) -> Result<()> {
        let (goal, agent) = (&self.goal, &self.agent);
        let past = self.desk.look(|view, _| past(view, goal, agent))?;
        let mark = mark(&done.receipt)?;
        if past.is_some_and(|past| past.mark == mark) {
            self.last = Some(mark);
        }
        Ok(())
    }

    /// Holds on to the Turn that it holds, where its own proof has moved that.
    fn keep_up(&mut self, proved: &[Done]) -> Result<()> {
        for done in proved {
            let mark = mark(&done.receipt)?;
            if self.last.is_some_and(|last| last.turn_id == mark.turn_id) {
                self.last = Some(mark);
            }
        }
        Ok(())
    }

    /// Brings a Turn on from where a crash left it; no, where that cannot be told from here.
    ///
    /// Errors: as [`turn::resume`].
    pub(super) fn recover(&mut self, turn_id: TurnId) -> Result<bool> {
        self.say(&format!("bringing on the Turn {turn_id} from where it was left"));
        let base = turn::minted_id()?;
        let attempts = super::super::names::turn_row(&mut self.desk, turn_id)?.attempts.len();
        let is_own = self.used.ran(turn_id).is_some_and(Ran::is_begun);
        let whose = if is_own { Whose::Own } else { Whose::Others };
        let went =
            self.watched(whose, |site, host, watch| turn::resume(site, turn_id, &base, Some(host), watch));
        match went {
            Ok(done) => {
                let has_worked = done.turn().attempts.len() > attempts;
                self.hold(&done)?;
                self.take_in(&done, if has_worked { Share::Worked } else { Share::BroughtOn })?;
                // What is brought on again and again comes to no end by itself.
                self.lost = if done.turn().is_terminal() { 0 } else { self.lost + 1 };
                Ok(self.lost < super::LOST_MAX)
            }
            Err(error) => match error.code() {
                Code::TurnUnresolved => {
                    let turn = super::super::names::turn_row(&mut self.desk, turn_id)?;
                    let has_worked = turn.attempts.len() > attempts;
                    self.used.note(&turn, if has_worked { Share::Worked } else { Share::BroughtOn });
                    Ok(false)
                }
                // Another recovery has it, or had it.
                Code::ExecutorActive | Code::InvalidTransition | Code::NotReady => {
                    self.lose(error).map(|()| true)
                }
                _ => Err(error), // wildcard: what is no other's move is a failure
            },
        }
    }

    /// Lets a Turn be driven, shown and listened to.
    fn watched(
        &mut self,
        whose: Whose,
        drive: impl FnOnce(&mut turn::Site<'_>, &dyn turn::Host, &dyn Watcher) -> Result<Done>,
    ) -> Result<Done> {
        let Self { context, who, desk, bench, host, signals, used, .. } = self;
        // The first signal lets the Turn come to its end, the second ends it.
        let progress = progress::watch(context, who, || signals.count() > 1);
        let is_warned = Cell::new(false);
        let warns = || {
            if signals.count() == 1 && !is_warned.replace(true) {
                progress
                    .aside("the loop ends when this Turn is over; once more, and the Turn is stopped now");
            }
        };
        let used = &*used;
        let goes_on = || {
            let mut budget = used.budget();
            if let turn::controller::Left::Some(left) = &mut budget.turns {
                *left = left.saturating_sub(u64::from(whose == Whose::New));
            }
            whose != Whose::Others && signals.count() == 0 && budget.spent().is_none()
        };
        let watch = Watch { progress: &progress, warns: &warns, goes_on: &goes_on, next: RefCell::new(None) };
        let done = drive(&mut bench.site(desk), host.as_ref(), &watch);
        let next = watch.next.into_inner();
        match &done {
            Ok(done) => progress.over(done.turn().state.as_str()),
            Err(_) => drop(progress),
        }
        let done = done?;
        if let (Some(lock), Some(todo_id)) = (next, done.turn().todo_id()) {
            let own_id = done.receipt.outcome::<Outcome>()?.own_id;
            let (receipt, todo_id) = (done.receipt.clone(), todo_id.clone());
            self.onward = Some(Onward { receipt, lock, own_id, todo_id });
        }
        Ok(done)
    }

    /// Takes in where a Turn ended, and settles what that has freed.
    fn take_in(&mut self, done: &Done, share: Share) -> Result<()> {
        self.used.note(done.turn(), share);
        self.receipt = Some(done.receipt.clone());
        let line = said(done);
        self.say(&line);
        let freed = turn::prove_after(&mut self.bench.site(&mut self.desk), &done.receipt)?;
        self.keep_up(&freed)
    }

    /// Stops the Turn that was admitted to go on with, and is not gone on with; its slot is given back. Whether there was
    /// one.
    ///
    /// Errors: `store_*`.
    pub(super) fn give_back(&mut self) -> Result<bool> {
        let Some(Onward { receipt, lock, todo_id, .. }) = self.onward.take() else { return Ok(false) };
        let start = Start { operation_id: turn::minted_id()?, ..self.start(&todo_id)? };
        let admitted = Admitted::next(receipt, lock);
        let mut site = self.bench.site(&mut self.desk);
        let done = turn::drive(&mut site, &start, admitted, self.host.as_ref(), &|| true)?;
        self.receipt = Some(done.receipt);
        Ok(true)
    }
}

/// Whether a refused admission says that what was decided on has changed since, or that a gate was opened for it.
fn is_others(refused: &Error) -> bool {
    is_lost(refused)
        || matches!(
            refused.code(),
            Code::GateOpened | Code::QuotaExhausted | Code::GoalStopped | Code::GoalClosed
        )
}

/// Where a Turn ended, in a line, and how many attempts that took where one was not enough.
fn said(done: &Done) -> String {
    match done.turn().attempts.len() {
        0 | 1 => where_ended(done),
        n => format!("{}, after {n} attempts", where_ended(done)),
    }
}

fn where_ended(done: &Done) -> String {
    let turn = done.turn();
    let todo = turn.todo_id().map(ToString::to_string).unwrap_or_default();
    match Ended::of(turn) {
        Ended::Completion { .. } => format!("{todo} is done"),
        Ended::Progress => format!("{todo} moved on"),
        Ended::RepairRequired => format!("{todo} has something to be repaired"),
        Ended::ReplanRequired => format!("{todo} says that the plan does not hold"),
        Ended::Stopped(why) => {
            format!("the Turn on {todo} was stopped ({})", plain(&crate::projection::word(&why)))
        }
        Ended::Failed(_) => {
            let note = super::super::turn_end::note(done).unwrap_or_default();
            format!("the Turn on {todo} failed: {}", plain(&note))
        }
        Ended::Fenced => format!("another ownership took {todo} over"),
        Ended::Unresolved => format!("what the Turn on {todo} did is not known"),
        Ended::Held => format!("the result of {todo} is held"),
        Ended::AtWork => format!("the Turn on {todo} is {}", turn.state.as_str()),
    }
}
