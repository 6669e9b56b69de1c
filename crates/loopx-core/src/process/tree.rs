//! Owns who belongs to a tree of processes, and ending all of it.
//!
//! Knows nothing of output, deadlines of a run, or why it has to end.

use std::{
    collections::BTreeSet,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::Child,
    thread::{self, JoinHandle},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid},
};

use super::{
    census::{self, Mark, Row},
    clock::{boot_ms, pause},
    guarded, handle,
    leaf::Leaf,
    spec::{Containment, Process, Token},
};

/// How long a tree may take to die of KILL before what is left is named as survivors.
const KILL_MS: u64 = 5000;
/// How long a look may stay undecided because somebody is between two programs; an exec takes far less.
const SETTLE_MS: u64 = 1000;
/// The longest pause between two looks at a tree that is being ended.
const LOOK_MS: u64 = 50;

/// How the program at the head of a tree ended, as the system told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
    /// Another part of the caller's process collected the status.
    Unknown,
}

#[derive(Debug)]
struct Leader {
    child: Child,
    pid: Pid,
    pidfd: Option<OwnedFd>,
    exit: Option<Exit>,
    /// Invariant: until the tree is proved empty the leader stays a zombie, so its pid, and with it the group's,
    /// cannot be given to a stranger whom our signals would hit.
    reaped: bool,
}

/// The processes of one run, or all carriers of one token.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about one look at a tree")]
pub(super) struct Tree {
    leader: Option<Leader>,
    entry: Option<Vec<u8>>,
    /// The control group of all that descends from the leader.
    leaf: Option<Leaf>,
    /// How much of it is in there.
    inside: Inside,
    /// Whether this process is the parent of whatever loses its own below it, so that every child of it is a member.
    adopts: bool,
    /// Nothing that started earlier can descend from the leader.
    born_at: u64,
    members: Vec<Row>,
    blind: bool,
    /// The leader was collected, and somebody of its group lives.
    ///
    /// Invariant: while somebody is in a group, its number is given to no new process.
    has_strays: bool,
    /// At the last look somebody was between two programs and could not be judged.
    unsettled: bool,
}

/// Where a tree is that has a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Outside,
    /// On its way in.
    Moving,
    /// Where it stays; without a group it has always been there.
    Settled,
}

/// How much of a tree is in its control group.
#[derive(Debug)]
enum Inside {
    /// Nothing of it yet.
    Outside,
    Whole,
    /// Some of it could not be moved.
    Part,
    Moving(JoinHandle<bool>),
}

