//! Owns the answers to the kernel's questions and to lists, from memory.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{
        Count, EventFilter, GateFilter, Head, Meta, Meters, NounFilter, Record, StoredReceipt, Stray,
        TodoFilter, Told, TurnFilter, View, ledger::cursor,
    },
    State,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Depth, Facts, IdList, Read, Rows, Used, index},
    model::{
        Agent, AgentId, Amounts, Bucket, Effect, Evidence, EvidenceId, Gate, GateId, GateState, Goal, GoalId,
        MeterScope, Noun, NounKey, NounKind, OneNoun as _, OperationId, Proposal, Timestamp, Todo, TodoId,
        TodoKind, TodoState, Turn, TurnId, Workspace,
    },
};

impl View for State {
    fn meta(&mut self) -> Result<Option<Meta>> {
        Ok(self.meta.clone())
    }

    fn receipt(&mut self, id: &OperationId) -> Result<Option<StoredReceipt>> {
        Ok(self.receipts.get(id).cloned())
    }

    fn head(&mut self, goal: &GoalId) -> Result<Option<Head>> {
        Ok(self.heads.get(goal).copied())
    }

    fn load(&mut self, reads: &BTreeSet<Read>, facts: &mut Facts) -> Result<()> {
        for read in reads {
            let mut found = Rows::default();
            self.answer(read, facts.now(), &mut found);
            if let Read::Used(scope, since) = read {
                facts.load_used(scope.clone(), *since, self.used(scope, *since));
            }
            if *read == Read::AuthorityLimit {
                facts.load_authority_limit(self.limit);
            }
            if let Read::Author(id) = read
                && let Some(author) = self.rows.todos.get(id).and_then(Todo::author)
            {
                facts.load_author(id.clone(), author.clone());
            }
            if let Some(listed) = self.listed(read) {
                facts.load_listed(read.clone(), listed);
            }
            facts.load(found);
            facts.note(read.clone());
        }
        Ok(())
    }

