//! Owns what `next` answers, rule by rule: which rule matched, what it names, and the commands it gives a person.

use super::{
    play::{MACHINE, code, refused},
    world::{World, text, user},
};
use crate::{
    kernel::{Action, Asker, Command, Decided, Outcome, QuotaCommand, TodoCommand, decide_next},
    model::*,
};

fn rule(decided: &Decided) -> (u8, &'static str) {
    (decided.rule, decided.action.name())
}

fn commands(decided: &Decided) -> Vec<&str> {
    match &decided.action {
        Action::AskUser { asks } => asks.iter().map(|ask| ask.command.as_str()).collect(),
        other => panic!("{other:?}"),
    }
}

fn until(decided: &Decided) -> (&'static str, Option<Timestamp>) {
    match &decided.action {
        Action::Wait { why, until, .. } => (why, *until),
        other => panic!("{other:?}"),
    }
}

fn run(decided: &Decided) -> (TodoId, Option<TurnId>) {
    match &decided.action {
        Action::Run { todo_id, turn_id } => (todo_id.clone(), *turn_id),
        other => panic!("{other:?}"),
    }
}

impl World {
    /// What a driver of an agent should run now.
    fn next_driven(&mut self, name: &str) -> Decided {
        let goal = self.goal.clone();
        let driven = |asker: &mut Asker<'_>| asker.executor = Executor::Hosted;
        self.ask(name, None, driven, |facts, asker| decide_next(facts, &goal, asker)).unwrap()
    }
}

fn unvalidated() -> World {
    let mut world = World::empty();
    world.start(|_| {});
    world
}

fn look(world: &mut World, monitor: &TodoId) {
    let owned = world.claim("a", monitor).unwrap();
    world.candidate("a", &owned, ResultKind::LookUnchanged).unwrap();
}

fn monitor(world: &mut World, title: &str) -> TodoId {
    world.todo(title, |new| new.kind = TodoKind::Monitor)
}

#[test]
fn rule_1_a_closed_goal_is_closed_and_a_stranger_is_not_found() {
    let mut world = World::new();
    world.todo("it", |_| {});
    assert_eq!(world.next("c", None).unwrap_err().code().as_str(), "not_found");
    world.close(CloseKind::Abandoned, Some("no")).unwrap();
    let decided = world.next("a", None).unwrap();
    assert_eq!(rule(&decided), (1, "closed"));
    assert!(!decided.obligation.must_attempt_work);
}

#[test]
fn rule_2_an_attached_turn_is_run_by_who_presents_its_token() {
    let mut world = unvalidated();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let same = (todo.clone(), owned.turn_id);
    let decided = world.next("a", owned.own_id).unwrap();
    assert_eq!((rule(&decided), run(&decided)), ((2, "run"), same.clone()));
    assert!(decided.obligation.must_attempt_work);
    for (name, token) in [("a", None), ("a", Some(OwnId::from_bytes([9; 16]))), ("a@a.other", owned.own_id)] {
        let decided = world.next(name, token).unwrap();
        assert_eq!(
            (rule(&decided), until(&decided)),
            ((2, "wait"), ("turn_elsewhere", owned.expires_at_ms)),
            "{name}"
        );
    }
    world.pass(Duration::from_mins(46));
    assert_eq!(run(&world.next("a", owned.own_id).unwrap()), same, "run out, and nobody came");
    let over = world.next("a", None).unwrap();
    assert_eq!(
        (rule(&over), run(&over)),
        ((7, "run"), (todo.clone(), None)),
        "decided over as if it had ended"
    );
    // What is held is at work no more, whoever presents its token.
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    let gate_id = world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap().gate_id.unwrap();
    let decided = world.next("a", owned.own_id).unwrap();
    assert_eq!(rule(&decided), (9, "ask_user"));
    assert_eq!(commands(&decided), [format!("gate resolve {gate_id} --approve")]);
}

