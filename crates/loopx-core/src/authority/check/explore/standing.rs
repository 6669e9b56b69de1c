//! Owns what is checked of every state that is found: what is stale writes nothing, what was said is said again, and
//! `next` obliges to nothing that is refused.

use super::{
    super::invariants::{Broken, Promise, keeps},
    action::{Driver, Owner, Token, seat_of},
    node::{Drivers, Node, Seat, Sight, actor},
    outside::{self, Fate},
    proposed::{self, Word},
    returned::{self, Say},
    step::{Checked, all, conflicting, refused},
};
use crate::{
    authority::check::{play::attached, world::user},
    error::{Code, Result},
    kernel::{
        Action, ClaimCommand, Command, Decided, GateCommand, GoalCommand, Input, Rows, TodoCommand, Told,
        UnresolvedBy,
    },
    model::*,
};

/// How an owner comes too late: by a door, with a result, with what was said of one.
const LATE: [Owner; 9] = [
    Owner::Renew,
    Owner::Release,
    Owner::Transfer,
    Owner::Defer,
    Owner::Block,
    Owner::Stop,
    Owner::Result(ResultKind::ValidatedCompletion),
    Owner::Verdict(VerdictOutcome::Passed),
    Owner::Intend,
];

/// How a driver does.
const LATE_DRIVER: [Driver; 5] = [
    Driver::Dispatch,
    Driver::Crashed { retry: true },
    Driver::Lose { gone: true },
    Driver::RecoverAgain,
    Driver::RecoverResult,
];

/// Checks a state.
pub(super) fn check(node: &Node, rows: &Rows, seats: &[Seat]) -> Checked<()> {
    let mut fork = node.fork();
    all([
        conflicting(&fork),
        stale_tokens(&mut fork, rows, seats),
        stale_revisions(&mut fork, rows, seats),
        stale_proposals(&mut fork, rows),
        stale_effects(&mut fork, rows),
        stale_returns(&mut fork, rows),
    ])?;
    for seat in seats {
        for sight in sights(rows, seat) {
            all([next_is_admitted(node, rows, seat, &sight)])?;
        }
    }
    Ok(())
}

/// Nothing that was refused before a check may have been written, and nothing may be accepted.
fn must_refuse(
    node: &mut Node,
    what: impl std::fmt::Debug,
    ask: impl FnOnce(&mut Node) -> Result<Receipt>,
) -> Result<(), Broken> {
    let version = node.ledger.version();
    match ask(node) {
        Err(error) => refused(node, version, &error),
        Ok(receipt) => keeps(false, Promise::StaleWritesNothing, || format!("{what:?}: {receipt:?}")),
    }
}

/// The token of the last Turn of each Todo that ended, and that of each owner in other hands.
fn stale_tokens(fork: &mut Node, rows: &Rows, seats: &[Seat]) -> Result<(), Broken> {
    for todo in rows.todos.values() {
        let of_todo = |turn: &&Turn| turn.todo_id() == Some(&todo.todo_id) && turn.is_terminal();
        if let Some(ended) = rows.turns.values().rfind(of_todo) {
            let token = token_of(ended);
            // What it would do to its own Turn, and to the one that took its place.
            let turns = [Some(ended.turn_id), todo.turn_id];
            for turn_id in turns.into_iter().flatten() {
                let token = Token { turn_id, ..token.clone() };
                for what in LATE {
                    must_refuse(fork, ("ended", &token, what), |fork| fork.use_token(&token, what))?;
                }
                let turn = Turn { turn_id, ..ended.clone() };
                for what in LATE_DRIVER.into_iter().filter(|_| ended.is_driven()) {
                    must_refuse(fork, ("ended", turn_id, what), |fork| fork.drive_turn(&turn, what))?;
                }
            }
        }
        let Some(own) = &todo.ownership else { continue };
        let stranger = seats.iter().find(|seat| **seat != seat_of(own));
        if let Some(stranger) = stranger {
            let token = Token { seat: (*stranger).to_owned(), ..Token::of(todo.todo_id.number(), own) };
            for what in LATE {
                must_refuse(fork, ("of another", &token, what), |fork| fork.use_token(&token, what))?;
            }
        }
    }
    Ok(())
}