impl Tree {
    /// The tree below a child that leads its own process group.
    pub(super) fn below(child: Child, token: Option<&Token>) -> Option<Self> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
        let pidfd = handle::open(pid).ok();
        // A program that is already over still has its row: nobody has collected it.
        let born_at = census::any(pid.as_raw_pid()).map_or(0, |row| row.started);
        let leader = Leader { child, pid, pidfd, exit: None, reaped: false };
        let mut tree = Self::of(token, None);
        (tree.leader, tree.born_at) = (Some(leader), born_at);
        Some(tree)
    }

    /// As [`Tree::below`], where this process adopts whatever loses its parent; it can be moved into `leaf`.
    pub(super) fn guarded(child: Child, token: Option<&Token>, leaf: Option<Leaf>) -> Option<Self> {
        let mut tree = Self::below(child, token)?;
        tree.inside = if leaf.is_some() { Inside::Outside } else { Inside::Whole };
        (tree.leaf, tree.adopts) = (leaf, true);
        Some(tree)
    }

    /// All that carries a token or is in a control group, whoever started it.
    pub(super) fn carrying(token: &Token, leaf: Option<Leaf>) -> Self {
        Self::of(Some(token), leaf)
    }

    fn of(token: Option<&Token>, leaf: Option<Leaf>) -> Self {
        Self {
            leader: None,
            entry: token.map(Token::entry),
            leaf,
            inside: Inside::Whole,
            adopts: false,
            born_at: 0,
            members: Vec::new(),
            blind: false,
            has_strays: false,
            unsettled: false,
        }
    }

    /// The leader's process id; 0 without one.
    pub(super) fn pid(&self) -> i32 {
        self.leader.as_ref().map_or(0, |leader| leader.pid.as_raw_pid())
    }

    /// How the leader ended, once it has.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.leader.as_ref().and_then(|leader| leader.exit)
    }

    /// A descriptor that becomes readable when the leader ends; none after that, or where there is no such thing.
    pub(super) fn exit_fd(&self) -> Option<BorrowedFd<'_>> {
        let leader = self.leader.as_ref().filter(|leader| leader.exit.is_none())?;
        leader.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Looks whether the leader has ended, without collecting it.
    pub(super) fn note_exit(&mut self) {
        let Some(leader) = self.leader.as_mut().filter(|leader| leader.exit.is_none()) else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(leader.pid), options) {
            Ok(Some(status)) => {
                let code = status.exit_status().map(Exit::Code);
                let signal = status.terminating_signal().map(Exit::Signal);
                leader.exit = code.or(signal);
            }
            Err(Errno::CHILD) => {
                leader.exit = Some(Exit::Unknown);
                leader.reaped = true;
            }
            Ok(None) | Err(_) => {}
        }
    }

    /// Whether all of it is in its control group.
    pub(super) fn is_confined(&mut self) -> bool {
        if matches!(&self.inside, Inside::Moving(mover) if mover.is_finished()) {
            self.end_move();
        }
        self.leaf.is_some() && matches!(self.inside, Inside::Whole)
    }

    /// Begins to move it into its control group, beside all else; whatever is below this process by then goes with it.
    pub(super) fn confine(&mut self) {
        let Some(leaf) = self.leaf.clone().filter(|_| matches!(self.inside, Inside::Outside)) else { return };
        let leader = self.pid();
        let mover = thread::Builder::new().spawn(move || leaf.confine(leader));
        // A host may have used up what threads there are; then it stays with whoever adopts.
        self.inside = mover.map_or(Inside::Part, Inside::Moving);
    }

    /// Waits for a move that has begun: the leader's number is its own until it is collected, and nobody else is moved in
    /// its place.
    pub(super) fn end_move(&mut self) {
        self.inside = match std::mem::replace(&mut self.inside, Inside::Part) {
            Inside::Moving(mover) => match mover.join() {
                Ok(true) => Inside::Whole,
                Ok(false) | Err(_) => Inside::Part,
            },
            inside @ (Inside::Outside | Inside::Whole | Inside::Part) => inside,
        };
    }

    /// Where it is, as far as its control group goes.
    pub(super) const fn place(&self) -> Place {
        match self.inside {
            Inside::Outside => Place::Outside,
            Inside::Moving(_) => Place::Moving,
            Inside::Whole | Inside::Part => Place::Settled,
        }
    }

    /// What the emptiness of this tree is proved against. Who was not in the group yet was adopted, so nothing is missed.
    pub(super) fn containment(&mut self) -> Containment {
        let is_confined = self.is_confined();
        match (&self.entry, self.blind) {
            (_, true) => Containment::Group,
            (_, false) if is_confined => Containment::Leaf,
            (_, false) if self.adopts => Containment::Adopted,
            (Some(_), false) => Containment::Token,
            (None, false) => Containment::Children,
        }
    }

    /// Looks who of the tree is alive, again while somebody cannot be judged.
    pub(super) fn survey_settled(&mut self) -> Vec<Process> {
        let until_ms = boot_ms().saturating_add(SETTLE_MS);
        loop {
            let alive = self.survey();
            if !self.unsettled || boot_ms() >= until_ms {
                return alive;
            }
            pause(1);
        }
    }

    /// Whether nothing is below this process but the leader that has ended, and nothing in the control group; no as well,
    /// where that is not seen at once. Only after a whole look found nobody.
    fn is_bare(&self) -> bool {
        let is_confined = self.leaf.as_ref().is_none_or(|leaf| leaf.members().is_empty());
        self.adopts && is_confined && guarded::is_childless(self.pid())
    }

    /// Collects a leader that has ended; whether nobody of its group lives then. It asks the system twice, where a survey
    /// reads the whole process table.
    pub(super) fn ends_alone(&mut self) -> bool {
        let is_collected = self.exit().is_some() && self.collect();
        let Some(leader) = self.leader.as_ref().filter(|_| is_collected) else { return false };
        self.has_strays = test_kill_process_group(leader.pid).is_ok();
        // Only the group was asked.
        self.blind = !self.has_strays;
        self.blind
    }

    /// Collects what was adopted and has ended.
    pub(super) fn reap(&self) {
        if self.adopts {
            guarded::reap_adopted(self.pid());
        }
    }

    /// Removes the control group, once the tree is empty.
    pub(super) fn clear(&mut self) {
        if let Some(leaf) = self.leaf.as_ref() {
            leaf.remove();
        }
    }

    /// Looks who of the tree is alive.
    pub(super) fn survey(&mut self) -> Vec<Process> {
        self.reap();
        if let Ok(rows) = census::living() {
            self.blind = false;
            (self.members, self.unsettled) = self.select(rows);
            self.members.iter().map(|row| Process { pid: row.pid, name: row.name.clone() }).collect()
        } else {
            self.blind = true;
            self.survey_group()
        }
    }

    /// The members among these, and whether one of the rest could not be judged.
    fn select(&self, rows: Vec<Row>) -> (Vec<Row>, bool) {
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        let leader = self.leader.as_ref().filter(|leader| !leader.reaped || self.has_strays);
        let group = leader.map(|leader| leader.pid.as_raw_pid());
        let known: BTreeSet<(i32, u64)> = self.members.iter().map(|row| (row.pid, row.started)).collect();
        let confined: BTreeSet<i32> = self.leaf.iter().flat_map(Leaf::members).collect();
        let mut rest: Vec<Row> = rows.into_iter().filter(|row| row.started >= self.born_at).collect();
        let mut parents: BTreeSet<i32> = self.adopts.then_some(me).into_iter().collect();
        let mut members = Vec::new();
        let mut unsettled = false;
        rest.retain(|row| {
            // A caller that carries the token itself is named, never signalled, and its children are its own.
            let own = row.pid == me;
            let mut marked = || {
                let mark = self.entry.as_ref().map(|entry| census::carries(row, entry));
                unsettled |= mark == Some(Mark::Unsettled);
                mark == Some(Mark::Carried)
            };
            let ours = if own {
                self.leader.is_none() && marked()
            } else {
                Some(row.group) == group
                    || confined.contains(&row.pid)
                    || known.contains(&(row.pid, row.started))
                    || marked()
            };
            if ours {
                members.push(row.clone());
                if !own {
                    parents.insert(row.pid);
                }
            }
            !ours
        });
        loop {
            let before = members.len();
            rest.retain(|row| {
                let child = parents.contains(&row.parent) && row.pid != me;
                if child {
                    parents.insert(row.pid);
                    members.push(row.clone());
                }
                !child
            });
            if members.len() == before {
                return (members, unsettled);
            }
        }
    }

    /// Without a process table only the group can be asked, and a zombie leader would answer for it.
    fn survey_group(&mut self) -> Vec<Process> {
        let Some(leader) = self.leader.as_mut() else { return Vec::new() };
        if leader.exit.is_some() && !leader.reaped {
            leader.reaped = leader.child.try_wait().is_ok_and(|status| status.is_some());
        }
        let alive = leader.exit.is_none() || test_kill_process_group(leader.pid).is_ok();
        let process = Process { pid: leader.pid.as_raw_pid(), name: String::new() };
        alive.then_some(process).into_iter().collect()
    }

    /// Signals the group as one, then each member that is not in it; `only` limits the latter.
    fn signal(&self, signal: Signal, only: &dyn Fn(&Row) -> bool) {
        if let Some(leader) = self.leader.as_ref().filter(|leader| self.blind || !leader.reaped) {
            // An empty group is no error here: the next survey says what is left.
            let _ = kill_process_group(leader.pid, signal);
        }
        if let Some(leaf) = self.leaf.as_ref().filter(|_| signal == Signal::KILL) {
            leaf.kill();
        }
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        for row in self.members.iter().filter(|row| row.pid > 1 && row.pid != me && only(row)) {
            signal_one(row, signal);
        }
    }

    /// Kills what is known of the tree and collects the leader, if both can be done at once.
    fn cut_down(&mut self) {
        self.survey();
        self.signal(Signal::KILL, &|_| true);
        let until = boot_ms().saturating_add(KILL_MS);
        while !self.collect() && boot_ms() < until {
            pause(1);
        }
    }

    /// Collects the leader's status from the system; true when nothing is left to collect.
    pub(super) fn collect(&mut self) -> bool {
        let Some(leader) = self.leader.as_mut() else { return true };
        if !leader.reaped {
            leader.reaped = !matches!(leader.child.try_wait(), Ok(None));
        }
        leader.reaped
    }
}

