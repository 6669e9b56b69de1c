//! Owns what a decision must be by the design alone: the reason of every Todo and the rule that holds first, found
//! again from the rows, with none of the code's own conditions.
//!
//! Asked after every move of every history, for whoever asks what is next.

use std::collections::BTreeMap;

use crate::{
    kernel::{Action, Asker, Decided, Facts, Rows, Seen, Terms, decide_next, reason, todo_asks},
    model::*,
};

/// Everything there is, and who asks.
struct Table<'a> {
    rows: &'a Rows,
    terms: &'a Terms,
    goal: &'a Goal,
    asker: &'a Asker<'a>,
    /// What the gap in the criteria would become, where there is one.
    gap: Option<Todo>,
}

/// Checks a decision, and the reasons it stands on, against what the rows say.
pub(super) fn check(rows: &Rows, facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) {
    let Ok(decided) = decide_next(facts, goal_id, asker) else { return };
    let goal = &rows.goals[goal_id];
    let table = Table { rows, terms: facts.terms(), goal, asker, gap: gap(rows, goal) };
    if matches!(table.goal.state, GoalState::Closed { .. }) {
        assert_eq!((decided.rule, decided.action.name()), (1, "closed"));
        return;
    }
    let live: Vec<_> =
        rows.todos.values().filter(|todo| todo.todo_id.goal() == goal_id && todo.is_live()).collect();
    // What no page holds is not looked at.
    if live.len() > Facts::PAGE {
        return;
    }
    let mut reasons = BTreeMap::new();
    let mut freed = false;
    for todo in live.into_iter().chain(&table.gap) {
        let row = if table.is_gap(todo) { todo } else { facts.todo(&todo.todo_id).unwrap().unwrap() };
        let said = reason(facts, row, &asker.viewer).unwrap();
        assert_eq!(said.name(), table.reason(todo), "{}: {said:?}", todo.todo_id);
        freed |= !todo_asks(facts, asker, todo, &said).unwrap().is_empty();
        reasons.insert(&todo.todo_id, said.name());
    }
    assert_eq!(decided.rule, table.rule(&reasons, freed), "{decided:?}\n{reasons:?}");
    check_trace(&decided);
    if let (7, Some(todo_id)) = (decided.rule, decided.action.todo_id()) {
        table.check_best(todo_id, &reasons);
    }
}

/// Every rule up to the one that decided was come to, in order, and that alone held.
fn check_trace(decided: &Decided) {
    let came: Vec<_> = decided.trace.iter().map(|looked| (looked.rule, looked.held)).collect();
    let all: Vec<_> = (1..=decided.rule).map(|rule| (rule, rule == decided.rule)).collect();
    assert_eq!(came, all);
    assert!(decided.trace.iter().all(|looked| !looked.saw.is_empty() && !looked.asks.is_empty()));
}

/// What closes the gap in the criteria of a Goal would be, where nothing is left to do, and something is not shown.
fn gap(rows: &Rows, goal: &Goal) -> Option<Todo> {
    let lacks = goal.acceptance.iter().any(|criterion| criterion.state == CriterionState::Open);
    let awaits = goal.awaits.as_ref().is_some_and(|awaits| awaits.revision == goal.revision);
    let is_work = |todo: &Todo| {
        let live = !matches!(todo.state, TodoState::Done { .. } | TodoState::Cancelled { .. });
        live && *todo.todo_id.goal() == goal.goal_id && todo.kind != TodoKind::Monitor
    };
    if !lacks || awaits || rows.todos.values().any(is_work) {
        return None;
    }
    let todo_id = TodoId::new(goal.goal_id.clone(), goal.next_todo);
    let covering = Covering {
        of: ReplanRef::of_goal(&todo_id),
        planned: 0,
        requirement_revision: 0,
        failed: 0,
        proposed: [].into(),
        confirmed: false,
    };
    let title = "close the gap".parse().unwrap();
    let blank = Todo::blank(todo_id, title, TodoKind::Replan, Actor::System, goal.started_at);
    Some(Todo { covering: Some(Box::new(covering)), ..blank })
}

