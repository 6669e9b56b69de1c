//! Owns when two states are one: what the rules can tell apart, and nothing else.
//!
//! Invariant: every field of a row is named here, so that a new one is looked at. What is left out has its reason:
//! * minted ids are renamed by the order in which they are met, as no rule looks into one;
//! * a moment counts by how far off it is, and all that has passed is one, as rules only ask whether it has;
//! * revisions, epochs and numbers of Turns count by whether they are equal where a rule compares them, and not by how
//!   far they have come: no rule does more with them than to write them on;
//! * what is counted up to a limit counts no further than that: no rule asks by how much it is passed, nor in which bucket
//!   a Turn holds what has left every window;
//! * what has ended is left out but for what it leaves behind: the meters, and how the last Turn of a Todo ended;
//! * texts and what a scope never changes are the same in all states of a scope.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{action::limits, node::Node, outside, proposed, returned};
use crate::{kernel::Rows, model::*};

/// The name of a class of equal states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64, u64);

/// How long after its deadline an attempt still counts.
const GRACE_MS: i64 = crate::kernel::GRACE.as_ms().cast_signed();

/// Takes the key of a state.
pub(super) fn key(node: &Node, rows: &Rows) -> Key {
    let incarnation = node.incarnation();
    let mut ink = Ink { bytes: Vec::with_capacity(512), now: node.now(), incarnation };
    rows.goals.values().for_each(|goal| ink.goal(goal));
    rows.agents.values().for_each(|agent| ink.agent(agent));
    // A replan that has ended leaves nothing behind.
    for todo in rows.todos.values().filter(|todo| todo.covering.is_none() || todo.is_live()) {
        ink.todo(rows, todo);
    }
    for gate in rows.gates.values() {
        ink.gate(rows, gate);
    }
    proposed::all(rows).for_each(|proposal| ink.proposal(rows, proposal));
    outside::all(rows).for_each(|effect| ink.effect(effect));
    returned::waiting(rows).for_each(|given| ink.given(given));
    ink.meters(node, rows);
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        hasher.write(&ink.bytes);
        hasher.finish()
    };
    Key(half(0), half(1))
}

/// What a key is written with.
struct Ink {
    bytes: Vec<u8>,
    now: Timestamp,
    incarnation: IncarnationId,
}

impl Hasher for Ink {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

impl Ink {
    fn put(&mut self, what: impl Hash) {
        what.hash(self);
    }

    /// How far off a moment is; all that is further back than `past_ms` is one.
    fn off(&mut self, at: Timestamp, past_ms: i64) {
        let off = at.as_ms() - self.now.as_ms();
        self.put(off.max(-past_ms));
    }

    fn goal(&mut self, goal: &Goal) {
        let Goal {
            goal_id: _,
            instance: _,
            objective: _,
            acceptance,
            non_goals: _,
            boundary: _,
            stop_conditions: _,
            validators: _,
            authority_sources: _,
            origin: _,
            workspace: _,
            unvalidated: _,
            limit: _,
            currency: _,
            ceiling: _,
            state,
            revision: _,
            next_todo: _,
            // It counts with `next_todo`, against what a replan saw of it.
            replans: _,
            // It is told with the replan that it names.
            covered_by: _,
            awaits: _,
            goal_gates,
            started_at: _,
            started_by: _,
        } = goal;
        match state {
            GoalState::Active => self.put(0_u8),
            GoalState::Stopped => self.put(1_u8),
            GoalState::Closed { .. } => self.put(2_u8),
        }
        self.put(goal_gates);
        // Which criterion, and shown by what, says nothing of what may follow.
        for criterion in acceptance {
            self.put(criterion.state.is_open());
        }
        self.put(goal.awaited().map(TodoId::number));
    }

    fn agent(&mut self, agent: &Agent) {
        let Agent {
            goal_id: _,
            agent_id: _,
            capabilities: _,
            limit: _,
            ceiling: _,
            looked_last,
            proposals,
            registered_at: _,
            retired_at,
        } = agent;
        self.put((looked_last, proposals, retired_at.is_some()));
    }