#[test]
fn rule_3_what_was_looked_into_in_vain_is_a_persons() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    world.lose("a", &owned, true).unwrap();
    let turn_id = owned.turn_id.unwrap();
    let (goal, machine) = (world.goal.clone(), text(MACHINE));
    let mut decide = |tried: &[TurnId]| {
        let tried = tried.iter().copied().collect();
        let at = |asker: &mut Asker<'_>| asker.tried = tried;
        world
            .ask("a", None, at, |facts, asker| {
                decide_next(facts, &goal, &Asker { machine_id: Some(&machine), ..asker.clone() })
            })
            .unwrap()
    };
    assert_eq!(rule(&decide(&[])), (3, "reconcile"));
    let over = decide(&[turn_id]);
    assert_eq!(rule(&over), (9, "ask_user"));
    assert_eq!(commands(&over), [format!("turn abandon {turn_id} --reason TEXT")]);
}

#[test]
fn rule_5_a_gate_on_the_goal_is_asked_about_and_no_other() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    world.gate(GateKind::Decision, &todo);
    let whole = world.gate_as(user(), GateKind::Approval, Blocks::Goal).unwrap();
    let decided = world.next("a", None).unwrap();
    assert_eq!(rule(&decided), (5, "ask_user"));
    assert_eq!(commands(&decided), [format!("gate resolve {whole} --approve")]);
    world.resolve(whole, Answer::Deny { reason: None }).unwrap();
    assert_eq!(commands(&world.next("a", None).unwrap()), [format!("gate withdraw {whole}")]);
    let settled = world.gate_as(user(), GateKind::Approval, Blocks::Goal).unwrap();
    world.resolve(settled, Answer::Approve).unwrap();
    assert_eq!(
        commands(&world.next("a", None).unwrap()),
        [format!("gate withdraw {whole}")],
        "what blocks alone"
    );
}

#[test]
fn rule_6_only_the_turns_on_the_full_meter_are_to_be_freed() {
    let mut world = unvalidated();
    world.limit(Some("a"), Some(1)).unwrap();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    world.todo("third", |_| {});
    let mine = world.ask_acceptance("a", &first);
    world.ask_acceptance("b", &second);
    let decided = world.next("a", None).unwrap();
    assert_eq!(rule(&decided), (6, "ask_user"));
    assert_eq!(commands(&decided), [format!("gate resolve {} --approve", mine.gate_id.unwrap())]);
    assert_eq!(rule(&world.next("b", None).unwrap()), (7, "run"), "another agent has its own meter");
    // A limit of the Goal is held by both.
    world.limit(Some("a"), None).unwrap();
    world.limit(None, Some(2)).unwrap();
    assert_eq!(commands(&world.next("a", None).unwrap()).len(), 2);
}

#[test]
fn rule_6_what_would_be_fenced_gives_no_slot_back() {
    for (hosted, expected) in [(false, (7, "run")), (true, (6, "wait"))] {
        let mut world = World::new();
        world.limit(None, Some(1)).unwrap();
        let todo = world.todo("it", |_| {});
        if hosted {
            world.running("a", &todo);
        } else {
            world.claim("a", &todo).unwrap();
        }
        world.pass(Duration::from_mins(61));
        assert_eq!(rule(&world.next("b", None).unwrap()), expected, "hosted: {hosted}");
    }
}

#[test]
fn rule_6_who_asks_for_a_driver_is_told_of_the_room_of_all_its_attempts() {
    let mut world = World::new();
    let limit = |tokens| {
        let limit = Limit { turns: None, ..Limit::of_turns(0, Duration::from_mins(24 * 60)) };
        Command::Quota(QuotaCommand::Set {
            agent_id: None,
            limit: Some(Limit { tokens: Some(tokens), ..limit }),
        })
    };
    let cap = |tokens| {
        let ceiling = Caps { tokens: Some(tokens), ..Caps::default() };
        Command::Quota(QuotaCommand::Cap { agent_id: None, todo_id: None, ceiling })
    };
    world.user(limit(400)).unwrap();
    world.user(cap(100)).unwrap();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    assert_eq!(rule(&world.next_driven("b")), (7, "run"));
    let owned = world.claim("a", &first).unwrap();
    assert_eq!(rule(&world.next_driven("b")), (7, "run"), "three attempts are left");
    world.user(limit(399)).unwrap();
    let decided = world.next_driven("b");
    assert_eq!((rule(&decided), until(&decided).0), ((6, "wait"), "quota"));
    assert_eq!(refused(world.hosted("b", &second)), "quota_exhausted");
    assert_eq!(rule(&world.next("b", None).unwrap()), (7, "run"), "one attempt is");
    // What no driver can ever be admitted to asks a person, and what it asks for frees it.
    world.user(limit(200)).unwrap();
    world.done("a", &owned).unwrap();
    let decided = world.next_driven("b");
    assert_eq!(
        (rule(&decided), commands(&decided)),
        ((6, "ask_user"), vec!["quota set --goal g --ceiling-tokens 66"])
    );
    world.user(limit(300)).unwrap();
    world.user(cap(66)).unwrap();
    assert_eq!(rule(&world.next_driven("b")), (7, "run"));
    world.hosted("b", &second).unwrap();
    // Two can never be shared out among three.
    world.user(limit(2)).unwrap();
    world.user(cap(1)).unwrap();
    let decided = world.next_driven("a");
    assert_eq!((rule(&decided), commands(&decided)), ((6, "ask_user"), vec!["quota show --goal g"]));
}

