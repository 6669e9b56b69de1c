//! Owns the scopes: small worlds, each with the moves that are tried in it.

use super::{
    action::{Action, Driver, GateVerb, GoalVerb, Owner, TodoVerb, TurnVerb},
    node::{Node, Seat, actor},
    outside::{self, Fate},
    proposed::{self, Proposed, Word},
    returned::{self, Say},
};
use crate::{
    authority::check::world::{text, validator},
    kernel::{AgentCommand, Command, GoalCommand, NewGoal, NewTodo, QuotaCommand, Rows, TodoCommand},
    model::*,
};

/// The depth of a whole world: no way is cut.
pub(super) const EVERYWHERE: usize = usize::MAX;

/// A small world.
pub(super) struct Scope {
    pub(super) name: &'static str,
    /// How many moves from the start are looked at; in a whole world, every one.
    pub(super) depth: usize,
    /// How many states are there at least.
    pub(super) floor: usize,
    /// Who acts for agents, through which endpoint.
    pub(super) seats: &'static [Seat],
    /// What the Goal proves its Todos with: a validator, or a person.
    pub(super) proved: bool,
    /// How many Turns the Goal may have.
    pub(super) turns: Option<u32>,
    /// How many tokens it may use, and one attempt.
    pub(super) tokens: Option<(u64, u64)>,
    /// In which time.
    pub(super) window: Duration,
    /// Its Todos.
    pub(super) todos: &'static [fn(&mut NewTodo)],
    pub(super) executors: &'static [Executor],
    pub(super) owners: &'static [Owner],
    pub(super) drivers: &'static [Driver],
    pub(super) todo_verbs: &'static [TodoVerb],
    pub(super) turn_verbs: &'static [TurnVerb],
    /// The gates that a person opens, on the first Todo or on the Goal.
    pub(super) opens: &'static [(GateKind, Option<u32>)],
    pub(super) gate_verbs: &'static [GateVerb],
    pub(super) goal_verbs: &'static [GoalVerb],
    /// What agents propose, and how that is answered.
    pub(super) proposed: &'static [Proposed],
    pub(super) words: &'static [Word],
    /// What happens to effects.
    pub(super) fates: &'static [Fate],
    /// Whether peers return what they found, and it is decided on.
    pub(super) returns: bool,
    /// What was done before the first state.
    pub(super) before: fn(&mut Node),
}

/// A scope in which nothing is done.
pub(super) const STILL: Scope = Scope {
    name: "",
    depth: 6,
    floor: 0,
    seats: &["a@a.cli", "b@b.cli"],
    proved: true,
    turns: None,
    tokens: None,
    window: Duration::from_mins(24 * 60),
    todos: &[|_| {}],
    executors: &[Executor::Attached],
    owners: &[],
    drivers: &[],
    todo_verbs: &[],
    turn_verbs: &[],
    opens: &[],
    gate_verbs: &[],
    goal_verbs: &[],
    proposed: &[],
    words: &[],
    fates: &[],
    returns: false,
    before: |_| {},
};

impl Scope {
    /// Whether every state of it is looked at.
    pub(super) const fn is_whole(&self) -> bool {
        self.depth == EVERYWHERE
    }

    /// Its first state.
    pub(super) fn start(&self) -> Node {
        let mut node = Node::founded();
        let mut new = NewGoal::wanting(text("ship it"));
        if self.proved {
            new.validators = vec![validator()];
        }
        node.user(Command::Goal(GoalCommand::Start(Box::new(new)))).unwrap();
        for name in ["a", "b"] {
            let add = AgentCommand::Add { agent_id: text(name), capabilities: [].into() };
            node.user(Command::Agent(add)).unwrap();
        }
        if let Some(turns) = self.turns {
            let limit = Some(Limit::of_turns(turns, self.window));
            node.user(Command::Quota(QuotaCommand::Set { agent_id: None, limit })).unwrap();
        }
        if let Some((tokens, each)) = self.tokens {
            let limit = Limit { turns: None, ..Limit::of_turns(0, self.window) };
            let limit = Some(Limit { tokens: Some(tokens), ..limit });
            node.user(Command::Quota(QuotaCommand::Set { agent_id: None, limit })).unwrap();
            let ceiling = Caps { tokens: Some(each), ..Caps::default() };
            node.user(Command::Quota(QuotaCommand::Cap { agent_id: None, todo_id: None, ceiling })).unwrap();
        }
        for change in self.todos {
            let mut new = NewTodo::titled(text("work"), TodoKind::Advance);
            change(&mut new);
            node.user(Command::Todo(TodoCommand::Add(Box::new(new)))).unwrap();
        }
        (self.before)(&mut node);
        node
    }

