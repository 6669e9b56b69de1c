//! Tests of the read models over a ledger in memory: what a Goal waits for, and what looking costs.

use std::collections::BTreeSet;

use super::{AttentionRow, Eyes, GoalStatus, Slice, TodoQuery, WaitingOn, Which, attention, status, todos};
use crate::{
    authority::{
        Authority, Count, EventFilter, GateFilter, Head, MemoryLedger, Meta, Meters, NounFilter, Record,
        StoredReceipt, Stray, TodoFilter, Told, TurnFilter, View,
    },
    boundary::OwnerView,
    error::Result,
    kernel::{
        AgentCommand, BatchItem, ClaimCommand, Command, Facts, GateCommand, GoalCommand, NewGate, NewGoal,
        NewTodo, QuotaCommand, Read, TodoCommand, claim::Claim,
    },
    model::*,
};

fn text<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} does not parse"))
}

struct World {
    authority: Authority,
    calls: u32,
}

impl World {
    /// A Goal `g` with the agent `a`.
    fn new() -> Self {
        let mut authority = Authority::new(Box::new(MemoryLedger::new()));
        authority.found().unwrap();
        let mut world = Self { authority, calls: 0 };
        let new = NewGoal::wanting(text("ship it"));
        world.user(Command::Goal(GoalCommand::Start(Box::new(new))));
        world
    }

    fn with_agent() -> Self {
        let mut world = Self::new();
        world.user(Command::Agent(AgentCommand::Add { agent_id: text("a"), capabilities: BTreeSet::new() }));
        world
    }

    fn submit(&mut self, actor: &str, command: Command) -> Receipt {
        self.submit_to("g", actor, command)
    }

    fn submit_to(&mut self, goal: &str, actor: &str, command: Command) -> Receipt {
        self.calls += 1;
        let id = text(&format!("op-{}", self.calls));
        self.authority.submit(Operation::embedded(id, text(actor), text(goal), command)).unwrap()
    }

    fn user(&mut self, command: Command) -> Receipt {
        self.submit("user:ana", command)
    }

    fn add(&mut self, new: NewTodo) {
        self.user(Command::Todo(TodoCommand::Add(Box::new(new))));
    }

    fn claim(&mut self, id: &str) {
        let claim = Claim::attached(text(id));
        self.submit("agent:a", Command::Claim(ClaimCommand::Claim(Box::new(claim))));
    }

    fn status(&mut self) -> GoalStatus {
        self.authority
            .look(|view, terms| {
                Ok(status(view, terms, Which::All { first: None }, None, &blind())?.goals.remove(0))
            })
            .unwrap()
    }

    fn waits(&mut self) -> (WaitingOn, Option<String>) {
        let status = self.status();
        (status.waiting_on, status.first.map(|next| next.command))
    }
}

/// Who sees nothing but the ledger.
fn blind() -> Eyes<'static> {
    Eyes { machine_id: None, driver: &|_| None, tried: &|_| Ok(BTreeSet::new()) }
}

fn advance(title: &str) -> NewTodo {
    NewTodo::titled(text(title), TodoKind::Advance)
}

#[test]
fn what_a_goal_waits_for_follows_what_happened_to_it() {
    let on = |on, command: &str| (on, Some(command.to_owned()));
    let mut world = World::new();
    assert_eq!(world.waits(), on(WaitingOn::User, "todo add TITLE --goal g"));
    world.add(advance("one"));
    assert_eq!(world.waits(), on(WaitingOn::User, "agent add AGENT --goal g"));
    world.user(Command::Agent(AgentCommand::Add { agent_id: text("a"), capabilities: BTreeSet::new() }));
    assert_eq!(world.waits(), on(WaitingOn::Agent, "todo claim g.1 --as agent:a"));
    assert!(world.status().may_continue);
    world.claim("g.1");
    assert_eq!(world.waits(), (WaitingOn::Agent, None));
    assert_eq!(world.status().owners.len(), 1);
    world.user(Command::Goal(GoalCommand::Stop));
    assert_eq!(world.waits(), on(WaitingOn::User, "goal resume g"));
    world.user(Command::Goal(GoalCommand::Resume));
    let reason = text("not needed");
    world.user(Command::Todo(TodoCommand::Cancel { todo_id: text("g.1"), reason, superseded_by: None }));
    assert_eq!(world.waits(), on(WaitingOn::User, "goal close g --achieved"));
    assert_eq!(world.status().last_run.unwrap().text, "g.1 stopped: cancelled");
    world.user(Command::Goal(GoalCommand::Close {
        kind: CloseKind::Achieved,
        reason: None,
        waive: Vec::new(),
        waive_effects: Vec::new(),
    }));
    let closed = world
        .authority
        .look(|view, terms| status(view, terms, Which::One(&text("g")), None, &blind()))
        .unwrap();
    assert_eq!(closed.goals[0].waiting_on, WaitingOn::Nobody);
}

