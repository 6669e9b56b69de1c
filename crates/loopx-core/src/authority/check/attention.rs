//! Owns that status names what a decision asks for: the same command for the same state.

use std::collections::BTreeSet;

use super::{
    play::{MACHINE, result},
    world::{World, text},
};
use crate::{
    authority::View,
    error::Result,
    kernel::{
        Action, Asker, Change, Command, Decided, GateCommand, NewGate, NewTodo, Outcome, Terms, TodoCommand,
        decide_next,
    },
    model::*,
    projection::{self, Eyes, GoalStatus, Which},
};

/// The status of the Goal, as it is seen on the machine of the drivers; for one agent if one is named.
pub(super) fn status(world: &mut World, name: Option<&str>) -> GoalStatus {
    let machine: MachineId = text(MACHINE);
    let eyes = Eyes { machine_id: Some(&machine), driver: &|_| None, tried: &|_| Ok(BTreeSet::new()) };
    let (goal, agent) = (world.goal.clone(), name.map(text::<AgentId>));
    let look = |view: &mut dyn View, terms: &Terms| -> Result<GoalStatus> {
        Ok(projection::status(view, terms, Which::One(&goal), agent.as_ref(), &eyes)?.goals.remove(0))
    };
    world.authority.look(look).unwrap()
}

/// What an agent should do, asked on the machine of the drivers.
fn decided(world: &mut World, name: &str) -> Decided {
    let (machine, goal): (MachineId, _) = (text(MACHINE), world.goal.clone());
    let decide = |facts: &_, asker: &Asker<'_>| {
        decide_next(facts, &goal, &Asker { machine_id: Some(&machine), ..asker.clone() })
    };
    world.ask(name, None, |_| {}, decide).unwrap()
}

fn commands(status: &GoalStatus) -> BTreeSet<&str> {
    status.attention.iter().map(|row| row.command.as_str()).collect()
}

fn todo_cmd(world: &mut World, command: TodoCommand) {
    world.todo_cmd(command).unwrap();
}

fn cancel(world: &mut World, todo_id: TodoId) {
    todo_cmd(world, TodoCommand::Cancel { todo_id, reason: text("no"), superseded_by: None });
}

fn update(world: &mut World, todo_id: TodoId, change: Change) {
    todo_cmd(world, TodoCommand::Update { todo_id, change: Box::new(change) });
}

fn asked(world: &mut World, kind: GateKind, options: &[&str], blocks: Blocks) -> GateId {
    let new = NewGate {
        kind,
        question: text("which?"),
        options: options.iter().map(|option| text(option)).collect(),
        blocks,
        scope: None,
        standing_until: None,
    };
    let opened = world.user(Command::Gate(GateCommand::Open(Box::new(new)))).unwrap();
    opened.outcome::<Outcome>().unwrap().gate_id.unwrap()
}

fn on(todo_id: &TodoId) -> Blocks {
    Blocks::Todos([todo_id.clone()].into())
}

/// A world whose only Todo has a result that something holds.
fn held(cause: &dyn Fn(&mut World, &TodoId)) -> World {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    todo_cmd(&mut world, TodoCommand::Hold { todo_id: todo.clone() });
    world.done("a", &owned).unwrap();
    cause(&mut world, &todo);
    assert_eq!(world.turn_state(&owned), "held");
    world
}

fn unhold(world: &mut World, todo_id: &TodoId) {
    todo_cmd(world, TodoCommand::Unhold { todo_id: todo_id.clone() });
}

/// A world with one Todo.
fn one(change: impl FnOnce(&mut NewTodo)) -> (World, TodoId) {
    let mut world = World::new();
    let todo = world.todo("it", change);
    (world, todo)
}