impl Drop for Tree {
    /// A caller's tick that panics, or any other early way out, leaves no tree behind either.
    fn drop(&mut self) {
        if self.leader.as_ref().is_some_and(|leader| !leader.reaped) {
            self.cut_down();
        }
    }
}

/// Signals one process, sure that it is still the one that was seen.
fn signal_one(row: &Row, signal: Signal) {
    let Some(pid) = Pid::from_raw(row.pid) else { return };
    let handle = handle::open(pid);
    if census::any(row.pid).is_none_or(|now| now.started != row.started) {
        return;
    }
    // Errors are the survey's to tell: who is still there afterwards is a survivor.
    let _ = handle::signal(&handle, pid, signal);
}

/// The end of a tree, step by step: TERM, grace, KILL, until two looks in a row find nobody.
///
/// Two, because a look is not one instant: a process that forks and exits between two rows of the table can hide
/// from one look.
#[derive(Debug)]
pub(super) struct Ending {
    grace_until_ms: u64,
    kill_until_ms: Option<u64>,
    look_at_ms: u64,
    pause_ms: u64,
    empty_looks: u8,
    settle_until_ms: Option<u64>,
    found: Option<Vec<Process>>,
    asked: BTreeSet<(i32, u64)>,
}

/// Where an [`Ending`] stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// To be looked at again at this time of the boot clock.
    Again(u64),
    /// Over; these could not be ended.
    Over(Vec<Process>),
}

