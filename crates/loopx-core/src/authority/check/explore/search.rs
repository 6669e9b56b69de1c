//! Owns the search: every state that a scope can come to, the shortest way first.
//!
//! Knows no promise; what is broken is reported with the way that led to it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
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
    /// The moves of the longest shortest way.
    pub(super) depth: usize,
    pub(super) moves: usize,
    /// Whether nothing was left to be looked at.
    pub(super) complete: bool,
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

/// How a state was first met.
struct Met {
    from: usize,
    by: Option<Action>,
    depth: usize,
}

/// Goes everywhere.
pub(super) struct Search<'s> {
    scope: &'s Scope,
    met: Vec<Met>,
    known: HashMap<Key, usize>,
    waiting: VecDeque<(usize, Node, Rows)>,
    live: HashSet<follow::Place>,
    moves: usize,
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
        }
    }

    /// Looks at every state up to the scope's depth, until something is broken.
    pub(super) fn run(mut self) -> Found {
        let start = self.scope.start();
        let rows = start.rows();
        self.meet(start, rows, 0, None);
        let (mut complete, mut broken) = (true, None);
        while let Some((place, node, rows)) = self.waiting.pop_front() {
            if self.met[place].depth >= self.scope.depth {
                complete = false;
            }
            if let Err((by, what)) = self.look(place, &node, &rows) {
                broken = Some(Trace { way: self.way(place, by), broken: what });
                break;
            }
        }
        let depth = self.met.iter().map(|met| met.depth).max().unwrap_or_default();
        Found {
            states: self.met.len(),
            depth,
            moves: self.moves,
            complete: complete && broken.is_none(),
            broken,
        }
    }

    fn meet(&mut self, node: Node, rows: Rows, from: usize, by: Option<Action>) {
        let key = key(&node, &rows);
        if self.known.contains_key(&key) {
            return;
        }
        let place = self.met.len();
        let depth = by.map_or(0, |_| self.met[from].depth + 1);
        self.known.insert(key, place);
        self.met.push(Met { from, by, depth });
        self.waiting.push_back((place, node, rows));
    }

    /// Checks a state, and takes every way out of it.
    fn look(&mut self, place: usize, node: &Node, rows: &Rows) -> Result<(), (Option<Action>, Vec<Broken>)> {
        let here = |broken| (None, broken);
        standing::check(node, rows, self.scope.seats).map_err(here)?;
        if self.met[place].depth < self.scope.depth {
            self.moves_from(place, node, rows)?;
        }
        // What a move breaks is told as that, before where it leads to.
        follow::check(node, rows, self.scope, &mut self.live).map_err(here)
    }

    fn moves_from(
        &mut self,
        place: usize,
        node: &Node,
        rows: &Rows,
    ) -> Result<(), (Option<Action>, Vec<Broken>)> {
        let mut fork = node.fork();
        for action in self.scope.offers(node, rows) {
            match step(&mut fork, rows, action).map_err(|broken| (Some(action), broken))? {
                Stepped::Nowhere => {}
                Stepped::To(after) => {
                    self.moves += 1;
                    let to = std::mem::replace(&mut fork, node.fork());
                    self.meet(to, after, place, Some(action));
                }
            }
        }
        Ok(())
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