#[test]
fn regress_a_review_that_nobody_took_breaks_no_status() {
    let mut world = World::with_agent();
    world.add(NewTodo { priority: Priority::P3, ..advance("work") });
    world.add(NewTodo { reviews: Some(text("g.1")), ..advance("review") });
    assert_eq!(world.waits(), (WaitingOn::Agent, Some("todo claim g.2 --as agent:a".to_owned())));
    world.claim("g.1");
    // Who works on it is not sent to review it.
    assert_eq!(world.waits(), (WaitingOn::Agent, None));
}

#[test]
fn time_quota_gates_and_people_are_told_apart() {
    let mut world = World::with_agent();
    let far = Timestamp::from_ms(i64::MAX / 2);
    world.add(NewTodo { wake: Some(Wake::After(far)), ..advance("later") });
    assert_eq!(world.status().waiting_on, WaitingOn::Time);
    world.add(advance("now"));
    let none = Limit::of_turns(0, Duration::from_mins(60));
    world.user(Command::Quota(QuotaCommand::Set { agent_id: None, limit: Some(none) }));
    let raise = "quota set --goal g --turns 1 --window 1h".to_owned();
    assert_eq!(world.waits(), (WaitingOn::User, Some(raise)), "no time frees a limit of zero");
    world.user(Command::Quota(QuotaCommand::Set { agent_id: None, limit: None }));
    let gate = NewGate {
        kind: GateKind::Decision,
        question: text("which?"),
        options: vec![text("it's a")],
        blocks: Blocks::Todos(BTreeSet::from([text("g.2")])),
        scope: None,
        standing_until: None,
    };
    let opened = world.user(Command::Gate(GateCommand::Open(Box::new(gate))));
    let gate_id = opened.outcome::<crate::kernel::Outcome>().unwrap().gate_id.unwrap();
    let (on, command) = world.waits();
    assert_eq!(on, WaitingOn::User);
    assert_eq!(command.unwrap(), format!("gate resolve {gate_id} --answer \"it's a\""));
    let answer = Answer::Answer { text: text("it's a") };
    world.user(Command::Gate(GateCommand::Resolve { gate_id, answer }));
    assert_eq!(world.status().waiting_on, WaitingOn::Agent);
    world.user(Command::Todo(TodoCommand::Hold { todo_id: text("g.2") }));
    assert_eq!(world.waits(), (WaitingOn::User, Some("todo unhold g.2".to_owned())));
}

#[test]
fn what_is_offered_first_is_what_a_decision_offers_first() {
    let mut world = World::with_agent();
    world.add(advance("work"));
    world.add(NewTodo::titled(text("watch"), TodoKind::Monitor));
    // A monitor that is due comes before other work of its priority, whatever its number.
    assert_eq!(world.waits(), (WaitingOn::Agent, Some("todo claim g.2 --as agent:a".to_owned())));
    let agent: AgentId = text("a");
    let asked = world
        .authority
        .look(|view, terms| status(view, terms, Which::All { first: None }, Some(&agent), &blind()))
        .unwrap();
    assert_eq!(asked.goals[0].first.as_ref().unwrap().command, "todo claim g.2 --as agent:a");
}

