//! Owns what it is to have seen what needs somebody, and how the list of that is ranked.

use super::{
    play::{MACHINE, code, result},
    world::{World, agent, text},
};
use crate::{
    kernel::{
        AgentCommand, AttentionCommand, Command, GoalCommand, NewGoal, Outcome, ProposalCommand, SeenRow,
        Terms, TodoCommand,
    },
    model::*,
    projection::{self, AttentionPage, AttentionRow, Eyes, Listed, Rank, Slice},
};

fn seen(rows: &[(About, Option<&str>)]) -> Command {
    let row = |(about, version): &(About, Option<&str>)| SeenRow {
        about: about.clone(),
        version: version.map(text),
    };
    Command::Attention(AttentionCommand::Seen { rows: rows.iter().map(row).collect() })
}

fn is_new(world: &mut World, rows: &[(About, Option<&str>)]) -> bool {
    world.user(seen(rows)).unwrap().outcome::<Outcome>().unwrap().created.unwrap()
}

/// How the list is looked at.
#[derive(Clone, Copy, Default)]
struct Look {
    /// Whether every unresolved Turn was looked into in vain.
    in_vain: bool,
    /// Whether the clock jumped.
    jumped: bool,
}

fn looked(world: &mut World, look: Look, goal: Option<&GoalId>, slice: Slice<'_>) -> Listed<AttentionRow> {
    let machine: MachineId = text(MACHINE);
    let tried = |turns: &[Turn]| Ok(turns.iter().filter(|_| look.in_vain).map(|turn| turn.turn_id).collect());
    let eyes = Eyes { machine_id: Some(&machine), driver: &|_| None, tried: &tried };
    let found = world.authority.look(|view, terms| {
        let terms = Terms { clock_jump: look.jumped, ..terms.clone() };
        projection::attention(view, &terms, goal, &eyes, slice)
    });
    let AttentionPage { page: found, more } = found.unwrap();
    assert!(!more, "all Goals are looked at");
    let items = found.items.iter().map(|row| row.for_owner().clone()).collect();
    Listed { items, next_cursor: found.next_cursor }
}

fn page(
    world: &mut World,
    goal: Option<&GoalId>,
    after: Option<&str>,
    limit: Option<usize>,
) -> Listed<AttentionRow> {
    looked(world, Look::default(), goal, Slice { after, limit })
}

fn list(world: &mut World) -> Vec<AttentionRow> {
    page(world, None, None, None).items
}

#[test]
fn what_was_seen_is_a_fact_once_for_each_way_it_stands() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let gate_id = world.gate(GateKind::Decision, &todo);
    let events = world.envelopes().len();
    let gate = About::Gate(gate_id);
    assert!(is_new(&mut world, &[(gate.clone(), None), (gate.clone(), Some("1"))]));
    assert_eq!(world.kinds_after(events), ["attention.seen"], "one event, whatever it names twice");
    assert!(!is_new(&mut world, &[(gate.clone(), None)]));
    assert!(!is_new(&mut world, &[(gate.clone(), Some("1"))]));
    assert_eq!(world.envelopes().len(), events + 1, "nothing new is no event");
    let until = world.now().plus(Duration::from_mins(60));
    world.resolve(gate_id, Answer::Defer { until }).unwrap();
    assert_eq!(code(&world.user(seen(&[(gate.clone(), Some("1"))]))), "stale_revision");
    assert!(is_new(&mut world, &[(gate.clone(), Some("2"))]));
    let rows = world.ledger.rows();
    let kept: Vec<_> = rows.nouns.values().filter_map(Sighting::of).collect();
    assert_eq!(kept.len(), 1, "one row a thing");
    assert_eq!((&kept[0].about, kept[0].version.as_str()), (&gate, "2"));
}