#[test]
fn rule_7_after_a_look_other_work_comes_first() {
    let mut world = World::new();
    let (first, second) = (monitor(&mut world, "first"), monitor(&mut world, "second"));
    let work = world.todo("work", |new| new.priority = Priority::P4);
    assert_eq!(run(&world.next("a", None).unwrap()).0, first);
    look(&mut world, &first);
    assert_eq!(run(&world.next("a", None).unwrap()).0, work, "one monitor between two other Turns");
    assert_eq!(run(&world.next("b", None).unwrap()).0, second, "another agent has not looked");
    let owned = world.claim("a", &work).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(run(&world.next("a", None).unwrap()).0, second);
    // Of two that are due, the one looked at longest ago.
    look(&mut world, &second);
    let owned = world.claim("a", &work).unwrap();
    world.done("a", &owned).unwrap();
    world.pass(Duration::from_mins(61));
    assert_eq!(run(&world.next("a", None).unwrap()).0, first);
}

#[test]
fn rule_9_names_each_and_the_command_that_frees_it_up_to_a_bound() {
    let mut world = World::new();
    let by_hand = |new: &mut crate::kernel::NewTodo| new.kind = TodoKind::Action;
    let now = world.todo("now", by_hand);
    let soon = world.now().plus(Duration::from_mins(1));
    let later = world.todo("later", |new| {
        new.kind = TodoKind::Action;
        new.wake = Some(Wake::After(soon));
    });
    let decided = world.next("a", None).unwrap();
    assert_eq!((rule(&decided), decided.also.get("user")), ((9, "ask_user"), Some(&2)));
    assert_eq!(commands(&decided), [format!("todo done {now}"), format!("todo unblock {later}")]);
    world.pass(Duration::from_mins(2));
    assert_eq!(
        commands(&world.next("a", None).unwrap()),
        [format!("todo done {now}"), format!("todo done {later}")]
    );
    for n in 0..40 {
        world.todo(&format!("more {n}"), by_hand);
    }
    let decided = world.next("a", None).unwrap();
    assert_eq!((commands(&decided).len(), decided.also.get("user")), (32, Some(&42)));
}

#[test]
fn rule_9_what_holds_a_result_is_named_cause_by_cause() {
    let held = |cause: &str| {
        let mut world = World::new();
        let (todo, dep) = (world.todo("it", |_| {}), world.todo("dep", |new| new.kind = TodoKind::Action));
        let owned: Outcome = world.claim("a", &todo).unwrap();
        let (todo_id, id) = (todo.clone(), owned.turn_id.unwrap());
        let first = match cause {
            "deps" => TodoCommand::Link { todo_id, depends_on: dep.clone() },
            _ => TodoCommand::Hold { todo_id },
        };
        world.todo_cmd(first).unwrap();
        world.done("a", &owned).unwrap();
        assert_eq!(world.turn_state(&owned), "held", "{cause}");
        if cause == "nothing" {
            world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
        }
        if cause == "deps" {
            let cancel = TodoCommand::Cancel { todo_id: dep, reason: text("no"), superseded_by: None };
            world.todo_cmd(cancel).unwrap();
        }
        let decided = world.next("a", None).unwrap();
        assert_eq!(rule(&decided), (9, "ask_user"), "{cause}");
        (commands(&decided).into_iter().map(str::to_owned).collect::<Vec<_>>(), todo, id)
    };
    let (asked, todo, _) = held("hold");
    assert_eq!(asked[0], format!("todo unhold {todo}"));
    let (asked, todo, _) = held("deps");
    assert!(asked.contains(&format!("todo unlink {todo} --depends-on g.2")), "{asked:?}");
    let (asked, _, id) = held("nothing");
    assert_eq!(asked[0], format!("turn recover {id} --prove"));
}

