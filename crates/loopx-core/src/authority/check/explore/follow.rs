//! Owns the way out: agents follow `next`, a person follows `ask_user`, until the Goal is closed or a wait is named.
//!
//! From every state it is gone twice: once by agents and drivers that have what they were given, and once by such that
//! died there and left everything.

use std::collections::{BTreeSet, HashSet};

use super::{
    super::invariants::{Broken, Promise},
    action::{Action, Driver, GateVerb, GoalVerb, Owner, TodoVerb, Token, TurnVerb, seat_of},
    key::{Key, key},
    node::{Drivers, Node, Sight, actor},
    outside::{self, Fate},
    proposed::{self, Word},
    scope::Scope,
    standing::{token, token_of},
    step::Checked,
    worlds::COMPLETES,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{self, Rows, Told, UnresolvedBy},
    model::*,
};

/// How many moves may lead to the end.
const BOUND: usize = 80;

/// From where the end is reached: a state, and the Todos whose owners are gone.
pub(super) type Place = (Key, Vec<u32>);

/// Goes to the end from a state.
pub(super) fn check(node: &Node, rows: &Rows, scope: &Scope, live: &mut HashSet<Place>) -> Checked<()> {
    let all: BTreeSet<TurnId> =
        rows.turns.values().filter(|turn| !turn.is_terminal()).map(|turn| turn.turn_id).collect();
    go(node, scope, BTreeSet::new(), live)?;
    if all.is_empty() { Ok(()) } else { go(node, scope, all, live) }
}

fn go(node: &Node, scope: &Scope, lost: BTreeSet<TurnId>, live: &mut HashSet<Place>) -> Checked<()> {
    let mut way = Way { node: node.fork(), scope, lost, log: Vec::new() };
    way.go(live).map_err(|broken| {
        let what = format!("{}\n     {}", broken.what, way.log.join("\n     "));
        vec![Broken { what, ..broken }]
    })
}

/// Nobody gets on.
fn stuck(what: &str) -> Broken {
    Broken { promise: Promise::Live, what: what.to_owned() }
}

/// Who does what LoopX says is refused.
fn refused(who: &str, error: &Error) -> Broken {
    let promise = if error.code() == Code::Internal { Promise::Total } else { Promise::NextIsAdmitted };
    Broken { promise, what: format!("{who} does as it is told, and is refused: {error:?}") }
}

struct Way<'s> {
    node: Node,
    scope: &'s Scope,
    /// Turns whose owner, or driver, is gone.
    lost: BTreeSet<TurnId>,
    log: Vec<String>,
}

/// What became of one move.
enum Moved {
    /// The state is another.
    On,
    /// The Goal is closed, or everybody waits for what rings.
    There,
}