#[test]
fn what_is_not_there_or_needs_nobody_is_not_seen() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let gate_id = world.gate(GateKind::Decision, &todo);
    let turn = About::Turn(owned.turn_id.unwrap());
    assert!(is_new(&mut world, &[(turn.clone(), Some("dispatched.1")), (About::Todo(todo.clone()), None)]));
    for absent in [
        About::Gate(GateId::from_bytes([9; 16])),
        About::Turn(TurnId::from_bytes([9; 16])),
        About::Effect(EffectId::from_bytes([9; 16])),
        About::Proposal(ProposalId::from_bytes([9; 16])),
        About::Todo(text("g.9")),
        About::Goal(text("other")),
    ] {
        assert_eq!(code(&world.user(seen(&[(absent.clone(), None)]))), "not_found", "{absent}");
    }
    assert_eq!(code(&world.user(seen(&[]))), "invalid_argument");
    let many = vec![(About::Goal(text("g")), None); 33];
    assert_eq!(code(&world.user(seen(&many))), "invalid_argument");
    world.resolve(gate_id, Answer::Answer { text: text("this") }).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    for gone in [About::Gate(gate_id), turn, About::Todo(todo)] {
        assert_eq!(code(&world.user(seen(&[(gone.clone(), None)]))), "invalid_transition", "{gone}");
    }
    // all or nothing
    let both = [(About::Goal(text("g")), None), (About::Gate(gate_id), None)];
    assert_eq!(code(&world.user(seen(&both))), "invalid_transition");
    world.close(CloseKind::Abandoned, Some("enough")).unwrap();
    assert_eq!(code(&world.user(seen(&[(About::Goal(text("g")), None)]))), "goal_closed");
}

#[test]
fn only_a_person_sees() {
    let mut world = World::new();
    let goal = About::Goal(text("g"));
    assert_eq!(code(&world.agent("a", seen(&[(goal.clone(), None)]))), "user_only");
    let operation = world.operation(agent("b"), seen(&[(goal, None)]));
    assert_eq!(code(&world.submit(operation)), "user_only");
}

#[test]
fn no_decision_reads_what_was_seen() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let gate_id = world.gate(GateKind::Decision, &todo);
    let before = (world.next("a", None).unwrap(), world.reason("a", &todo));
    assert!(is_new(&mut world, &[(About::Gate(gate_id), None), (About::Todo(todo.clone()), None)]));
    assert_eq!((world.next("a", None).unwrap(), world.reason("a", &todo)), before);
}

#[test]
fn attention_is_ranked_over_all_goals_and_a_page_follows_a_page() {
    let mut world = World::new();
    let [lost, asked, later, free] =
        ["lost", "asked", "later", "free"].map(|title| world.todo(title, |_| {}));
    world.todo("by hand", |new| new.kind = TodoKind::Action);
    let running = world.running("a", &lost);
    world.lose("a", &running, true).unwrap();
    let oldest = world.gate(GateKind::Decision, &later);
    // held by a question that is younger than the Turn
    let held = world.claim("b", &asked).unwrap();
    world.pass(Duration::from_mins(1));
    world.goal = text("g2");
    world.start(|_| {});
    let todo = world.todo("elsewhere", |_| {});
    let older = world.gate(GateKind::Decision, &todo);
    world.goal = text("g");
    world.pass(Duration::from_mins(1));
    let youngest = world.gate(GateKind::Decision, &asked);
    world.done("b", &held).unwrap();
    assert_eq!(world.turn_state(&held), "held");
    let rows = list(&mut world);
    let ranks: Vec<_> = rows.iter().map(|item| item.row.rank).collect();
    assert!(ranks.is_sorted(), "{ranks:?}");
    let gates: Vec<_> = rows.iter().filter(|item| item.row.rank == Rank::Gate).collect();
    let asked: Vec<_> =
        gates.iter().filter(|item| item.row.kind == "gate").map(|item| item.row.about.clone()).collect();
    assert_eq!(asked, [oldest, older].map(|id| id.to_string()), "by age, whatever Goal");
    assert_eq!(gates.last().unwrap().row.kind, "turn_held", "as old as the question that holds it");
    assert!(gates.last().unwrap().row.command.contains(&youngest.to_string()));
    assert_eq!(rows[0].row.kind, "turn_unresolved");
    assert_eq!(rows.last().unwrap().row.kind, "due");
    assert!(rows.iter().any(|item| item.row.command.contains(&free.to_string())));
    // in pages, each row once
    let mut paged = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let found = page(&mut world, None, cursor.as_deref(), Some(2));
        assert!(found.items.len() <= 2);
        paged.extend(found.items);
        cursor = found.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, rows);
    let goal = text("g2");
    let one = page(&mut world, Some(&goal), None, None).items;
    assert!(!one.is_empty() && one.iter().all(|item| item.goal_id.as_ref() == Some(&goal)));
    // a Goal that is stopped waits before its questions; one that is closed for nobody
    world.goal_cmd(GoalCommand::Stop).unwrap();
    let rows = list(&mut world);
    let first = rows.iter().find(|item| item.row.rank == Rank::Gate).unwrap();
    assert_eq!(first.row.command, "goal resume g");
}