#[test]
fn rule_9_an_author_is_not_asked_about_the_review_of_its_own_result() {
    let mut world = unvalidated();
    let todo = world.todo("it", |_| {});
    world.todo("review", |new| new.reviews = Some(text("g.1")));
    let owned = world.ask_acceptance("a", &todo);
    let asked = format!("gate resolve {} --approve", owned.gate_id.unwrap());
    assert_eq!(commands(&world.next("a", None).unwrap()), [asked]);
}

#[test]
fn rule_10_only_monitors_are_left() {
    let mut world = unvalidated();
    let watch = monitor(&mut world, "watch");
    look(&mut world, &watch);
    let decided = world.next("a", None).unwrap();
    assert_eq!((rule(&decided), commands(&decided)), ((10, "ask_user"), vec!["goal close g --achieved"]));
    // What a close would meet is asked about instead.
    let gate_id = world.gate(GateKind::Approval, &watch);
    world.gate(GateKind::Decision, &watch);
    let open = world.next("a", None).unwrap();
    assert_eq!((rule(&open), commands(&open).len()), ((10, "ask_user"), 2));
    assert!(commands(&open).contains(&format!("gate resolve {gate_id} --approve").as_str()));
    world.resolve(gate_id, Answer::Approve).unwrap();
    assert_eq!(commands(&world.next("a", None).unwrap()).len(), 1, "what was answered blocks no more");
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "gate_blocked");
}

#[test]
fn rule_11_what_comes_with_time_is_waited_for_to_the_earliest_moment() {
    let mut world = World::new();
    let watch = monitor(&mut world, "watch");
    look(&mut world, &watch);
    let soon = world.now().plus(Duration::from_mins(10));
    world.todo("later", |new| new.wake = Some(Wake::After(soon)));
    world.todo("much later", |new| {
        new.wake = Some(Wake::After(soon.plus(Duration::from_mins(1))));
    });
    let decided = world.next("a", None).unwrap();
    assert_eq!((rule(&decided), until(&decided)), ((11, "wait"), ("time", Some(soon))));
    assert_eq!(decided.also.get("time"), Some(&3));
    world.pass(Duration::from_mins(10));
    assert_eq!(rule(&world.next("a", None).unwrap()), (7, "run"));
}

#[test]
fn regress_what_a_todo_depends_on_beside_the_page_asks_for_nothing_itself() {
    let mut world = World::new();
    let finish = |world: &mut World, todo_id: TodoId, command: &dyn Fn(TodoId) -> TodoCommand| {
        world.todo_cmd(command(todo_id)).unwrap();
    };
    let it = world.todo("it", |_| {});
    let reviewed = world.todo("reviewed", |_| {});
    let dropped = world.todo("dropped", |_| {});
    // A review that no short page reaches, of what no page holds.
    for n in 0..20 {
        world.todo(&format!("before {n}"), |_| {});
    }
    let review = world.todo("review", |new| {
        new.reviews = Some(text("g.2"));
        new.priority = Priority::P4;
    });
    finish(&mut world, reviewed, &|todo_id| TodoCommand::Complete {
        todo_id,
        continuation: Continuation::ActiveGoal,
        waive: Some(text("seen")),
    });
    world.claim("a", &it).unwrap();
    for depends_on in [review, dropped.clone()] {
        world.todo_cmd(TodoCommand::Link { todo_id: it.clone(), depends_on }).unwrap();
    }
    finish(&mut world, dropped, &|todo_id| TodoCommand::Cancel {
        todo_id,
        reason: text("no"),
        superseded_by: None,
    });
    assert_eq!(rule(&world.next("b", None).unwrap()), (7, "run"));
}
