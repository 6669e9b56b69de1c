//! Owns the search: every state that a scope can come to, the shortest way first.
//!
//! Knows no promise; what is broken is reported with the way that led to it.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    fmt::Write as _,
};

use super::{
    super::invariants::Broken,
    action::Action,
    follow,
    key::{Key, key},
    node::Node,
    scope::Scope,
    standing,
    step::{Stepped, step},
};
use crate::kernel::Rows;

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) states: usize,
    /// How many of them are so many moves from the start.
    pub(super) by_depth: Vec<usize>,
    pub(super) moves: usize,
    /// Whether nothing was left to be looked at.
    pub(super) complete: bool,
    /// How many states were compared with another that was taken for it; the first that went on otherwise.
    pub(super) twins: Result<usize, String>,
    /// The first state in which something was broken.
    pub(super) broken: Option<Trace>,
}

/// A shortest way to what is broken.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) way: Vec<Action>,
    pub(super) broken: Vec<Broken>,
}

impl Trace {
    /// The way, a move a line, and what it broke.
    pub(super) fn told(&self) -> String {
        let mut told = String::new();
        for (place, action) in self.way.iter().enumerate() {
            let _ = writeln!(told, "{:>3}. {action:?}", place + 1);
        }
        for broken in &self.broken {
            let _ = writeln!(told, "  => {:?}: {}", broken.promise, broken.what);
        }
        told
    }
}

/// A world that comes to more states is not small.
const MOST: usize = 20_000;

/// How a state was first met.
struct Met {
    from: usize,
    by: Option<Action>,
    depth: usize,
}

/// A move that was accepted, and where it leads.
struct Move {
    action: Action,
    key: Key,
    node: Node,
    rows: Rows,
}

/// Where something was broken: after a move, or where one stands.
type Broke = (Option<Action>, Vec<Broken>);

/// Goes everywhere.
pub(super) struct Search<'s> {
    scope: &'s Scope,
    met: Vec<Met>,
    known: HashMap<Key, usize>,
    waiting: VecDeque<(usize, Node, Rows)>,
    live: HashSet<follow::Place>,
    moves: usize,
    twins: Option<Twins>,
}

impl<'s> Search<'s> {
    pub(super) fn new(scope: &'s Scope) -> Self {
        Self {
            scope,
            met: Vec::new(),
            known: HashMap::new(),
            waiting: VecDeque::new(),
            live: HashSet::new(),
            moves: 0,
            twins: None,
        }
    }

    /// Looks at every state up to the scope's depth, until something is broken; in a whole world also at those that were
    /// taken for one of them.
    pub(super) fn run(mut self) -> Found {
        self.twins = self.scope.is_whole().then(Twins::default);
        let broken = self.go();
        let mut by_depth = Vec::new();
        for met in &self.met {
            by_depth.resize(by_depth.len().max(met.depth + 1), 0);
            by_depth[met.depth] += 1;
        }
        let complete = broken.is_none() && self.waiting.is_empty() && by_depth.len() <= self.scope.depth;
        let twins = if broken.is_none() { self.twins() } else { Ok(0) };
        Found { states: self.met.len(), by_depth, moves: self.moves, complete, twins, broken }
    }

    /// Looks at every state, and then at those that were taken for one of them: how many there are, or the first that
    /// goes on otherwise.
    pub(super) fn compare(mut self) -> Result<usize, String> {
        self.twins = Some(Twins::default());
        let broken = self.go();
        assert!(broken.is_none(), "{broken:?}");
        self.twins()
    }

    fn twins(&mut self) -> Result<usize, String> {
        let Twins { ways, others } = self.twins.take().unwrap_or_default();
        let mut compared = 0;
        for (place, (node, rows)) in others {
            let Some(way) = ways.get(place) else { continue };
            let moves = self.moves(&node, &rows).unwrap_or_else(|broke| panic!("{broke:?}"));
            let other = ranked(&rows, &moves);
            if *way != other {
                let path = self.way(place, None);
                return Err(format!("after {path:?}: {way:?}, and its twin: {other:?}\n{rows:?}"));
            }
            compared += 1;
        }
        Ok(compared)
    }

    fn go(&mut self) -> Option<Trace> {
        let start = self.scope.start();
        let rows = start.rows();
        self.meet(key(&start, &rows), start, rows, 0, None);
        while self.met.len() <= MOST
            && let Some((place, node, rows)) = self.waiting.pop_front()
        {
            if let Err((by, broken)) = self.look(place, &node, &rows) {
                return Some(Trace { way: self.way(place, by), broken });
            }
        }
        None
    }

    fn meet(&mut self, key: Key, node: Node, rows: Rows, from: usize, by: Option<Action>) {
        if let Some(place) = self.known.get(&key) {
            if let Some(twins) = &mut self.twins {
                twins.others.entry(*place).or_insert((node, rows));
            }
            return;
        }
        let place = self.met.len();
        let depth = by.map_or(0, |_| self.met[from].depth + 1);
        self.known.insert(key, place);
        self.met.push(Met { from, by, depth });
        self.waiting.push_back((place, node, rows));
    }

    /// Checks a state, and takes every way out of it.
    fn look(&mut self, place: usize, node: &Node, rows: &Rows) -> Result<(), Broke> {
        let here = |broken| (None, broken);
        standing::check(node, rows, self.scope.seats).map_err(here)?;
        if self.met[place].depth < self.scope.depth {
            let moves = self.moves(node, rows)?;
            self.moves += moves.len();
            if let Some(twins) = &mut self.twins {
                twins.ways.push(ranked(rows, &moves));
            }
            for Move { action, key, node, rows } in moves {
                self.meet(key, node, rows, place, Some(action));
            }
        }
        // What a move breaks is told as that, before where it leads to.
        follow::check(node, rows, self.scope, &mut self.live).map_err(here)
    }

    fn moves(&self, node: &Node, rows: &Rows) -> Result<Vec<Move>, Broke> {
        let mut moves = Vec::new();
        let mut fork = node.fork();
        for action in self.scope.offers(node, rows) {
            match step(&mut fork, rows, action).map_err(|broken| (Some(action), broken))? {
                Stepped::Nowhere => {}
                Stepped::To(rows) => {
                    let node = std::mem::replace(&mut fork, node.fork());
                    moves.push(Move { action, key: key(&node, &rows), node, rows });
                }
            }
        }
        Ok(moves)
    }

    fn way(&self, place: usize, last: Option<Action>) -> Vec<Action> {
        let mut way: Vec<_> = last.into_iter().collect();
        let mut place = place;
        while let Some(action) = self.met[place].by {
            way.push(action);
            place = self.met[place].from;
        }
        way.reverse();
        way
    }
}

/// What is kept to see whether states that are taken for one go on as one.
#[derive(Default)]
struct Twins {
    /// Where each state leads, in the order in which they were looked at.
    ways: Vec<Vec<(Action, Key)>>,
    /// Another state that was taken for it.
    others: BTreeMap<usize, (Node, Rows)>,
}

/// Where moves lead, with gates by their place among those that block: the others are not told apart.
fn ranked(rows: &Rows, moves: &[Move]) -> Vec<(Action, Key)> {
    let rank = |place: usize| rows.gates.values().take(place).filter(|gate| gate.is_blocking()).count();
    let of = |found: &Move| match found.action {
        Action::Gate(place, verb) => (Action::Gate(rank(place), verb), found.key),
        action => (action, found.key),
    };
    moves.iter().map(of).collect()
}