/// What waits for a person because of a Todo.
fn todo_states() -> Vec<(&'static str, World)> {
    let far = Wake::After(Timestamp::from_ms(i64::MAX / 2));
    let put_off = |new: &mut NewTodo| {
        new.kind = TodoKind::Action;
        new.wake = Some(far);
    };
    let mut needs = World::empty();
    needs.start(|goal| goal.boundary.needs_approval = [text("publish")].into());
    needs.todo("it", |new| new.requires.publish = true);
    let (mut dropped, dep) = one(|_| {});
    dropped.todo("waits", |new| new.depends_on = [text("g.1")].into());
    cancel(&mut dropped, dep);
    let (mut lost, dep) = one(|_| {});
    lost.todo("sleeps", |new| new.wake = Some(Wake::TodoDone(text("g.1"))));
    cancel(&mut lost, dep);
    let (mut reviewed, todo) = one(|_| {});
    let owned = reviewed.claim("a", &todo).unwrap();
    reviewed.done("a", &owned).unwrap();
    reviewed.todo("review", |new| {
        new.reviews = Some(todo.clone());
        new.excluded_agents = [text("b")].into();
    });
    vec![
        ("blocked", one(|new| new.blocked = Some(text("no account"))).0),
        ("on hold", one(|new| new.hold = true).0),
        ("an action", one(|new| new.kind = TodoKind::Action).0),
        ("a blocker", one(|new| new.kind = TodoKind::Blocker).0),
        ("an action that was put off", one(put_off).0),
        ("excluded", one(|new| new.excluded_agents = ["a", "b"].map(text).into()).0),
        ("a capability", one(|new| new.requires.capabilities = [text("it's deep")].into()).0),
        ("scopes without a tree", one(|new| new.requires.write_scopes = [text("src")].into()).0),
        ("an approval", needs),
        ("a cancelled dependency", dropped),
        ("a lost wake", lost),
        ("a review by its author", reviewed),
    ]
}

/// What waits for a person because of a gate, or of the Goal itself.
fn goal_states() -> Vec<(&'static str, World)> {
    let mut states = Vec::new();
    for (name, kind, options) in [
        ("a decision", GateKind::Decision, &["it's a", "b"][..]),
        ("a direction", GateKind::Direction, &[]),
        ("a question to approve", GateKind::Approval, &[]),
    ] {
        let (mut world, todo) = one(|_| {});
        asked(&mut world, kind, options, on(&todo));
        states.push((name, world));
    }
    let (mut denied, todo) = one(|_| {});
    let gate_id = asked(&mut denied, GateKind::Approval, &[], on(&todo));
    denied.resolve(gate_id, Answer::Deny { reason: None }).unwrap();
    let (mut whole, _) = one(|_| {});
    asked(&mut whole, GateKind::Decision, &[], Blocks::Goal);
    let (mut over, todo) = one(|_| {});
    cancel(&mut over, todo);
    let mut gap = World::empty();
    let criterion = Criterion { text: text("it works"), check: None, state: CriterionState::Open };
    gap.start(|goal| goal.acceptance = vec![criterion]);
    let todo = gap.todo("it", |_| {});
    cancel(&mut gap, todo);
    states.extend([
        ("a denied gate", denied),
        ("a gate on the Goal", whole),
        ("an empty Goal", World::new()),
        ("a Goal that can be closed", over),
        ("a criterion", gap),
    ]);
    states
}