    fn todo(&mut self, rows: &Rows, todo: &Todo) {
        let Todo {
            todo_id: _,
            title: _,
            kind: _,
            priority: _,
            depends_on,
            requires: _,
            excluded_agents: _,
            validators: _,
            monitor,
            reviews: _,
            coordinates,
            ceiling: _,
            // They are told with the effects.
            blocking_effects: _,
            hold,
            origin: _,
            made_by: _,
            made_at: _,
            state,
            revision: _,
            requirement_revision: _,
            epoch: _,
            owned_by_another: _,
            turn_no: _,
            reserved,
            // Only names the refusal of what is refused.
            last_own_id: _,
            ownership,
            turn_id,
            last_end,
            replans,
            covering,
            counters,
        } = todo;
        self.plan(rows, todo, replans, covering.as_deref());
        self.put((depends_on.len(), hold));
        if let Some(Monitor { every_ms, unchanged_limit, looked_at, unchanged }) = monitor {
            self.put((looked_at.is_some(), unchanged.min(unchanged_limit)));
            if let Some(at) = looked_at {
                self.off(at.plus(*every_ms), 0);
            }
        }
        self.state(state);
        if let Some(reserved) = reserved.as_ref().filter(|reserved| reserved.until > self.now) {
            self.put(reserved.agent_id.as_str());
            self.off(reserved.until, 0);
        }
        self.put(ownership.is_some());
        if let Some(own) = ownership {
            self.ownership(own);
        }
        let repair = last_end.as_ref().is_some_and(|end| end.repair);
        // Who worked last matters to whoever reviews.
        let reviewed = rows.todos.values().any(|other| other.reviews.as_ref() == Some(&todo.todo_id));
        let author = todo.author().filter(|_| reviewed).map(AgentId::as_str);
        self.put((repair, author));
        // In whose Turn a result of it is found.
        if coordinates.is_some() {
            let last = returned::last_turn(rows, todo);
            let by = last.map(|turn| (turn.agent_id.as_str(), turn.endpoint.as_str()));
            self.put((by, last.is_some_and(|turn| turn.state == TurnState::Fenced)));
        }
        let Counters { unmet, cancelled_deps, blocking_gates, woken_at, wake_lost } = counters;
        self.put((unmet, cancelled_deps, blocking_gates, woken_at.is_some(), wake_lost));
        self.put(turn_id.is_some());
        if let Some(turn_id) = turn_id {
            self.turn(rows, &rows.turns[turn_id], todo);
        }
    }

    fn plan(&mut self, rows: &Rows, todo: &Todo, replans: &Replans, covering: Option<&Covering>) {
        // Which one it is only names it.
        let Replans { count: _, pending, by, seen_cancelled, seen_lost, fruitless } = replans;
        for cause in pending.keys() {
            self.put(cause);
        }
        let fruitless = fruitless.min(&Replans::FRUITLESS_MAX);
        self.put((pending.len(), by.is_some(), seen_cancelled, seen_lost, fruitless, covering.is_some()));
        if let Some(Covering { of, planned, requirement_revision, failed, proposed, confirmed }) = covering {
            let goal = &rows.goals[todo.todo_id.goal()];
            let revision = of.covered().map_or(goal.revision, |id| rows.todos[id].requirement_revision);
            let more = goal.next_todo - goal.replans > *planned;
            let moved = revision != *requirement_revision;
            let covered = of.covered().map(TodoId::number);
            self.put((of.cause, covered, more, moved, failed, proposed.len(), confirmed));
        }
    }

    fn state(&mut self, state: &TodoState) {
        match state {
            TodoState::Open => self.put(0_u8),
            TodoState::Deferred { wake: Wake::After(at) } => {
                self.put(1_u8);
                self.off(*at, 0);
            }
            TodoState::Deferred { wake: Wake::TodoDone(id) } => self.put((2_u8, id.number())),
            // No scope has more than one gate to wait for.
            TodoState::Deferred { wake: Wake::Gate(_) } => self.put(3_u8),
            TodoState::Blocked { .. } => self.put(4_u8),
            TodoState::Done { .. } => self.put(5_u8),
            TodoState::Cancelled { .. } => self.put(6_u8),
        }
    }

    fn ownership(&mut self, own: &Ownership) {
        let Ownership {
            own_id: _,
            agent_id,
            endpoint,
            acquired_at: _,
            expires_at,
            ttl_ms: _,
            frozen,
            turn_id: _,
            workspace: _,
            scopes: _,
        } = own;
        self.put((agent_id.as_str(), endpoint.as_str(), frozen));
        self.off(*expires_at, 0);
    }

    fn turn(&mut self, rows: &Rows, turn: &Turn, todo: &Todo) {
        let Turn {
            turn_id: _,
            goal_id: _,
            turn_key: _,
            kind: _,
            agent_id,
            endpoint,
            own_id: _,
            executor,
            incarnation,
            epoch: _,
            turn_no: _,
            machine_id: _,
            workspace: _,
            admitted_at: _,
            decision: _,
            requirement_revision,
            bucket,
            slot,
            // Nothing is measured, so that what counts of a Turn follows from its state.
            spend,
            state,
            attempts,
            candidate,
            verdict,
            moved,
            stop_wish,
            acceptance_gate,
            ended_at: _,
        } = turn;
        self.put((agent_id.as_str(), endpoint.as_str(), executor, *incarnation == self.incarnation));
        self.put((*requirement_revision == todo.requirement_revision, slot, moved, stop_wish.is_some()));
        self.put(spend.as_ref().map(|spend| spend.counted.tokens));
        // What it holds in a bucket that no window reaches any more is on no meter.
        if let Some(since) =
            limits(rows).iter().map(|(_, limit)| Bucket::window_start(self.now, limit.window_ms)).min()
        {
            self.put((bucket.number() - since.number()).max(-1));
        }
        match state {
            TurnState::Admitted => self.put(0_u8),
            TurnState::Dispatched => self.put(1_u8),
            TurnState::Candidate => self.put(2_u8),
            TurnState::Held { tree_busy } => self.put((3_u8, tree_busy)),
            TurnState::Unresolved { why, executor_gone } => self.put((4_u8, why, executor_gone)),
            TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
                self.put(5_u8);
            }
        }
        self.put(attempts.len());
        if let Some(last) = attempts.last().filter(|_| turn.is_driven()) {
            let failed = last.end.as_ref().map(|end| end.failure.is_some());
            self.put(failed);
            last.deadline_at.into_iter().for_each(|at| self.off(at, GRACE_MS));
        }
        if let Some(candidate) = candidate {
            let same = candidate.requirement_revision == todo.requirement_revision;
            self.put((candidate.kind, candidate.digest.as_bytes(), same, candidate.goes_on));
        }
        self.put(verdict.as_ref().map(|verdict| verdict.outcome));
        let gate = acceptance_gate.and_then(|gate_id| rows.gates.get(&gate_id));
        self.put(gate.map(|gate| gate.state.as_str()));
    }