impl Way<'_> {
    fn go(&mut self, live: &mut HashSet<Place>) -> std::result::Result<(), Broken> {
        let mut path: Vec<Place> = Vec::new();
        for _ in 0..BOUND {
            let rows = self.node.rows();
            self.lost.retain(|turn_id| !rows.turns[turn_id].is_terminal());
            let lost = self.lost.iter().filter_map(|id| rows.turns[id].todo_id()).map(TodoId::number);
            let place = (key(&self.node, &rows), lost.collect());
            if live.contains(&place) {
                live.extend(path);
                return Ok(());
            }
            if path.contains(&place) {
                return Err(stuck("everybody follows, and it goes round"));
            }
            path.push(place);
            match self.advance(&rows)? {
                Moved::On => {}
                Moved::There => {
                    live.extend(path);
                    return Ok(());
                }
            }
        }
        Err(stuck("everybody follows, and it does not end"))
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }

    /// The first move that anybody makes who does what LoopX says.
    fn advance(&mut self, rows: &Rows) -> std::result::Result<Moved, Broken> {
        if self.drivers(rows) {
            return Ok(Moved::On);
        }
        let (mut until, mut asks, mut waits): (Option<Timestamp>, Vec<String>, Vec<&str>) =
            Default::default();
        for seat in self.scope.seats.iter().copied() {
            let own = token(rows, seat).filter(|own| !self.lost.contains(&own.turn_id));
            let drivers = if self.lost.is_empty() { Drivers::AtWork } else { Drivers::Gone };
            let own_id = own.map(|own| own.own_id);
            let sight = Sight { own_id, here: true, drivers, ..Sight::default() };
            let decided = self.node.next(rows, seat, &sight).map_err(|error| refused(seat, &error))?;
            self.note(format!("{seat}: {:?}", decided.action));
            match decided.action {
                kernel::Action::Closed => return Ok(Moved::There),
                kernel::Action::Run { todo_id, turn_id: Some(_) } => {
                    self.finish(&todo_id)?;
                    return Ok(Moved::On);
                }
                kernel::Action::Replan { replan: Some(of), .. } => {
                    self.node.replan(seat, &of, Executor::Attached).map_err(|error| refused(seat, &error))?;
                    return Ok(Moved::On);
                }
                kernel::Action::Run { todo_id, turn_id: None }
                | kernel::Action::Repair { todo_id, .. }
                | kernel::Action::Replan { todo_id, replan: None } => {
                    let answer = self.node.claim(seat, todo_id.number(), Executor::Attached);
                    answer.map_err(|error| refused(seat, &error))?;
                    return Ok(Moved::On);
                }
                kernel::Action::Reconcile { of: UnresolvedBy::Turn(turn_id), .. } => {
                    match self.reconcile(&rows.turns[&turn_id]) {
                        Ok(()) => return Ok(Moved::On),
                        Err(error) => until = earlier(until, until_of(&error)),
                    }
                }
                kernel::Action::Reconcile { of: UnresolvedBy::Effect(id), .. } => {
                    let told = self.node.befall_by(actor(seat), id, Fate::Tell(Told::Unknown));
                    told.map_err(|error| refused(seat, &error))?;
                    return Ok(Moved::On);
                }
                kernel::Action::AskUser { asks: these } => {
                    asks.extend(these.into_iter().map(|ask| ask.command));
                }
                kernel::Action::Wait { why, until: at, .. } => {
                    until = earlier(until, at);
                    waits.push(why);
                }
            }
        }
        if waits.contains(&Code::GoalStopped.as_str()) {
            self.person(rows, Action::Goal(GoalVerb::Resume)).map_err(|error| refused("a person", &error))?;
            return Ok(Moved::On);
        }
        for ask in asks {
            match self.answer(rows, &ask) {
                Ok(()) => {
                    self.note(format!("person: {ask}"));
                    return Ok(Moved::On);
                }
                Err(error) => {
                    until = earlier(until, until_of(&error));
                    self.note(format!("person: {ask}, and is refused: {error}"));
                }
            }
        }
        self.wait(rows, until, &waits)
    }

    /// Nobody can do anything now: a moment comes, or somebody has to ring.
    fn wait(
        &mut self,
        rows: &Rows,
        until: Option<Timestamp>,
        waits: &[&str],
    ) -> std::result::Result<Moved, Broken> {
        let now = self.node.now();
        if let Some(until) = until.filter(|until| *until > now) {
            self.node.pass(until.since(now));
            self.note(format!("{} s pass", until.since(now).as_ms() / 1000));
            return Ok(Moved::On);
        }
        let sleeps = |todo: &Todo| {
            let wake = matches!(todo.state, TodoState::Deferred { wake: Wake::TodoDone(_) | Wake::Gate(_) });
            wake && !todo.counters.wake_lost
        };
        let rings = waits.iter().all(|why| *why == "time") && rows.todos.values().any(sleeps);
        if rings { Ok(Moved::There) } else { Err(stuck("everybody waits, and for nothing")) }
    }

    /// The drivers that live do their next step.
    fn drivers(&mut self, rows: &Rows) -> bool {
        let driven =
            rows.turns.values().filter(|turn| turn.is_driven() && !self.lost.contains(&turn.turn_id));
        for turn in driven.cloned().collect::<Vec<_>>() {
            let is_closed = turn.attempts.last().is_some_and(|attempt| attempt.end.is_some());
            let done = match turn.state {
                _ if turn.stop_wish.is_some() && !turn.is_terminal() => {
                    self.node.drive_turn(&turn, Driver::Ended)
                }
                TurnState::Admitted => self.node.drive_turn(&turn, Driver::Dispatch),
                TurnState::Dispatched if is_closed => {
                    self.node.drive_turn(&turn, Driver::Crashed { retry: false })
                }
                TurnState::Dispatched => self.by_owner(&turn, Owner::Result(ResultKind::ValidatedCompletion)),
                TurnState::Candidate => self.by_owner(&turn, Owner::Verdict(self.scope.passes())),
                TurnState::Held { .. }
                | TurnState::Unresolved { .. }
                | TurnState::Settled
                | TurnState::Stopped { .. }
                | TurnState::Failed { .. }
                | TurnState::Fenced => continue,
            };
            if done.is_ok() {
                self.note(format!("driver of {}: on from {}", turn.turn_id, turn.state.as_str()));
                return true;
            }
        }
        false
    }

    fn by_owner(&mut self, turn: &Turn, what: Owner) -> Result<Receipt> {
        self.node.use_token(&token_of(turn), what)
    }

    /// An agent ends what it has in hand, with a result that its validators like.
    fn finish(&mut self, todo_id: &TodoId) -> std::result::Result<(), Broken> {
        let rows = self.node.rows();
        let todo = &rows.todos[todo_id];
        let Some(own) = &todo.ownership else {
            return Err(stuck("an owner is told to work on what nobody owns"));
        };
        let token = Token::of(todo_id.number(), own);
        let looks = todo.kind == TodoKind::Monitor;
        let refused = |error: Error| refused(&seat_of(own), &error);
        if let Some(covering) = &todo.covering {
            // What covers the whole Goal asks a person, so that it comes to an end.
            let change = match covering.covers() {
                Some(covered) => rows.todos[covered].is_live().then_some(Owner::Drop),
                None => covering.proposed.is_empty().then_some(Owner::Ask),
            };
            if let Some(change) = change {
                self.node.use_token(&token, Owner::Renew).map_err(refused)?;
                self.node.use_token(&token, change).map_err(refused)?;
            }
            self.node.use_token(&token, COMPLETES).map_err(refused)?;
            return Ok(());
        }
        if !matches!(rows.turns[&own.turn_id].state, TurnState::Candidate) {
            // What is awaited comes.
            let awaited = rows.goals[todo_id.goal()].awaited() == Some(todo_id);
            let kind = match looks {
                true if awaited => ResultKind::LookChanged,
                true => ResultKind::LookUnchanged,
                false => ResultKind::ValidatedCompletion,
            };
            self.node.use_token(&token, Owner::Result(kind)).map_err(refused)?;
        }
        if !looks {
            self.node.use_token(&token, Owner::Verdict(self.scope.passes())).map_err(refused)?;
        }
        Ok(())
    }

    /// Somebody takes over what a driver left, or leads out what nobody can tell.
    fn reconcile(&mut self, turn: &Turn) -> Result<()> {
        let done = match turn.state {
            TurnState::Unresolved { why: Unresolved::Inconclusive, .. } => self
                .node
                .drive_turn(turn, Driver::RecoverAgain)
                .and_then(|_| self.by_owner(turn, Owner::Verdict(self.scope.passes()))),
            TurnState::Unresolved { .. } => self.node.drive_turn(turn, Driver::RecoverNothing),
            TurnState::Admitted
            | TurnState::Dispatched
            | TurnState::Candidate
            | TurnState::Held { .. }
            | TurnState::Settled
            | TurnState::Stopped { .. }
            | TurnState::Failed { .. }
            | TurnState::Fenced => {
                self.lost.remove(&turn.turn_id);
                if turn.open_attempt().is_none() {
                    return Ok(());
                }
                self.node.drive_turn(turn, Driver::Prove { gone: true })
            }
        };
        match done {
            // Its agent has something else in hand: a person gives it up instead.
            Err(error) if error.code() == Code::ExecutorActive => {
                let number = turn.todo_id().unwrap().number();
                let answer = self.node.act(Action::Turn(number, TurnVerb::Abandon));
                answer.unwrap_or(Err(error)).map(drop)
            }
            done => done.map(drop),
        }
    }

    fn person(&mut self, rows: &Rows, action: Action) -> Result<()> {
        let nothing = || Error::new(Code::InvalidTransition, format!("{action:?} makes no sense"));
        self.node.act(action).unwrap_or_else(|| Err(nothing()))?;
        // What a write freed is proved by LoopX itself, as every write verb does after its own commit.
        let held = rows.turns.values().filter(|turn| matches!(turn.state, TurnState::Held { .. }));
        for turn in held {
            let _ = self.node.drive_turn(turn, Driver::Prove { gone: false });
            if self.node.ledger.seen(|rows| rows.turns[&turn.turn_id].state == TurnState::Candidate) {
                let _ = self.by_owner(turn, Owner::Verdict(self.scope.passes()));
            }
        }
        Ok(())
    }

    /// A person runs the command that was named.
    fn answer(&mut self, rows: &Rows, command: &str) -> Result<()> {
        let words: Vec<_> = command.split(' ').collect();
        let gate = || rows.gates.keys().position(|id| id.to_string() == words[2]).unwrap();
        let turn = || rows.turns.values().find(|turn| turn.turn_id.to_string() == words[2]).unwrap();
        let of_turn = || turn().todo_id().unwrap().number();
        let todo = || words[2].parse::<TodoId>().unwrap().number();
        let effect = |what| {
            let place = outside::all(rows).position(|effect| effect.effect_id.to_string() == words[2]);
            Action::Effect(place.unwrap(), what)
        };
        let action = match words[..] {
            ["gate", "resolve", _, "--approve"] => Action::Gate(gate(), GateVerb::Approve),
            ["gate", "resolve", ..] => Action::Gate(gate(), GateVerb::Answer),
            ["gate", "withdraw", _] => Action::Gate(gate(), GateVerb::Withdraw),
            ["turn", "recover", _, "--resume"] => return self.reconcile(turn()),
            ["turn", "recover", _, "--prove"] => Action::Drive(of_turn(), Driver::Prove { gone: false }),
            ["turn", "abandon", ..] => Action::Turn(of_turn(), TurnVerb::Abandon),
            ["turn", "accept", _] => Action::Turn(of_turn(), TurnVerb::Accept),
            ["turn", "stop", _] => Action::Turn(of_turn(), TurnVerb::Stop),
            ["todo", "unhold", _] => Action::Todo(todo(), TodoVerb::Unhold),
            ["todo", "unblock", _] => Action::Todo(todo(), TodoVerb::Unblock),
            ["todo", "unlink", ..] => Action::Todo(todo(), TodoVerb::Unlink),
            ["todo", "done", ..] => Action::Todo(todo(), TodoVerb::Done),
            ["proposal", "confirm", id] => return self.confirm(rows, id),
            ["effect", "reconcile", _] => effect(Fate::Tell(Told::Unknown)),
            ["effect", "reconcile", _, "--absent", ..] => effect(Fate::Tell(Told::Absent)),
            ["effect", "write-off", ..] => effect(Fate::WriteOff),
            ["goal", "close", _, "--achieved", "--waive", _] => Action::Goal(GoalVerb::Waive),
            ["goal", "close", ..] => Action::Goal(GoalVerb::Achieve),
            _ => panic!("nobody knows how to `{command}`"),
        };
        self.person(rows, action)
    }

    /// A person confirms what was proposed; what is stale is written down as that.
    fn confirm(&mut self, rows: &Rows, id: &str) -> Result<()> {
        let place =
            proposed::waiting(rows).position(|proposal| proposal.proposal_id.to_string() == id).unwrap();
        match self.person(rows, Action::Answer(place, Word::Confirm)) {
            Err(stale) if stale.code() == Code::StaleRevision => {
                self.person(rows, Action::Answer(place, Word::Lapse))
            }
            given => given,
        }
    }
}

fn until_of(error: &Error) -> Option<Timestamp> {
    error.details().get("until_ms").and_then(serde_json::Value::as_i64).map(Timestamp::from_ms)
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