#[test]
fn the_list_says_who_saw_a_row_as_it_stands() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let gate_id = world.gate(GateKind::Decision, &todo);
    let row = |world: &mut World| list(world).into_iter().find(|item| item.row.kind == "gate").unwrap();
    let before = row(&mut world);
    assert_eq!((before.version.as_ref().map(Label::as_str), before.seen), (Some("1"), None));
    assert!(is_new(&mut world, &[(About::Gate(gate_id), before.version.as_ref().map(Label::as_str))]));
    assert_eq!(row(&mut world).seen.unwrap().by.to_string(), "user:ana");
    let until = world.now().plus(Duration::from_mins(60));
    world.resolve(gate_id, Answer::Defer { until }).unwrap();
    assert_eq!(row(&mut world).seen, None, "not as it stands now");
    world.todo_cmd(TodoCommand::Cancel { todo_id: todo, reason: text("no"), superseded_by: None }).unwrap();
    assert!(list(&mut world).iter().all(|item| item.row.kind != "gate"));
}

#[test]
fn a_list_of_one_goal_goes_past_what_a_screen_shows() {
    let mut world = World::new();
    for _ in 0..40 {
        let todo = world.todo("it", |_| {});
        world.gate(GateKind::Decision, &todo);
    }
    assert_eq!(list(&mut world).iter().filter(|item| item.row.kind == "gate").count(), 40);
}

/// The one row of a kind, as it is listed.
fn of_kind(world: &mut World, kind: &str) -> AttentionRow {
    let mut rows = list(world).into_iter().filter(|item| item.row.kind == kind);
    let row = rows.next().unwrap_or_else(|| panic!("no row of {kind}"));
    assert!(rows.next().is_none(), "one row of {kind}");
    row
}

#[test]
fn a_goal_that_was_seen_is_not_seen_in_what_its_revision_does_not_say() {
    let mut world = World::empty();
    world.user(Command::Goal(GoalCommand::Start(Box::new(NewGoal::wanting(text("ship it")))))).unwrap();
    let todo = world.todo("it", |_| {});
    assert!(is_new(&mut world, &[(About::Goal(text("g")), None)]));
    let row = of_kind(&mut world, "agent");
    assert_eq!((row.version, row.seen), (None, None), "no agent");
    let add = AgentCommand::Add { agent_id: text("a"), capabilities: [].into() };
    world.user(Command::Agent(add)).unwrap();
    world.todo_cmd(TodoCommand::Cancel { todo_id: todo, reason: text("no"), superseded_by: None }).unwrap();
    let row = of_kind(&mut world, "goal");
    assert!(row.row.command.starts_with("goal close"), "{row:?}");
    assert_eq!((row.version, row.seen), (None, None), "nothing is left to do");
    // Stopped, it stands as it stands.
    world.goal_cmd(GoalCommand::Stop).unwrap();
    let row = of_kind(&mut world, "goal");
    assert_eq!(row.seen, None);
    let shown = row.version.unwrap();
    assert!(is_new(&mut world, &[(About::Goal(text("g")), Some(shown.as_str()))]));
    assert_eq!(of_kind(&mut world, "goal").seen.unwrap().by.to_string(), "user:ana");
}