impl Table<'_> {
    fn is_gap(&self, todo: &Todo) -> bool {
        self.gap.as_ref().is_some_and(|gap| gap.todo_id == todo.todo_id)
    }

    fn row(&self, id: &TodoId) -> &Todo {
        self.gap.as_ref().filter(|gap| gap.todo_id == *id).unwrap_or_else(|| &self.rows.todos[id])
    }

    fn rule(&self, reasons: &BTreeMap<&TodoId, &str>, freed: bool) -> u8 {
        let own: Vec<_> = self.turns().filter(|turn| turn.agent_id == *self.asker.viewer.agent_id).collect();
        let offered =
            |id: &TodoId| reasons[id] == "claimable" || self.is_replan_to_take(self.row(id), reasons[id]);
        let takeable = reasons.keys().any(|id| offered(id) && self.has_room_for(self.row(id), reasons[*id]));
        let left: Vec<_> = reasons.keys().map(|id| self.row(id)).collect();
        let lacks = self.goal.acceptance.iter().any(|criterion| criterion.state.is_open());
        let holds = [
            false,
            own.iter().any(|turn| self.at_work(turn)),
            own.iter().any(|turn| self.may_be_looked_into(turn)) || self.may_be_read_back(),
            self.goal.state == GoalState::Stopped,
            self.gates().any(|gate| gate.blocks == Blocks::Goal),
            (!self.has_slot(None) || reasons.keys().any(|id| offered(id))) && !takeable,
            takeable,
            (reasons.values().any(|reason| *reason == "peer") || left.iter().any(|todo| self.in_hand(todo)))
                && !freed,
            freed,
            // What is not shown is an agent's to plan for, or awaited.
            left.iter().all(|todo| todo.kind == TodoKind::Monitor) && !lacks,
            true,
        ];
        (1..).zip(holds).find(|(_, holds)| *holds).unwrap().0
    }

    fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.rows.turns.values().filter(|turn| turn.goal_id == self.goal.goal_id && !turn.is_terminal())
    }

    fn gates(&self) -> impl Iterator<Item = &Gate> {
        let ours = |gate: &&Gate| gate.goal_id == self.goal.goal_id && gate.accepts.is_none();
        self.rows.gates.values().filter(ours).filter(|gate| {
            matches!(gate.state, GateState::Open | GateState::Deferred { .. } | GateState::Denied { .. })
        })
    }

    fn own(&self, turn: &Turn) -> Option<&Ownership> {
        let own = self.rows.todos[turn.todo_id()?].ownership.as_ref()?;
        (own.turn_id == turn.turn_id).then_some(own)
    }

    fn runs_on(&self, own: &Ownership) -> bool {
        own.frozen || self.terms.clock_jump || own.expires_at > self.terms.now
    }

    fn executes(&self, turn: &Turn) -> bool {
        match turn.state {
            TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => {
                self.own(turn).is_some_and(|own| self.runs_on(own))
            }
            TurnState::Unresolved { executor_gone, .. } => {
                let until = turn.attempts.last().filter(|one| one.end.is_none() && turn.is_driven());
                let until = until.and_then(|attempt| attempt.deadline_at);
                let late = |at: Timestamp| at.plus(Duration::from_secs(60)) > self.terms.now;
                !executor_gone && until.is_some_and(late)
            }
            _ => false, // every other state executes nothing
        }
    }

    fn at_work(&self, turn: &Turn) -> bool {
        let working =
            matches!(turn.state, TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate);
        let presented = working
            && self.own(turn).is_some_and(|own| {
                self.asker.viewer.own_id == Some(own.own_id) && own.endpoint == *self.asker.endpoint
            });
        let here = turn.machine_id.as_ref() == self.asker.machine_id;
        if !turn.is_driven() {
            return presented || self.executes(turn);
        }
        if !here {
            return self.executes(turn);
        }
        let held = matches!(turn.state, TurnState::Held { .. });
        presented
            || match self.asker.seen.get(&turn.turn_id) {
                Some(Seen::Alive) => !held,
                Some(Seen::Gone) => !held && (working || self.executes(turn)),
                None => self.executes(turn),
            }
    }

    fn may_be_looked_into(&self, turn: &Turn) -> bool {
        let TurnState::Unresolved { why, .. } = turn.state else { return false };
        let here = turn.machine_id.is_none() || turn.machine_id.as_ref() == self.asker.machine_id;
        let can = if turn.is_driven() { here } else { why == Unresolved::Inconclusive };
        can && !self.asker.tried.contains(&turn.turn_id)
    }

    /// The effects of which nobody knows what became.
    fn effects(&self) -> impl Iterator<Item = &Effect> {
        let open = |effect: &&Effect| {
            matches!(effect.state, EffectState::Intended | EffectState::Dispatched | EffectState::Unknown)
        };
        let ours = self.rows.nouns.values().filter(|noun| *noun.goal_id() == self.goal.goal_id);
        ours.filter_map(Effect::of).filter(open)
    }

    /// Whether an effect of the asker's own may have happened, and was not read back as it stands.
    fn may_be_read_back(&self) -> bool {
        self.effects().any(|effect| {
            let by = effect.by.agent().is_some_and(|(by, _)| by == self.asker.viewer.agent_id);
            by && effect.state != EffectState::Intended && effect.tried != Some(effect.revision)
        })
    }

    /// Whether a Todo waits for an effect whose own Todo somebody is at work on.
    fn in_hand(&self, todo: &Todo) -> bool {
        let first = self
            .effects()
            .filter(|effect| effect.blocks.todos.contains(&todo.todo_id))
            .min_by_key(|effect| effect.effect_id);
        let unresolved =
            todo.turn_id.is_some_and(|id| matches!(self.rows.turns[&id].state, TurnState::Unresolved { .. }));
        let own = first.and_then(|effect| self.rows.todos[&effect.todo_id].ownership.as_ref());
        self.reason(todo) == "unresolved"
            && !unresolved
            && own.is_some_and(|own| !own.frozen && self.runs_on(own))
    }

    /// Whether every limit leaves what one attempt may use, once a claim of this Todo has ended what ran out.
    fn has_amounts(&self, claimed: Option<&TodoId>, ran_out: &dyn Fn(&Turn) -> bool) -> bool {
        let agent_id = self.asker.viewer.agent_id;
        let agent = &self.rows.agents[&(self.goal.goal_id.clone(), agent_id.clone())];
        let todo = claimed.and_then(|id| self.rows.todos.get(id));
        let limits: Vec<_> = [(self.goal.limit, None), (agent.limit, Some(agent_id))]
            .into_iter()
            .filter_map(|(l, w)| Some((l?, w)))
            .collect();
        Dimension::ALL.into_iter().all(|dimension| {
            let said = [todo.map(|todo| todo.ceiling), Some(agent.ceiling), Some(self.goal.ceiling)];
            let said = said.into_iter().flatten().find_map(|caps| caps.of(dimension));
            let mut left = Vec::new();
            for (limit, whose) in &limits {
                let Some(most) = limit.caps().of(dimension) else { continue };
                let since = Bucket::window_start(self.terms.now, limit.window_ms);
                let counts = |turn: &&Turn| {
                    turn.goal_id == self.goal.goal_id
                        && whose.is_none_or(|agent| turn.agent_id == *agent)
                        && turn.bucket >= since
                };
                let (mut used, mut slots) = (0, 0);
                for turn in self.rows.turns.values().filter(counts) {
                    let gone = ran_out(turn);
                    let gives_back = !turn.is_driven() || turn.attempts.is_empty();
                    slots += u64::from(turn.slot != Slot::Returned && !(gone && gives_back));
                    let Some(spend) = &turn.spend else { continue };
                    let at_end = spend.measured(dimension).unwrap_or_else(|| {
                        spend.ceiling.of(dimension).unwrap_or(0) * turn.attempts.len() as u64
                    });
                    used += if gone { at_end } else { spend.counted.of(dimension) };
                }
                let turns = limit.turns.map_or(4, |turns| u64::from(turns).saturating_sub(slots)).max(1);
                left.push((most.saturating_sub(used), turns));
            }
            let attempts = if self.asker.executor == Executor::Attached { 1 } else { 3 };
            let share = left.iter().map(|(left, turns)| left / turns / attempts).min();
            let Some(each) = said.or(share) else { return true };
            let needed = each * attempts;
            left.iter().all(|(left, _)| *left > 0 && needed <= *left)
                && (said.is_some() || needed > 0 || left.is_empty())
        })
    }

    /// Whether every limit leaves a slot, once a claim of this Todo has ended what ran out.
    fn has_slot(&self, claimed: Option<&TodoId>) -> bool {
        let agent_id = self.asker.viewer.agent_id;
        let ends = |turn: &Turn| {
            let ran_out =
                matches!(turn.state, TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate)
                    && !self.executes(turn);
            let gives_back = !turn.is_driven() || turn.attempts.is_empty();
            claimed.is_some_and(|id| turn.agent_id == *agent_id || turn.todo_id() == Some(id))
                && ran_out
                && gives_back
        };
        let gone = |turn: &Turn| {
            let at_work =
                matches!(turn.state, TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate);
            let its = claimed.is_some_and(|id| turn.agent_id == *agent_id || turn.todo_id() == Some(id));
            its && turn.goal_id == self.goal.goal_id && at_work && !self.executes(turn)
        };
        if !self.has_amounts(claimed, &gone) {
            return false;
        }
        let agent = &self.rows.agents[&(self.goal.goal_id.clone(), agent_id.clone())];
        let of_goal = self.goal.limit.map(|limit| (limit, None));
        let of_agent = agent.limit.map(|limit| (limit, Some(agent_id)));
        of_goal.into_iter().chain(of_agent).all(|(limit, whose)| {
            let since = Bucket::window_start(self.terms.now, limit.window_ms);
            let used = self.rows.turns.values().filter(|turn| {
                turn.goal_id == self.goal.goal_id
                    && whose.is_none_or(|agent| turn.agent_id == *agent)
                    && turn.bucket >= since
                    && turn.slot != Slot::Returned
                    && !ends(turn)
            });
            let used = used.count();
            limit.turns.is_none_or(|turns| used < turns as usize)
        })
    }

    /// The one reason of a live Todo: the first that holds.
    fn reason(&self, todo: &Todo) -> &'static str {
        let turn = todo.turn_id.map(|turn_id| &self.rows.turns[&turn_id]);
        let scope = self.writes_there(todo);
        // A replan that nobody wrote yet has the reason that it will have as a Todo.
        let derived =
            (self.derives(todo) && !self.is_gap(todo)).then(|| match self.reason(&as_replan(todo)) {
                "claimable" => "replan",
                other => other,
            });
        let all = [
            ("user", self.is_persons(todo)),
            ("time", self.comes_later(todo)),
            ("unresolved", turn.is_some_and(|turn| matches!(turn.state, TurnState::Unresolved { .. }))),
            ("unresolved", self.effects().any(|effect| effect.blocks.todos.contains(&todo.todo_id))),
            ("held", turn.is_some_and(|turn| matches!(turn.state, TurnState::Held { .. }))),
            ("mine", turn.is_some_and(|turn| self.is_mine(turn))),
            ("peer", self.is_kept(todo, turn)),
            (scope.unwrap_or_default(), scope.is_some()),
            (derived.unwrap_or_default(), derived.is_some()),
            ("replan", todo.replans.by.is_some() || self.is_lost(todo)),
            ("deps", todo.counters.unmet > 0),
            ("gate", self.is_gated(todo) || self.needs_approval(todo)),
            ("capability", self.lacks(todo)),
            ("replan", self.is_gap(todo)),
            ("claimable", true),
        ];
        all.into_iter().find(|(_, holds)| *holds).unwrap().0
    }

    fn is_persons(&self, todo: &Todo) -> bool {
        let agent_id = self.asker.viewer.agent_id;
        let is_author = todo.reviews.as_ref().is_some_and(|reviewed| {
            let last = self.rows.todos[reviewed].last_end.as_ref().and_then(|end| end.by.as_ref());
            last == Some(agent_id)
                || self.turns().any(|turn| turn.agent_id == *agent_id && turn.todo_id() == Some(reviewed))
        });
        matches!(todo.state, TodoState::Blocked { .. })
            || matches!(todo.kind, TodoKind::Action | TodoKind::Blocker)
            || todo.hold
            || todo.covering.as_ref().is_some_and(|covering| covering.failed > 1)
            || todo.excluded_agents.contains(agent_id)
            || is_author
    }

    /// Whether something that a Todo waits for is lost.
    fn is_lost(&self, todo: &Todo) -> bool {
        todo.counters.cancelled_deps > 0 || todo.counters.wake_lost && self.sleeps(todo)
    }

    /// Whether a Todo obliges somebody to a replan that no claim has written.
    fn derives(&self, todo: &Todo) -> bool {
        let Replans { pending, by, seen_cancelled, seen_lost, .. } = &todo.replans;
        let cancelled = todo.counters.cancelled_deps;
        // One that was made for the cancelled ones leaves them to a person, whatever else is lost.
        let is_new = if cancelled > 0 { cancelled > *seen_cancelled } else { !seen_lost };
        self.is_gap(todo)
            || by.is_none()
                && (!pending.is_empty() || self.is_lost(todo) && is_new && todo.covering.is_none())
    }

    fn is_replan_to_take(&self, todo: &Todo, reason: &str) -> bool {
        reason == "replan" && self.derives(todo)
    }

    /// Whether there is room for taking a Todo, or the replan that it obliges to.
    fn has_room_for(&self, todo: &Todo, reason: &str) -> bool {
        let not_written = as_replan(todo).todo_id;
        self.has_slot(Some(if self.is_replan_to_take(todo, reason) { &not_written } else { &todo.todo_id }))
    }

    /// Whether no index offers the replan of a Todo, so that it comes after all other work.
    fn comes_last(&self, todo: &Todo) -> bool {
        let Counters { unmet, blocking_gates, .. } = todo.counters;
        let has = &self.asker.viewer.capabilities;
        let waits = unmet > 0 || blocking_gates > 0 || self.is_lost(todo) || todo.counters.wake_lost;
        self.is_gap(todo)
            || self.derives(todo)
                && (waits || todo.requires.capabilities.iter().any(|key| !has.contains(key)))
    }

    fn sleeps(&self, todo: &Todo) -> bool {
        match &todo.state {
            TodoState::Deferred { wake: Wake::After(at) } => *at > self.terms.now,
            TodoState::Deferred { wake: Wake::TodoDone(_) | Wake::Gate(_) } => {
                todo.counters.woken_at.is_none()
            }
            _ => false, // what is not put off does not sleep
        }
    }

    fn comes_later(&self, todo: &Todo) -> bool {
        let possible =
            !todo.counters.wake_lost || matches!(todo.state, TodoState::Deferred { wake: Wake::After(_) });
        let watched = todo.monitor.as_ref().filter(|_| todo.turn_id.is_none());
        let due = watched.and_then(|monitor| Some(monitor.looked_at?.plus(monitor.every_ms)));
        self.sleeps(todo) && possible || due.is_some_and(|due| due > self.terms.now)
    }

    fn is_mine(&self, turn: &Turn) -> bool {
        let presented = self.asker.viewer.own_id == Some(turn.own_id);
        let keeps = self.own(turn).is_some_and(|own| self.runs_on(own));
        turn.agent_id == *self.asker.viewer.agent_id && (presented || keeps)
    }

    fn is_kept(&self, todo: &Todo, turn: Option<&Turn>) -> bool {
        let reserved = todo.reserved.as_ref().filter(|_| turn.is_none());
        let for_another =
            |r: &Reserved| r.agent_id != *self.asker.viewer.agent_id && r.until > self.terms.now;
        reserved.is_some_and(for_another)
            || turn.and_then(|turn| self.own(turn)).is_some_and(|own| self.runs_on(own))
    }

    fn scopes(&self, todo: &Todo) -> Vec<ScopePath> {
        if self.goal.boundary.exclusive_workspace {
            return vec![ScopePath::whole_tree()];
        }
        todo.requires.write_scopes.iter().cloned().collect()
    }

    /// The reason that the owner of another Todo gives, who writes in the same place.
    fn writes_there(&self, todo: &Todo) -> Option<&'static str> {
        let tree = self.asker.viewer.workspace.or(self.goal.workspace.as_ref())?;
        let exclusive = self.goal.boundary.exclusive_workspace;
        let scopes = self.scopes(todo);
        let wanted: Vec<_> = scopes
            .iter()
            .map(|scope| if exclusive { scope.clone() } else { tree.from_root(scope).unwrap() })
            .collect();
        let other = self.rows.todos.values().find(|other| {
            let here = |own: &Ownership| {
                own.workspace.as_ref().is_some_and(|theirs| theirs.shares_tree(tree))
                    && self.runs_on(own)
                    && own.scopes.iter().any(|scope| wanted.iter().any(|mine| scope.overlaps(mine)))
            };
            other.todo_id != todo.todo_id && other.ownership.as_ref().is_some_and(here)
        })?;
        Some(match self.rows.turns[&other.turn_id?].state {
            TurnState::Unresolved { .. } => "unresolved",
            TurnState::Held { .. } => "held",
            _ => "peer", // every other state is at work
        })
    }

    fn is_gated(&self, todo: &Todo) -> bool {
        self.gates().any(|gate| match &gate.blocks {
            Blocks::Goal => true,
            Blocks::Todos(ids) => ids.contains(&todo.todo_id),
        })
    }

    fn needs_approval(&self, todo: &Todo) -> bool {
        let approved = |key: &Key| {
            self.rows.gates.values().any(|gate| {
                let counts = match (gate.standing_until, &gate.blocks) {
                    (Some(until), _) => until > self.terms.now,
                    (None, Blocks::Todos(ids)) => ids.contains(&todo.todo_id),
                    (None, Blocks::Goal) => false,
                };
                let covers = match (&gate.scope, key) {
                    (Some(Key::Path(wide)), Key::Path(narrow)) => wide.contains(narrow),
                    (scope, key) => scope.as_ref() == Some(key),
                };
                let is_yes = matches!(gate.state, GateState::Approved { .. });
                gate.goal_id == self.goal.goal_id && is_yes && counts && covers
            })
        };
        let needed = |key: &Key| self.goal.boundary.needs_approval.iter().any(|need| need.matches(key));
        todo.requires.keys().iter().any(|key| needed(key) && !approved(key))
    }

    fn lacks(&self, todo: &Todo) -> bool {
        let has_tree = self.asker.viewer.workspace.is_some() || self.goal.workspace.is_some();
        let has = &self.asker.viewer.capabilities;
        (!self.scopes(todo).is_empty() && !has_tree)
            || todo.requires.capabilities.iter().any(|key| !has.contains(key))
    }

    /// Nothing else that could be taken comes before it.
    fn check_best(&self, chosen: &TodoId, reasons: &BTreeMap<&TodoId, &str>) {
        let agent = &self.rows.agents[&(self.goal.goal_id.clone(), self.asker.viewer.agent_id.clone())];
        let chosen = self.row(chosen);
        for (id, reason) in reasons {
            let other = self.row(id);
            let offered = *reason == "claimable" || self.is_replan_to_take(other, reason);
            if !offered || other.todo_id == chosen.todo_id || !self.has_room_for(other, reason) {
                continue;
            }
            let last = [other, chosen].map(|todo| self.comes_last(todo));
            let plans = [other, chosen].map(|todo| todo.covering.is_some() || self.derives(todo));
            let watched = [0, 1].map(|at| [other, chosen][at].kind == TodoKind::Monitor && !plans[at]);
            let looks = |todo: &Todo| todo.monitor.as_ref().and_then(|monitor| monitor.looked_at);
            let before = match watched {
                [true, false] if agent.looked_last => false,
                [false, true] if agent.looked_last => true,
                _ if last[1] => !last[0],
                _ if last[0] => false,
                _ if other.priority != chosen.priority => other.priority < chosen.priority,
                _ if plans[0] != plans[1] => plans[0],
                _ if plans[0] => {
                    looks(other).is_none()
                        && looks(chosen).is_none()
                        && other.todo_id.number() < chosen.todo_id.number()
                }
                [true, false] => true,
                [false, true] => false,
                [true, true] if looks(other) != looks(chosen) => looks(other) < looks(chosen),
                [true, true] | [false, false] => other.todo_id.number() < chosen.todo_id.number(),
            };
            assert!(!before, "{id} comes before {}", chosen.todo_id);
        }
    }
}

/// The Todo that a claim makes of the obligation to change the plan of one.
fn as_replan(todo: &Todo) -> Todo {
    Todo {
        todo_id: TodoId::new(todo.todo_id.goal().clone(), u32::MAX),
        kind: TodoKind::Replan,
        state: TodoState::Open,
        requires: Requires::default(),
        excluded_agents: [].into(),
        monitor: None,
        reviews: None,
        ownership: None,
        turn_id: None,
        reserved: None,
        replans: Replans::default(),
        counters: Counters::default(),
        ..todo.clone()
    }
}

/// What obliges an agent, and what does not.
#[test]
fn must_attempt_work_is_said_of_what_is_work_and_of_nothing_else() {
    use super::world::World;
    let mut world = World::new();
    assert!(!world.next("a", None).unwrap().obligation.must_attempt_work, "there is no Todo");
    world.todo("it", |_| {});
    let decided = world.next("a", None).unwrap();
    assert!(matches!(decided.action, Action::Run { .. }) && decided.obligation.must_attempt_work);
}