    fn goals(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<Goal>> {
        let later = |goal: &&Goal| after.is_none_or(|after| goal.goal_id > *after);
        Ok(self.rows.goals.values().filter(later).take(limit).cloned().collect())
    }

    fn todos(&mut self, filter: &TodoFilter<'_>, after: u32, limit: usize) -> Result<Vec<Todo>> {
        let wanted = |todo: &&Todo| {
            todo.todo_id.goal() == filter.goal
                && todo.todo_id.number() > after
                && (!filter.live || todo.is_live())
                && filter.bucket.is_none_or(|bucket| index(todo).bucket == bucket)
        };
        Ok(self.rows.todos.values().filter(wanted).take(limit).cloned().collect())
    }

    fn owned_in(&mut self, workspace: &Workspace, limit: usize) -> Result<Vec<Todo>> {
        let here = |todo: &&Todo| index(todo).writes_in.as_ref() == Some(workspace);
        Ok(self.rows.todos.values().filter(here).take(limit).cloned().collect())
    }

    fn agents(&mut self, goal: &GoalId) -> Result<Vec<Agent>> {
        Ok(self.rows.agents.values().filter(|agent| agent.goal_id == *goal).cloned().collect())
    }

    fn gates(&mut self, filter: &GateFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Gate>> {
        let after = cursor::<GateId>(after)?;
        let wanted = |gate: &&Gate| {
            gate.goal_id == *filter.goal
                && (!filter.blocking || gate.is_blocking())
                && after.is_none_or(|after| gate.gate_id > after)
        };
        Ok(self.rows.gates.values().filter(wanted).take(limit).cloned().collect())
    }

    fn evidence(
        &mut self,
        goal: &GoalId,
        todo: Option<&TodoId>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Evidence>> {
        let after = cursor::<EvidenceId>(after)?;
        let wanted = |evidence: &&Evidence| {
            evidence.goal_id == *goal
                && todo.is_none_or(|todo| evidence.todo_id.as_ref() == Some(todo))
                && after.is_none_or(|after| evidence.evidence_id > after)
        };
        Ok(self.rows.evidence.values().filter(wanted).take(limit).cloned().collect())
    }

    fn nouns(&mut self, filter: &NounFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Noun>> {
        let after = filter.after(after)?;
        let wanted = |(key, noun): &(&NounKey, &Noun)| {
            key.kind == filter.kind
                && noun.goal_id() == filter.goal
                && filter.todo.is_none_or(|todo| noun.todo_id() == Some(todo))
                && (!filter.open || noun.is_open())
                && after.is_none_or(|after| key.id > after)
        };
        Ok(self.rows.nouns.iter().filter(wanted).take(limit).map(|(_, noun)| noun.clone()).collect())
    }

    fn last_noun(&mut self, kind: NounKind, todo: &TodoId) -> Result<Option<Noun>> {
        let its = |(key, noun): &(&NounKey, &Noun)| key.kind == kind && noun.todo_id() == Some(todo);
        Ok(self.rows.nouns.iter().rev().find(its).map(|(_, noun)| noun.clone()))
    }

    fn turns(&mut self, filter: &TurnFilter<'_>, before: Option<&str>, limit: usize) -> Result<Vec<Turn>> {
        let before = cursor::<TurnId>(before)?;
        let wanted = |turn: &&Turn| {
            turn.goal_id == *filter.goal
                && filter.todo.is_none_or(|todo| turn.todo_id() == Some(todo))
                && filter.agent.is_none_or(|agent| turn.agent_id == *agent)
                && (!filter.live || !turn.is_terminal())
                && before.is_none_or(|before| turn.turn_id < before)
        };
        Ok(self.rows.turns.values().rev().filter(wanted).take(limit).cloned().collect())
    }

    fn events(&mut self, filter: &EventFilter<'_>, limit: usize) -> Result<Vec<Record>> {
        let events = self.events.get(filter.goal).map(Vec::as_slice).unwrap_or_default();
        Ok(events.iter().filter(|record| record.seq > filter.after).take(limit).cloned().collect())
    }

    fn own_head(&mut self) -> Result<Option<Head>> {
        Ok(self.own_head)
    }

    fn own_events(&mut self, after: u64, limit: usize) -> Result<Vec<Record>> {
        Ok(self.own_events.iter().filter(|record| record.seq > after).take(limit).cloned().collect())
    }

    fn chains(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<(GoalId, Head)>> {
        let later = self.heads.iter().filter(|(goal, _)| after.is_none_or(|after| *goal > after));
        Ok(later.take(limit).map(|(goal, head)| (goal.clone(), *head)).collect())
    }

    fn meters(&mut self, goal: &GoalId) -> Result<Meters> {
        let mut held = Meters::new();
        for (key, slots) in self.meters.iter().filter(|((scope, _), _)| scope.goal() == Some(goal)) {
            held.entry(key.clone()).or_default().slots = *slots;
        }
        for (key, amounts) in self.amounts.iter().filter(|((scope, _), _)| scope.goal() == Some(goal)) {
            held.entry(key.clone()).or_default().amounts = *amounts;
        }
        Ok(held)
    }

    fn stray(&mut self, _: &GoalId) -> Result<Option<Stray>> {
        Ok(None)
    }

    fn receipts(&mut self, after: Option<&OperationId>, limit: usize) -> Result<Vec<Told>> {
        let later = self.receipts.iter().filter(|(id, _)| after.is_none_or(|after| *id > after));
        Ok(later.take(limit).map(|(id, receipt)| (id.clone(), Some(receipt.clone()))).collect())
    }

    fn raw(&mut self, goal: &GoalId, each: &mut dyn FnMut(&'static str, Value) -> Result<()>) -> Result<()> {
        let mut hand = |place, row: serde_json::Result<Value>| {
            each(place, row.map_err(|e| Error::from(Code::Internal).internal(e))?)
        };
        if let Some(row) = self.rows.goals.get(goal) {
            hand("goals", serde_json::to_value(row))?;
        }
        for row in self.rows.todos.values().filter(|row| row.todo_id.goal() == goal) {
            hand("todos", serde_json::to_value(row))?;
        }
        for row in self.rows.turns.values().filter(|row| row.goal_id == *goal) {
            hand("turns", serde_json::to_value(row))?;
        }
        for row in self.rows.gates.values().filter(|row| row.goal_id == *goal) {
            hand("gates", serde_json::to_value(row))?;
        }
        for row in self.rows.evidence.values().filter(|row| row.goal_id == *goal) {
            hand("evidence", serde_json::to_value(row))?;
        }
        Ok(())
    }

    fn counts(&mut self, goal: &GoalId) -> Result<Count> {
        let mut counts = BTreeMap::new();
        for todo in self.rows.todos.values().filter(|todo| todo.todo_id.goal() == goal) {
            *counts.entry(index(todo).bucket.to_owned()).or_insert(0) += 1;
        }
        Ok(counts)
    }

    fn find(&mut self, text: &str, goal: Option<&GoalId>, limit: usize) -> Result<Vec<(String, String)>> {
        let text = text.to_lowercase();
        let goals = self
            .rows
            .goals
            .values()
            .map(|goal| (goal.goal_id.clone(), goal.goal_id.to_string(), goal.objective.to_string()));
        let todos = self
            .rows
            .todos
            .values()
            .map(|todo| (todo.todo_id.goal().clone(), todo.todo_id.to_string(), todo.title.to_string()));
        let mut gates: Vec<_> = self.rows.gates.values().collect();
        gates.sort_by(|a, b| (&a.goal_id, a.gate_id).cmp(&(&b.goal_id, b.gate_id)));
        let gates = gates
            .into_iter()
            .map(|gate| (gate.goal_id.clone(), gate.gate_id.to_string(), gate.question.to_string()));
        let mut found = Vec::new();
        for (of, id, title) in goals.chain(todos).chain(gates) {
            let holds = id.to_lowercase().contains(&text) || title.to_lowercase().contains(&text);
            if holds && goal.is_none_or(|goal| of == *goal) && found.len() < limit {
                found.push((id, title));
            }
        }
        Ok(found)
    }

    fn tails(&mut self, prefix: &str, tail: &str, limit: usize) -> Result<Vec<String>> {
        let turns = self.rows.turns.keys().map(ToString::to_string);
        let gates = self.rows.gates.keys().map(ToString::to_string);
        let evidence = self.rows.evidence.keys().map(ToString::to_string);
        let nouns = self.rows.nouns.keys().map(|key| key.kind.id(key.id));
        let fits = |id: &String| {
            id.strip_prefix(prefix).and_then(|rest| rest.get(10..)).is_some_and(|rest| rest.starts_with(tail))
        };
        Ok(turns.chain(gates).chain(evidence).chain(nouns).filter(fits).take(limit).collect())
    }
}

impl State {
    /// Collects a Todo, its Turn that has not ended, and what that proposed, with whose it is.
    fn todo(&self, id: &TodoId, found: &mut Rows) {
        let Some(todo) = self.rows.todos.get(id) else { return };
        let proposed = todo.covering.iter().flat_map(|covering| &covering.proposed);
        for proposal_id in proposed {
            let key = NounKey { kind: NounKind::Proposal, id: *proposal_id.as_bytes() };
            let Some(noun) = self.rows.nouns.get(&key) else { continue };
            found.nouns.insert(key, noun.clone());
            let author = Proposal::of(noun).and_then(|proposal| proposal.by.agent());
            let author = author.map(|(agent, _)| (id.goal().clone(), agent.clone()));
            found
                .agents
                .extend(author.and_then(|key| Some((key.clone(), self.rows.agents.get(&key)?.clone()))));
        }
        if let Some(turn) = todo.turn_id.and_then(|turn_id| self.rows.turns.get(&turn_id)) {
            found.turns.insert(turn.turn_id, turn.clone());
        }
        found.todos.insert(id.clone(), todo.clone());
    }

    /// Collects a Turn, and its Todo.
    fn turn(&self, turn: &Turn, found: &mut Rows) {
        found.turns.insert(turn.turn_id, turn.clone());
        if let Some(todo_id) = turn.todo_id() {
            self.todo(todo_id, found);
        }
    }

    fn some_todos(&self, wanted: impl Fn(&&Todo) -> bool, limit: usize, found: &mut Rows) {
        for todo in self.rows.todos.values().filter(wanted).take(limit) {
            self.todo(&todo.todo_id, found);
        }
    }

    fn some_gates(&self, wanted: impl Fn(&&Gate) -> bool, found: &mut Rows) {
        for gate in self.rows.gates.values().filter(wanted) {
            found.gates.insert(gate.gate_id, gate.clone());
        }
    }

    fn answer(&self, read: &Read, now: Timestamp, found: &mut Rows) {
        use crate::model::Blocks;
        match read {
            Read::Goal(id) => {
                found.goals.extend(self.rows.goals.get_key_value(id).map(|(k, v)| (k.clone(), v.clone())));
            }
            Read::Agent(goal, agent) => {
                let key = (goal.clone(), agent.clone());
                found.agents.extend(self.rows.agents.get(&key).map(|row| (key, row.clone())));
            }
            Read::Todo(id) => self.todo(id, found),
            Read::Text(id) => {
                found.texts.extend(self.rows.texts.get(id).map(|text| (id.clone(), text.clone())));
            }
            Read::Turn(id) => {
                if let Some(turn) = self.rows.turns.get(id) {
                    self.turn(turn, found);
                }
            }
            Read::Gate(id) => found.gates.extend(self.rows.gates.get(id).map(|gate| (*id, gate.clone()))),
            Read::Evidence(id) => {
                found.evidence.extend(self.rows.evidence.get(id).map(|evidence| (*id, evidence.clone())));
            }
            Read::Noun(key) => {
                found.nouns.extend(self.rows.nouns.get(key).map(|noun| (*key, noun.clone())));
            }
            Read::OpenNouns(goal, kind) => {
                let open = |(key, noun): &(&NounKey, &Noun)| {
                    key.kind == *kind && noun.goal_id() == goal && noun.is_open()
                };
                let page = self.rows.nouns.iter().filter(open).take(Facts::PAGE);
                found.nouns.extend(page.map(|(key, noun)| (*key, noun.clone())));
            }
            Read::EffectOf(goal, key) => {
                let named = |(_, noun): &(&NounKey, &Noun)| {
                    Effect::of(noun).is_some_and(|effect| effect.goal_id == *goal && effect.key == *key)
                };
                let effect = self.rows.nouns.iter().find(named);
                found.nouns.extend(effect.map(|(key, noun)| (*key, noun.clone())));
            }
            Read::Proven(id) => {
                let of = |turn: &&Turn| turn.todo_id() == Some(id) && turn.is_proven();
                let last = self.rows.turns.values().filter(of).max_by_key(|turn| turn.turn_no);
                if let Some(turn) = last {
                    self.turn(turn, found);
                }
            }
            Read::AgentTurns(goal, agent) => {
                let of =
                    |turn: &&Turn| turn.goal_id == *goal && turn.agent_id == *agent && !turn.is_terminal();
                self.rows.turns.values().filter(of).for_each(|turn| self.turn(turn, found));
            }
            Read::LiveTurns(goal) => {
                let of = |turn: &&Turn| turn.goal_id == *goal && !turn.is_terminal();
                self.rows.turns.values().filter(of).for_each(|turn| self.turn(turn, found));
            }
            Read::TodoGates(id) => self.some_gates(
                |gate| gate.is_blocking() && matches!(&gate.blocks, Blocks::Todos(ids) if ids.contains(id)),
                found,
            ),
            Read::GoalGates(goal) => self.some_gates(
                |gate| gate.goal_id == *goal && gate.is_blocking() && gate.blocks == Blocks::Goal,
                found,
            ),
            Read::Approvals(goal) => self.some_gates(
                |gate| {
                    let approved = matches!(gate.state, GateState::Approved { .. });
                    gate.goal_id == *goal && approved && gate.scope.is_some()
                },
                found,
            ),
            Read::Writers(workspace) => {
                self.some_todos(|todo| index(todo).writes_in.as_ref() == Some(workspace), usize::MAX, found);
            }
            Read::Ancestors(id) => self.ancestors(id, found),
            Read::Unfinished(goal) => {
                let live = |todo: &Todo| todo.todo_id.goal() == goal && todo.is_live();
                let counts = |kind| matches!(kind, TodoKind::Advance | TodoKind::Blocker | TodoKind::Replan);
                if self.rows.todos.values().any(|todo| live(todo) && counts(todo.kind)) {
                    self.some_todos(|todo| live(todo) && counts(todo.kind), Facts::UNFINISHED, found);
                } else {
                    self.some_todos(|todo| live(todo) && todo.kind == TodoKind::Action, 1, found);
                }
            }
            Read::Gated(goal) => self.some_todos(
                |todo| todo.todo_id.goal() == goal && todo.is_live() && todo.counters.blocking_gates > 0,
                Facts::UNFINISHED,
                found,
            ),
            Read::Live(goal) => {
                self.some_todos(|todo| todo.todo_id.goal() == goal && todo.is_live(), Facts::PAGE, found);
            }
            Read::Ready(goal, agent, depth) => self.ready((goal, agent), *depth, now.as_ms(), found),
            Read::Used(..)
            | Read::AuthorityLimit
            | Read::Author(_)
            | Read::DoneDependants(_)
            | Read::CancelledDeps(_) => {}
        }
    }

    /// The answer of a question that loads no row; none for any other question.
    fn listed(&self, read: &Read) -> Option<IdList> {
        let todos = &self.rows.todos;
        let ids: Vec<_> = match read {
            Read::DoneDependants(id) => {
                let waits = |todo: &&Todo| todo.depends_on.contains(id) && todo.is_done();
                todos.values().filter(waits).map(|todo| todo.todo_id.clone()).collect()
            }
            Read::CancelledDeps(id) => {
                let is_cancelled = |todo: &Todo| matches!(todo.state, TodoState::Cancelled { .. });
                let deps = todos.get(id).into_iter().flat_map(|todo| &todo.depends_on);
                deps.filter(|dep| todos.get(*dep).is_some_and(is_cancelled)).cloned().collect()
            }
            _ => return None, // wildcard: every other question loads rows
        };
        let count = ids.len() as u64;
        Some(IdList { ids: ids.into_iter().take(Facts::LISTED).collect(), count })
    }

    fn ancestors(&self, id: &TodoId, found: &mut Rows) {
        let mut open = vec![id.clone()];
        while let Some(next) = open.pop() {
            if found.todos.contains_key(&next) || found.todos.len() > Facts::WALK_MAX {
                continue;
            }
            let Some(todo) = self.rows.todos.get(&next) else { continue };
            self.todo(&next, found);
            if next == *id || !matches!(todo.state, TodoState::Cancelled { .. }) {
                open.extend(todo.depends_on.iter().cloned());
            }
        }
    }

    fn ready(&self, (goal, agent): (&GoalId, &AgentId), depth: Depth, now: i64, found: &mut Rows) {
        let row = self.rows.agents.get(&(goal.clone(), agent.clone()));
        let has = row.map(|row| row.capabilities.clone()).unwrap_or_default();
        let mut ready: Vec<_> = self
            .rows
            .todos
            .values()
            .filter(|todo| todo.todo_id.goal() == goal && !todo.excluded_agents.contains(agent))
            .filter(|todo| todo.requires.capabilities.is_subset(&has))
            .filter_map(|todo| {
                let index = index(todo);
                let counters = &todo.counters;
                let met = counters.unmet == 0 && counters.cancelled_deps == 0 && counters.blocking_gates == 0;
                let free = index.ready?;
                let mine = index.reserved_for.as_ref() == Some(agent);
                (met && (free.free_at <= now || mine) && index.ready_at <= now).then_some((
                    free.priority,
                    index.ready_at,
                    todo.todo_id.number(),
                    &todo.todo_id,
                ))
            })
            .collect();
        ready.sort();
        let mut left = depth.rows();
        for band in ready.chunk_by(|a, b| a.0 == b.0) {
            let (always, in_time) = band.split_at(band.partition_point(|(_, ready_at, ..)| *ready_at == 0));
            let taken = always.iter().take(left).chain(in_time.iter().take(Facts::PAGE));
            let page: Vec<_> = taken.collect();
            left = left.saturating_sub(page.len());
            for (.., id) in page {
                self.todo(id, found);
            }
            if left == 0 {
                return;
            }
        }
    }

    fn used(&self, scope: &MeterScope, since: Bucket) -> Used {
        let counts = |(held, bucket): &(MeterScope, Bucket)| {
            let of = match scope {
                MeterScope::Authority => matches!(held, MeterScope::Goal(_)),
                MeterScope::Goal(_) | MeterScope::Agent(..) => held == scope,
            };
            of && *bucket >= since
        };
        let mut used = Used::default();
        for (key, slots) in self.meters.iter().filter(|(key, _)| counts(key)) {
            used.slots += slots;
            used.oldest = [used.oldest, Some(key.1)].into_iter().flatten().min();
        }
        for (key, amounts) in self.amounts.iter().filter(|(key, _)| counts(key)) {
            used.amounts = used.amounts.replacing(Amounts::default(), *amounts);
            used.oldest = [used.oldest, Some(key.1)].into_iter().flatten().min();
        }
        used
    }
}