/// What anybody read before the last write is no ground for another.
fn stale_revisions(fork: &mut Node, rows: &Rows, seats: &[Seat]) -> Result<(), Broken> {
    let goal = rows.goals.values().next().map(|goal| goal.revision);
    let goal = Expected { goal: goal.map(|is| is - 1), ..Expected::default() };
    let mut stale = vec![(user(), Command::Goal(GoalCommand::Stop), goal.clone())];
    for todo in rows.todos.values() {
        let todo_id = todo.todo_id.clone();
        let todos = [(todo_id.clone(), todo.revision - 1)].into();
        let expected = Expected { todos, ..Expected::default() };
        // Agents believe something too: who claims, and who owns.
        for (seat, expected) in seats.iter().zip([&expected, &goal]) {
            let claim = Command::Claim(ClaimCommand::Claim(Box::new(attached(&todo_id))));
            stale.push((actor(seat), claim, expected.clone()));
        }
        if let Some(own) = &todo.ownership {
            let renew = ClaimCommand::Renew { todo_id: todo_id.clone(), own_id: Some(own.own_id) };
            stale.push((actor(&seat_of(own)), Command::Claim(renew), expected.clone()));
        }
        let hold = if todo.hold { TodoCommand::Unhold { todo_id } } else { TodoCommand::Hold { todo_id } };
        stale.push((user(), Command::Todo(hold), expected));
    }
    if let Some(gate) = rows.gates.values().find(|gate| gate.is_blocking()) {
        let expected = Expected { gate: Some((gate.gate_id, gate.revision - 1)), ..Expected::default() };
        stale.push((user(), Command::Gate(GateCommand::Withdraw { gate_id: gate.gate_id }), expected));
    }
    for (by, command, expected) in stale {
        let operation = Operation { expected, ..fork.operation(by, Input::Command(command)) };
        must_refuse(fork, &operation, |fork| fork.give(&operation))?;
    }
    Ok(())
}

/// What was proposed of a state that is gone is not carried out, nor is what was answered.
fn stale_proposals(fork: &mut Node, rows: &Rows) -> Result<(), Broken> {
    for proposal in proposed::all(rows) {
        let id = proposal.proposal_id;
        if !proposal.is_open() {
            for word in Word::ALL {
                must_refuse(fork, ("answered", id, word), |fork| fork.answer(proposal, *word))?;
            }
        } else if !proposed::is_so(rows, &proposal.expected) {
            must_refuse(fork, ("stale", id), |fork| fork.answer(proposal, Word::Confirm))?;
        }
    }
    Ok(())
}

/// What was sent is not sent again, and of what is known nothing else is told.
fn stale_effects(fork: &mut Node, rows: &Rows) -> Result<(), Broken> {
    let told = |what: &Fate| match what {
        Fate::Confirm { .. } | Fate::Tell(_) | Fate::WriteOff => true,
        Fate::Dispatch | Fate::Stop { .. } => false,
    };
    for effect in outside::all(rows) {
        let id = effect.effect_id;
        if effect.state != EffectState::Intended {
            must_refuse(fork, ("sent", id), |fork| fork.befall(effect, Fate::Dispatch))?;
        }
        for what in Fate::ALL.iter().filter(|what| !effect.is_unresolved() && told(what)) {
            must_refuse(fork, ("known", id, what), |fork| fork.befall(effect, *what))?;
        }
    }
    Ok(())
}

/// What was decided is not decided again, nor by whoever owned the coordinator before; and what was found in a Turn over
/// which another went is not returned.
fn stale_returns(fork: &mut Node, rows: &Rows) -> Result<(), Broken> {
    for given in returned::all(rows) {
        let id = given.return_id;
        for say in [Say::Adopt, Say::Reject] {
            if !given.is_open() {
                must_refuse(fork, ("decided", id, say), |fork| {
                    fork.decide_on(given, say, false).expect("a person always may")
                })?;
            }
            let ended = |turn: &&Turn| turn.todo_id() == Some(&given.todo_id) && turn.is_terminal();
            if let Some(ended) = rows.turns.values().rfind(ended) {
                let token = token_of(ended);
                must_refuse(fork, ("ended", id, say), |fork| fork.decide_late(given, say, &token))?;
            }
        }
    }
    let of_peer = |turn: &&Turn| turn.todo_id().is_some_and(|id| rows.todos[id].coordinates.is_some());
    let fenced = |turn: &&Turn| turn.state == TurnState::Fenced;
    for turn in rows.turns.values().filter(of_peer).filter(fenced) {
        must_refuse(fork, ("fenced", turn.turn_id), |fork| fork.give_of(turn, Some(turn.own_id)))?;
    }
    Ok(())
}