    /// What validators say of what is good.
    pub(super) fn passes(&self) -> VerdictOutcome {
        if self.proved { VerdictOutcome::Passed } else { VerdictOutcome::Unchecked }
    }

    /// Every move that is tried in a state.
    pub(super) fn offers(&self, node: &Node, rows: &Rows) -> Vec<Action> {
        let mut offers = Vec::new();
        if self.owners.contains(&Owner::Drop) || !self.proposed.is_empty() {
            offers.extend(self.seats.iter().map(|seat| Action::Replan(seat)));
        }
        // What became of a replan is tried no more.
        for todo in rows.todos.values().filter(|todo| todo.covering.is_none() || todo.is_live()) {
            let number = todo.todo_id.number();
            for executor in self.executors {
                offers.extend(self.seats.iter().map(|seat| Action::Claim(seat, number, *executor)));
            }
            if todo.ownership.is_some() {
                offers.extend(self.owners.iter().map(|what| Action::Own(number, *what)));
            }
            if todo.turn_id.is_some() {
                offers.extend(self.drivers.iter().map(|what| Action::Drive(number, *what)));
                offers.extend(self.turn_verbs.iter().map(|verb| Action::Turn(number, *verb)));
            }
            offers.extend(self.todo_verbs.iter().map(|verb| Action::Todo(number, *verb)));
        }
        // One gate of a kind stands at a time, so that the states are finite.
        let stands = |kind: GateKind, of: Option<u32>| {
            rows.gates.values().any(|gate| {
                let same = matches!(gate.blocks, Blocks::Goal) == of.is_none();
                gate.is_blocking() && gate.kind == kind && same && gate.accepts.is_none()
            })
        };
        let opens = self.opens.iter().filter(|(kind, of)| !stands(*kind, *of));
        offers.extend(opens.map(|(kind, of)| Action::Open(*kind, *of)));
        for (place, gate) in rows.gates.values().enumerate() {
            if gate.is_blocking() || place + 1 == rows.gates.len() {
                offers.extend(self.gate_verbs.iter().map(|verb| Action::Gate(place, *verb)));
            }
        }
        // So does one proposal of an agent.
        let author = |actor: &Actor| actor.agent().map(|(agent_id, _)| agent_id.clone());
        for seat in self.seats {
            if !proposed::waiting(rows).any(|proposal| author(&proposal.by) == author(&actor(seat))) {
                offers.extend(self.proposed.iter().map(|what| Action::Propose(seat, *what)));
            }
        }
        for place in 0..proposed::waiting(rows).count() {
            offers.extend(self.words.iter().map(|word| Action::Answer(place, *word)));
        }
        for place in 0..outside::all(rows).count() {
            offers.extend(self.fates.iter().map(|what| Action::Effect(place, *what)));
        }
        // One result of a Todo waits at a time.
        for todo in rows.todos.values().filter(|todo| self.returns && todo.coordinates.is_some()) {
            if !returned::waiting(rows).any(|given| given.from == todo.todo_id) {
                offers.push(Action::Give(todo.todo_id.number()));
            }
        }
        for place in 0..returned::waiting(rows).count() {
            let ways =
                [true, false].into_iter().flat_map(|owner| [(Say::Adopt, owner), (Say::Reject, owner)]);
            offers.extend(ways.map(|(say, by_owner)| Action::Decide(place, say, by_owner)));
        }
        offers.extend(self.goal_verbs.iter().map(|verb| Action::Goal(*verb)));
        offers.extend(node.next_moment().map(|_| Action::Pass));
        offers
    }
}
