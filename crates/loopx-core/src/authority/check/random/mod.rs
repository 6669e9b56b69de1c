//! Owns the random histories: the same wishes, steps and passing of time on the ledger in memory and in a file.
//!
//! The `World` checks after every call that a refusal wrote nothing, that events fold to the rows and that
//! counters and meters are what the rows say; the `Twin` below it, that both ledgers give the same answers.

mod effects;
mod owners;
mod peers;
mod people;
mod proposals;
mod todos;
mod turns;

use std::collections::BTreeMap;

use proptest::{prelude::*, test_runner::Config};

use super::{
    super::conformance::{Room as _, ask_everything},
    Kept,
    world::{World, agent, text},
};
use crate::{
    kernel::{Command, Event, ReplanEvent, Step},
    model::*,
};

/// One move of a history: what is done, and which of the rows that then exist it is done to.
type Move = (u8, u16, u16);

fn history() -> impl Strategy<Value = Vec<Move>> {
    proptest::collection::vec(any::<Move>(), 10..70)
}

/// Picks one of what is there.
fn pick<T: Clone>(from: impl IntoIterator<Item = T>, by: u16) -> Option<T> {
    let all: Vec<T> = from.into_iter().collect();
    (!all.is_empty()).then(|| all[usize::from(by) % all.len()].clone())
}

struct Player {
    world: World,
    /// The parts of each Todo's packet as they were, and its revision.
    packets: BTreeMap<TodoId, (String, Digest)>,
}

impl Player {
    fn todo(&self, by: u16) -> Option<TodoId> {
        pick(self.world.ledger.rows().todos.into_keys(), by)
    }

    fn proposal(&self, by: u16) -> Option<Proposal> {
        let nouns = self.world.ledger.rows().nouns.into_values();
        let all: Vec<_> = nouns.filter_map(|noun| Proposal::of(&noun).cloned()).collect();
        let open: Vec<_> = all.iter().filter(|proposal| proposal.is_open()).cloned().collect();
        if by.is_multiple_of(7) { pick(all, by) } else { pick(open, by) }
    }

    fn gate(&self, by: u16) -> Option<GateId> {
        pick(self.world.ledger.rows().gates.into_keys(), by)
    }

    /// A Turn that has not ended, or now and then one that has.
    fn turn(&self, by: u16) -> Option<Turn> {
        let turns = self.world.ledger.rows().turns;
        let live: Vec<Turn> = turns.values().filter(|turn| !turn.is_terminal()).cloned().collect();
        if by.is_multiple_of(7) { pick(turns.into_values(), by) } else { pick(live, by) }
    }

    fn as_user(&mut self, command: Command) {
        drop(self.world.user(command));
    }

    fn as_agent(&mut self, by: u16, command: Command) {
        let name = ["a", "b", "c"][usize::from(by) % 3];
        drop(self.world.agent(name, command));
    }

    fn step(&mut self, turn: &Turn, step: Step) {
        drop(self.world.step(agent(turn.agent_id.as_str()), step));
    }

    fn play(&mut self, (what, x, y): Move) {
        match what % 18 {
            0 | 1 => self.add(x, y),
            2 => self.change(x, y),
            3..=6 => self.own(x, y),
            7 | 8 => self.advance(x, y),
            9 => self.settle(x, y),
            10 => self.gates(x, y),
            11 => self.goal(x, y),
            12 => self.pass(x, y),
            13 => self.driver(x, y),
            14 if what < 128 => self.peers(x, y),
            14 => self.effects(x, y),
            16 => self.propose(x, y),
            _ => self.relieve(x, y),
        }
    }

    fn pass(&mut self, x: u16, y: u16) {
        match x % 9 {
            0 => self.world.step_wall(i64::from(y) * 100_000 - 3_000_000_000),
            1 if y.is_multiple_of(4) => self.world.reboot(),
            2 => self.world.pass(Duration::from_mins(60 * 24)),
            _ => self.world.pass(Duration::from_secs(u64::from(y))),
        }
    }
}

/// Plays a history on both ledgers.
fn tell(moves: &[Move]) {
    let mut world = World::over(Kept::twin());
    world.start(|goal| goal.unvalidated = Unvalidated::Trust);
    let mut player = Player { world, packets: BTreeMap::new() };
    for n in 0..3 {
        player.world.todo("begin", |new| new.priority = Priority::ALL[n]);
    }
    for one in moves {
        player.play(*one);
        player.check_packets();
        for name in ["a", "b"] {
            // Whoever is not registered is refused; the reads were compared all the same.
            drop(player.world.next(name, None));
        }
    }
    let mut written = std::collections::BTreeSet::new();
    for envelope in player.world.envelopes() {
        if let Event::Replan(ReplanEvent::Written { of, .. }) = envelope.body {
            let key = (of.covers, of.ordinal);
            assert!(written.insert(key.clone()), "a consumed obligation came again: {key:?}");
        }
    }
    // A fresh handle finds what the one that wrote it found.
    let operations: Vec<OperationId> = (0..80).map(|n| text(&format!("op-{n}"))).collect();
    player.world.ledger.open().read(&mut |view| ask_everything(view, &operations).map(drop)).unwrap();
    assert_eq!(super::audit::flaw(&player.world.ledger), None);
}

proptest! {
    #![proptest_config(Config { cases: 16, failure_persistence: None, ..Config::default() })]

    #[test]
    fn both_ledgers_tell_one_history(moves in history()) {
        tell(&moves);
    }
}