#[test]
fn an_ownership_that_ran_out_and_a_held_result_are_not_seen_before_they_are_there() {
    let mut world = World::new();
    let [held, todo] = ["held", "it"].map(|title| world.todo(title, |_| {}));
    world.claim("a", &todo).unwrap();
    let owned = world.claim("b", &held).unwrap();
    let turn = About::Turn(owned.turn_id.unwrap());
    world.todo_cmd(TodoCommand::Hold { todo_id: held.clone() }).unwrap();
    world.done("b", &owned).unwrap();
    assert!(is_new(&mut world, &[(turn, None), (About::Todo(todo.clone()), None)]));
    let before = of_kind(&mut world, "turn_held");
    assert_eq!((before.version, before.seen), (None, None));
    world.pass(Duration::from_mins(24 * 60));
    let lapsed = list(&mut world).into_iter().find(|item| item.row.about == todo.to_string()).unwrap();
    assert_eq!((lapsed.row.kind, lapsed.version, lapsed.seen), ("ownership_expired", None, None));
    // What holds the result is another thing now.
    let gate_id = world.gate(GateKind::Decision, &held);
    world.todo_cmd(TodoCommand::Unhold { todo_id: held }).unwrap();
    let after = of_kind(&mut world, "turn_held");
    assert!(after.row.command.contains(&gate_id.to_string()), "{after:?}");
    assert_eq!((after.version, after.seen), (None, None));
}

#[test]
fn an_unresolved_turn_is_seen_anew_when_it_is_so_for_another_reason() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.result_of("a", &owned, result(ResultKind::ValidatedCompletion)).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Inconclusive).unwrap();
    let row = |world: &mut World, in_vain| {
        let slice = Slice { after: None, limit: None };
        let rows = looked(world, Look { in_vain, ..Look::default() }, None, slice).items;
        rows.into_iter().find(|item| item.row.kind == "turn_unresolved").unwrap()
    };
    let shown = "unresolved.inconclusive.gone.1";
    assert_eq!(row(&mut world, true).version.as_ref().map(Label::as_str), Some(shown));
    let turn = About::Turn(owned.turn_id.unwrap());
    assert!(is_new(&mut world, &[(turn.clone(), Some(shown))]));
    assert!(row(&mut world, true).seen.is_some());
    let before = row(&mut world, false);
    assert_eq!((before.version, before.seen), (None, None), "a look is asked for, and not a person");
    assert_eq!(code(&world.user(seen(&[(turn, Some("unresolved.lost.1"))]))), "stale_revision");
}

#[test]
fn a_jump_of_the_clock_is_one_row_of_the_answer() {
    let mut world = World::new();
    world.todo("it", |_| {});
    world.goal = text("g2");
    world.start(|_| {});
    world.todo("elsewhere", |_| {});
    let one = text("g2");
    let jump = Look { jumped: true, ..Look::default() };
    for goal in [None, Some(&one)] {
        let rows = looked(&mut world, jump, goal, Slice { after: None, limit: None }).items;
        let jumps: Vec<_> = rows.iter().filter(|item| item.row.kind == "clock_jump").collect();
        assert_eq!(jumps.len(), 1, "{rows:?}");
        assert_eq!((&rows[0], &rows[0].goal_id, &rows[0].version), (jumps[0], &None, &None));
        // A page follows it.
        let first = looked(&mut world, jump, goal, Slice { after: None, limit: Some(1) });
        let cursor = first.next_cursor.unwrap();
        let second = looked(&mut world, jump, goal, Slice { after: Some(&cursor), limit: Some(1) });
        assert_eq!((first.items[0].clone(), second.items[0].clone()), (rows[0].clone(), rows[1].clone()));
    }
}

#[test]
fn a_change_that_was_proposed_is_seen_as_it_stands() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let cancel =
        Command::Todo(TodoCommand::Cancel { todo_id: todo, reason: text("no"), superseded_by: None });
    let id = world.propose("a", cancel, Expected::default());
    let about = About::Proposal(id);
    let row = of_kind(&mut world, "proposal");
    assert_eq!(
        (row.row.rank, row.version.as_ref().map(Label::as_str), row.seen),
        (Rank::Person, Some("open"), None)
    );
    assert!(is_new(&mut world, &[(about.clone(), Some("open"))]));
    assert!(of_kind(&mut world, "proposal").seen.is_some());
    let until = world.now().plus(Duration::from_mins(60));
    world.user(Command::Proposal(ProposalCommand::Defer { proposal_id: id, until })).unwrap();
    assert_eq!(code(&world.user(seen(&[(about.clone(), Some("open"))]))), "stale_revision");
    world.pass(Duration::from_mins(60));
    let row = of_kind(&mut world, "proposal");
    assert_eq!((row.version.unwrap().as_str(), row.seen), (&*format!("deferred.{}", until.as_ms()), None));
    world.confirm(id).unwrap();
    assert_eq!(code(&world.user(seen(&[(about, None)]))), "invalid_transition");
}