impl Ending {
    pub(super) fn new(now_ms: u64, grace_ms: u64) -> Self {
        Self {
            grace_until_ms: now_ms.saturating_add(grace_ms),
            kill_until_ms: None,
            look_at_ms: now_ms,
            pause_ms: 1,
            empty_looks: 0,
            settle_until_ms: None,
            found: None,
            asked: BTreeSet::new(),
        }
    }

    /// Who was alive at the first look.
    pub(super) fn into_found(self) -> Vec<Process> {
        self.found.unwrap_or_default()
    }

    /// When [`Ending::step`] has something to do again.
    pub(super) fn look_at_ms(&self) -> u64 {
        self.look_at_ms
    }

    /// Goes on with the end; cheap until [`Ending::look_at_ms`].
    pub(super) fn step(&mut self, tree: &mut Tree, now_ms: u64) -> Stage {
        if now_ms < self.look_at_ms {
            return Stage::Again(self.look_at_ms);
        }
        // Nothing can have come back to a tree that was seen empty, and has no one below this process.
        if self.empty_looks == 1 && tree.is_bare() {
            return Stage::Over(Vec::new());
        }
        let alive = tree.survey();
        self.found.get_or_insert_with(|| alive.clone());
        if alive.is_empty() {
            let settle_until_ms = *self.settle_until_ms.get_or_insert(now_ms.saturating_add(SETTLE_MS));
            if !tree.unsettled || now_ms >= settle_until_ms {
                self.empty_looks += 1;
            }
            if self.empty_looks >= 2 {
                return Stage::Over(alive);
            }
            self.pause_ms = 1;
        } else {
            self.empty_looks = 0;
            self.settle_until_ms = None;
            match self.kill_until_ms {
                Some(until) if now_ms >= until => return Stage::Over(alive),
                None if now_ms < self.grace_until_ms => self.ask(tree),
                _ => {
                    self.kill_until_ms.get_or_insert(now_ms.saturating_add(KILL_MS));
                    tree.signal(Signal::KILL, &|_| true);
                }
            }
            self.pause_ms = (self.pause_ms * 2).min(LOOK_MS);
        }
        self.look_at_ms = now_ms.saturating_add(self.pause_ms);
        if self.kill_until_ms.is_none() && !alive.is_empty() {
            self.look_at_ms = self.look_at_ms.min(self.grace_until_ms.max(now_ms + 1));
        }
        Stage::Again(self.look_at_ms)
    }

    /// TERM to whoever has not had it; CONT after it, for a stopped process takes no TERM.
    fn ask(&mut self, tree: &Tree) {
        let fresh = |row: &Row| !self.asked.contains(&(row.pid, row.started));
        if tree.blind || tree.members.iter().any(&fresh) {
            tree.signal(Signal::TERM, &fresh);
            tree.signal(Signal::CONT, &fresh);
        }
        self.asked.extend(tree.members.iter().map(|row| (row.pid, row.started)));
    }
}