#[test]
fn a_cancelled_dependency_is_a_replan_to_be_claimed() {
    let mut world = World::with_agent();
    world.add(advance("one"));
    world.add(NewTodo { depends_on: BTreeSet::from([text("g.1")]), ..advance("two") });
    let reason = text("not needed");
    world.user(Command::Todo(TodoCommand::Cancel { todo_id: text("g.1"), reason, superseded_by: None }));
    let claim = "todo claim replan:dependency_cancelled:g.2/1 --as agent:a".to_owned();
    assert_eq!(world.waits(), (WaitingOn::Agent, Some(claim)));
}

/// Counts the rows that a ledger hands out.
struct Counting<'a> {
    view: &'a mut dyn View,
    rows: usize,
}

impl Counting<'_> {
    fn count<T>(&mut self, rows: Result<Vec<T>>) -> Result<Vec<T>> {
        let rows = rows?;
        self.rows += rows.len();
        Ok(rows)
    }
}

impl View for Counting<'_> {
    fn meta(&mut self) -> Result<Option<Meta>> {
        self.view.meta()
    }
    fn receipt(&mut self, id: &OperationId) -> Result<Option<StoredReceipt>> {
        self.view.receipt(id)
    }
    fn head(&mut self, goal: &GoalId) -> Result<Option<Head>> {
        self.view.head(goal)
    }
    fn load(&mut self, reads: &BTreeSet<Read>, facts: &mut Facts) -> Result<()> {
        let before = facts.rows().todos.len();
        self.view.load(reads, facts)?;
        self.rows += facts.rows().todos.len() - before;
        Ok(())
    }
    fn goals(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<Goal>> {
        let rows = self.view.goals(after, limit);
        self.count(rows)
    }
    fn todos(&mut self, filter: &TodoFilter<'_>, after: u32, limit: usize) -> Result<Vec<Todo>> {
        let rows = self.view.todos(filter, after, limit);
        self.count(rows)
    }
    fn owned_in(&mut self, workspace: &Workspace, limit: usize) -> Result<Vec<Todo>> {
        let rows = self.view.owned_in(workspace, limit);
        self.count(rows)
    }
    fn agents(&mut self, goal: &GoalId) -> Result<Vec<Agent>> {
        let rows = self.view.agents(goal);
        self.count(rows)
    }
    fn gates(&mut self, filter: &GateFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Gate>> {
        let rows = self.view.gates(filter, after, limit);
        self.count(rows)
    }
    fn evidence(
        &mut self,
        goal: &GoalId,
        todo: Option<&TodoId>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Evidence>> {
        let rows = self.view.evidence(goal, todo, after, limit);
        self.count(rows)
    }
    fn turns(&mut self, filter: &TurnFilter<'_>, before: Option<&str>, limit: usize) -> Result<Vec<Turn>> {
        let rows = self.view.turns(filter, before, limit);
        self.count(rows)
    }
    fn nouns(&mut self, filter: &NounFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Noun>> {
        let rows = self.view.nouns(filter, after, limit);
        self.count(rows)
    }
    fn last_noun(&mut self, kind: NounKind, todo: &TodoId) -> Result<Option<Noun>> {
        let found = self.view.last_noun(kind, todo)?;
        self.rows += usize::from(found.is_some());
        Ok(found)
    }
    fn own_head(&mut self) -> Result<Option<Head>> {
        self.view.own_head()
    }
    fn own_events(&mut self, after: u64, limit: usize) -> Result<Vec<Record>> {
        let rows = self.view.own_events(after, limit);
        self.count(rows)
    }
    fn events(&mut self, filter: &EventFilter<'_>, limit: usize) -> Result<Vec<Record>> {
        let rows = self.view.events(filter, limit);
        self.count(rows)
    }
    fn chains(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<(GoalId, Head)>> {
        let rows = self.view.chains(after, limit);
        self.count(rows)
    }
    fn meters(&mut self, goal: &GoalId) -> Result<Meters> {
        self.view.meters(goal)
    }
    fn stray(&mut self, goal: &GoalId) -> Result<Option<Stray>> {
        self.view.stray(goal)
    }
    fn receipts(&mut self, after: Option<&OperationId>, limit: usize) -> Result<Vec<Told>> {
        let rows = self.view.receipts(after, limit);
        self.count(rows)
    }
    fn raw(
        &mut self,
        goal: &GoalId,
        each: &mut dyn FnMut(&'static str, serde_json::Value) -> Result<()>,
    ) -> Result<()> {
        self.view.raw(goal, each)
    }
    fn counts(&mut self, goal: &GoalId) -> Result<Count> {
        self.view.counts(goal)
    }
    fn find(&mut self, text: &str, goal: Option<&GoalId>, limit: usize) -> Result<Vec<(String, String)>> {
        let rows = self.view.find(text, goal, limit);
        self.count(rows)
    }
    fn tails(&mut self, prefix: &str, tail: &str, limit: usize) -> Result<Vec<String>> {
        let rows = self.view.tails(prefix, tail, limit);
        self.count(rows)
    }
}

#[test]
fn attention_leaves_out_closed_goals_and_says_when_it_leaves_out_others() {
    let mut world = World::new();
    let start = |world: &mut World, goal: &str| {
        let new = NewGoal::wanting(text("ship it"));
        world.submit_to(goal, "user:ana", Command::Goal(GoalCommand::Start(Box::new(new))));
    };
    for n in 0..300 {
        let goal = format!("a{n}");
        start(&mut world, &goal);
        let reason = Some(text("enough"));
        let (waive, waive_effects) = (Vec::new(), Vec::new());
        let close = GoalCommand::Close { kind: CloseKind::Abandoned, reason, waive, waive_effects };
        world.submit_to(&goal, "user:ana", Command::Goal(close));
    }
    let list = |world: &mut World, limit| {
        let slice = Slice { after: None, limit };
        world.authority.look(|view, terms| attention(view, terms, None, &blind(), slice)).unwrap()
    };
    for n in 0..999 {
        start(&mut world, &format!("b{n}"));
    }
    // A thousand that are not closed, each with something to say.
    let goals = |items: &[OwnerView<AttentionRow>]| {
        items.iter().map(|row| row.for_owner().goal_id.clone()).collect::<BTreeSet<_>>().len()
    };
    let whole = list(&mut world, None);
    assert_eq!((goals(&whole.page.items), whole.more), (1000, false));
    let first = list(&mut world, Some(2));
    assert_eq!(first.page.items, whole.page.items[..2]);
    assert!(first.page.next_cursor.is_some());
    start(&mut world, "z");
    let whole = list(&mut world, None);
    assert_eq!((goals(&whole.page.items), whole.more), (1000, true));
}

#[test]
fn looking_costs_the_same_at_a_hundred_todos_and_at_four_thousand() {
    let mut world = World::with_agent();
    let mut rows = Vec::new();
    for count in [100, 3900] {
        let new =
            |n: u32| BatchItem::Add { new: Box::new(advance(&n.to_string())), after_items: BTreeSet::new() };
        world.user(Command::Batch((0..count).map(new).collect()));
        let cost = world.authority.look(|view, terms| {
            let mut counting = Counting { view, rows: 0 };
            status(&mut counting, terms, Which::All { first: None }, None, &blind())?;
            let goal: GoalId = text("g");
            let query = TodoQuery {
                goal: &goal,
                states: BTreeSet::new(),
                kinds: BTreeSet::new(),
                priorities: BTreeSet::new(),
                agent: None,
            };
            let page = todos(&mut counting, terms, &query, Slice { after: None, limit: Some(50) })?;
            assert_eq!((page.items.len(), page.next_cursor.as_deref()), (50, Some("50")));
            Ok(counting.rows)
        });
        rows.push(cost.unwrap());
    }
    assert_eq!(rows[0], rows[1]);
    assert!(rows[0] < 100, "{rows:?}");
}