    fn gate(&mut self, rows: &Rows, gate: &Gate) {
        let Gate {
            gate_id: _,
            goal_id: _,
            kind,
            question: _,
            options: _,
            blocks,
            scope,
            standing_until,
            accepts,
            opened_by: _,
            opened_at: _,
            state,
            revision: _,
        } = gate;
        let asked = accepts.is_some_and(|turn_id| rows.turns[&turn_id].is_terminal());
        let approves = matches!(state, GateState::Approved { .. }) && scope.is_some();
        // The rest of what was answered, or taken back, blocks nothing and is asked for by nothing.
        if asked || !(gate.is_blocking() || approves) {
            return;
        }
        self.put((kind, state.as_str(), accepts.is_some()));
        match blocks {
            Blocks::Goal => self.put(0_u8),
            Blocks::Todos(ids) => ids.iter().for_each(|id| self.put(id.number())),
        }
        self.put(scope);
        if let Some(at) = standing_until {
            self.off(*at, 0);
        }
    }

    fn proposal(&mut self, rows: &Rows, proposal: &Proposal) {
        let Proposal {
            proposal_id: _,
            goal_id: _,
            todo_id,
            turn_id,
            kind: _,
            // It is that of the command.
            verb: _,
            command,
            expected,
            reason: _,
            by,
            at: _,
            // No rule tells what waits from what was put off.
            state: _,
        } = proposal;
        // What was answered is answered for ever.
        if !proposal.is_open() {
            return;
        }
        let todo = todo_id.as_ref().map(|todo_id| &rows.todos[todo_id]);
        // It matters to the replan in whose Turn it was made, while that lasts.
        let mine = todo.filter(|todo| turn_id.is_some() && todo.turn_id == *turn_id);
        let covers = mine.and_then(|todo| Some(todo.covering.as_ref()?.covers().map_or(0, TodoId::number)));
        let author = by.agent().map(|(agent_id, _)| agent_id.as_str());
        // Revisions only go on: what is no longer so never is again.
        self.put((covers, command.to_string(), proposed::is_so(rows, expected), author));
    }

    fn effect(&mut self, effect: &Effect) {
        let Effect {
            effect_id: _,
            goal_id: _,
            todo_id,
            key,
            // With its key these are the same in all states of a scope.
            digest: _,
            what: _,
            blocks: _,
            state,
            revision,
            tried,
            by,
            at: _,
            told: _,
            stop_requested,
            stop_confirmed,
        } = effect;
        let author = by.agent().map(|(agent_id, endpoint)| (agent_id.as_str(), endpoint.as_str()));
        let waived = matches!(state, EffectState::WrittenOff { waived: Some(_), .. });
        self.put((todo_id.number(), key.as_str(), state.as_str(), waived, author));
        self.put((*tried == Some(*revision), stop_requested.is_some(), stop_confirmed.is_some()));
    }

    fn given(&mut self, given: &PeerReturn) {
        let PeerReturn {
            return_id: _,
            goal_id: _,
            todo_id,
            from,
            // It was looked at when the result was given.
            turn_id: _,
            evidence: _,
            summary: _,
            by: _,
            at: _,
            // What was decided is decided for ever.
            state: _,
        } = given;
        self.put((todo_id.number(), from.number()));
    }

    /// What is left of each budget, and where in its bucket the moment is.
    fn meters(&mut self, node: &Node, rows: &Rows) {
        let (meters, amounts) = (node.ledger.meters(), node.ledger.amounts());
        for (scope, limit) in limits(rows) {
            let since = Bucket::window_start(self.now, limit.window_ms);
            for ((_, bucket), slots) in
                meters.iter().filter(|((held, bucket), _)| *held == scope && *bucket >= since)
            {
                self.put((bucket.number() - since.number(), slots));
                self.off(bucket.leaves(limit.window_ms), 0);
            }
            for ((_, bucket), sum) in
                amounts.iter().filter(|((held, bucket), _)| *held == scope && *bucket >= since)
            {
                self.put((bucket.number() - since.number(), sum.tokens));
                self.off(bucket.leaves(limit.window_ms), 0);
            }
            self.put(u8::MAX);
        }
    }
}