/// What was given to whoever claimed a Turn.
pub(super) fn token_of(turn: &Turn) -> Token {
    Token {
        seat: format!("{}@{}", turn.agent_id, turn.endpoint),
        todo_id: turn.todo_id().unwrap().clone(),
        turn_id: turn.turn_id,
        own_id: turn.own_id,
    }
}

/// How an agent may ask: by itself or for a driver, with its token or without, here or elsewhere, with drivers that live, are gone, or unknown.
fn sights(rows: &Rows, seat: &str) -> Vec<Sight> {
    let own = token(rows, seat).map(|own| own.own_id);
    let mut sights = vec![Sight::default(), Sight { executor: Executor::Hosted, ..Sight::default() }];
    if own.is_some() {
        sights.push(Sight { own_id: own, ..Sight::default() });
    }
    if rows.turns.values().any(|turn| turn.is_driven() && !turn.is_terminal()) {
        for drivers in [Drivers::Unknown, Drivers::Alive, Drivers::Gone] {
            sights.push(Sight { here: true, drivers, ..Sight::default() });
        }
    }
    sights
}

/// The ownership of an agent that came by itself.
pub(super) fn token<'r>(rows: &'r Rows, seat: &str) -> Option<&'r Ownership> {
    let mut own = rows.todos.values().filter_map(|todo| todo.ownership.as_ref()).filter(|own| {
        seat_of(own) == seat && rows.turns[&own.turn_id].executor == Executor::Attached && !own.frozen
    });
    own.next()
}

/// What `next` obliges to is tried, and must be taken.
fn next_is_admitted(node: &Node, rows: &Rows, seat: Seat, sight: &Sight) -> Result<(), Broken> {
    let decided = match node.next(rows, seat, sight) {
        Ok(decided) => decided,
        Err(error) => return keeps(error.code() != Code::Internal, Promise::Total, || format!("{error:?}")),
    };
    let Decided { action, obligation, .. } = &decided;
    let works = matches!(
        action,
        Action::Run { .. } | Action::Repair { .. } | Action::Replan { .. } | Action::Reconcile { .. }
    );
    keeps(works == obligation.must_attempt_work, Promise::NextIsAdmitted, || format!("{decided:?}"))?;
    if !works {
        return Ok(());
    }
    let mut fork = node.fork();
    let taken = match action {
        Action::Replan { replan: Some(of), .. } => {
            fork.replan(seat, of, sight.executor).is_ok_and(|receipt| receipt.negative().is_none())
        }
        Action::Run { todo_id, turn_id: None }
        | Action::Repair { todo_id, .. }
        | Action::Replan { todo_id, replan: None } => {
            let answer = fork.claim(seat, todo_id.number(), sight.executor);
            answer.is_ok_and(|receipt| receipt.negative().is_none())
        }
        Action::Run { todo_id, .. } => {
            let own = rows.todos[todo_id].ownership.as_ref();
            own.is_some_and(|own| fork.use_token(&Token::of(todo_id.number(), own), Owner::Renew).is_ok())
        }
        Action::Reconcile { of: UnresolvedBy::Effect(id), .. } => {
            fork.befall_by(actor(seat), *id, Fate::Tell(Told::Unknown)).is_ok()
        }
        // One of the ways out of it is open, or has its time.
        Action::Reconcile { of: UnresolvedBy::Turn(turn_id), .. } => {
            let turn = &rows.turns[turn_id];
            let ways = [
                Driver::Prove { gone: true },
                Driver::RecoverNothing,
                Driver::RecoverAgain,
                Driver::RecoverResult,
                Driver::Crashed { retry: true },
                Driver::Dispatch,
            ];
            ways.into_iter().any(|way| node.fork().drive_turn(turn, way).is_ok())
                || fork.use_token(&token_of(turn), Owner::Verdict(VerdictOutcome::Passed)).is_ok()
        }
        Action::Wait { .. } | Action::AskUser { .. } | Action::Closed => true,
    };
    keeps(taken, Promise::NextIsAdmitted, || format!("{seat} {sight:?}: {decided:?}, and it is refused"))
}