/// What waits because of a Turn.
fn turn_states() -> Vec<(&'static str, World)> {
    let mut states = vec![
        ("held: hold", held(&|_, _| {})),
        ("held: nothing left", held(&unhold)),
        (
            "held: requirement",
            held(&|world, todo| {
                unhold(world, todo);
                update(world, todo.clone(), Change { title: Some(text("new")), ..Change::default() });
            }),
        ),
        (
            "held: a gate",
            held(&|world, todo| {
                asked(world, GateKind::Decision, &["yes"], on(todo));
                unhold(world, todo);
            }),
        ),
        (
            "held: a cancelled dependency",
            held(&|world, todo| {
                let dep = world.todo("dep", |_| {});
                todo_cmd(world, TodoCommand::Link { todo_id: todo.clone(), depends_on: dep.clone() });
                cancel(world, dep);
                unhold(world, todo);
            }),
        ),
        (
            "held: three causes",
            held(&|world, todo| {
                asked(world, GateKind::Approval, &[], on(todo));
                update(world, todo.clone(), Change { title: Some(text("new")), ..Change::default() });
            }),
        ),
    ];
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    world.ask_acceptance("a", &todo);
    states.push(("held: acceptance", world));
    let mut world = World::empty();
    world.start(|_| {});
    world.limit(None, Some(1)).unwrap();
    let todo = world.todo("it", |_| {});
    world.ask_acceptance("a", &todo);
    world.todo("more", |_| {});
    states.push(("a held Turn on a full meter", world));
    for gone in [true, false] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.running("a", &todo);
        world.lose("a", &owned, gone).unwrap();
        states.push(("unresolved: lost", world));
    }
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.result_of("a", &owned, result(ResultKind::ValidatedCompletion)).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Inconclusive).unwrap();
    states.push(("unresolved: inconclusive", world));
    states
}

#[test]
fn status_names_the_command_that_a_decision_asks_for_in_every_waiting_state() {
    let mut asked = 0;
    for (state, mut world) in todo_states().into_iter().chain(goal_states()).chain(turn_states()) {
        let all = status(&mut world, None);
        let mut named = BTreeSet::new();
        let mut everybody_asks = true;
        for name in ["a", "b"] {
            let decided = decided(&mut world, name);
            let own = status(&mut world, Some(name));
            let Action::AskUser { asks } = &decided.action else {
                everybody_asks = false;
                continue;
            };
            asked += 1;
            let asks: BTreeSet<_> = asks.iter().map(|ask| ask.command.clone()).collect();
            for command in &asks {
                assert!(
                    commands(&all).contains(command.as_str()),
                    "{state}, {name}: {command} {:?}",
                    commands(&all)
                );
                assert!(
                    commands(&own).contains(command.as_str()),
                    "{state}, {name}: {command} {:?}",
                    commands(&own)
                );
            }
            let first = own.first.map(|next| next.command).unwrap_or_default();
            assert!(asks.contains(&first), "{state}, {name}: {first} comes first, {asks:?}");
            named.extend(asks);
        }
        // And nothing else where nobody can go on, but for questions, which are shown whatever else waits.
        if everybody_asks {
            let rows = all.attention.iter().filter(|row| row.kind != "gate" && !named.contains(&row.command));
            let more: Vec<_> = rows.map(|row| &row.command).collect();
            assert!(more.is_empty(), "{state}: {more:?} beside {named:?}");
        }
    }
    assert!(asked > 50, "{asked}");
}

#[test]
fn the_next_moment_is_the_first_at_which_time_alone_changes_what_is_shown() {
    let mut world = World::new();
    let [owned, put_off, monitor] = ["owned", "put off", "monitor"].map(|title| world.todo(title, |_| {}));
    assert_eq!(status(&mut world, None).changes_at, None, "nothing waits for a moment");
    world.claim("a", &owned).unwrap();
    let expires = world.row(&owned).ownership.unwrap().expires_at;
    assert_eq!(status(&mut world, None).changes_at, Some(expires));
    let wake = world.now().plus(Duration::from_mins(5));
    todo_cmd(&mut world, TodoCommand::Defer { todo_id: put_off, wake: Wake::After(wake), own_id: None });
    assert_eq!(status(&mut world, None).changes_at, Some(wake));
    cancel(&mut world, monitor);
    world.pass(Duration::from_mins(6));
    assert_eq!(status(&mut world, None).changes_at, Some(expires), "what has come is waited for no more");
    world.pass(Duration::from_mins(60));
    assert_eq!(status(&mut world, None).changes_at, None);
}
