//! Owns the gap in the criteria of a Goal: when it obliges to a replan, the ways out of that, and what a Goal awaits.

use super::{
    attention::status,
    hints,
    play::{code, result},
    world::{World, text, user, validator},
};
use crate::{
    error::Code,
    kernel::{
        Action, ClaimCommand, Command, Covered, EvidenceCommand, GateCommand, GoalChange, GoalCommand,
        NewTodo, Outcome, ProposalCommand, Reason, TodoCommand, UserWhy, claim::Claim,
    },
    model::*,
    projection::Rank,
};

/// A Goal with a criterion, a Todo `g.1` that is done, and a monitor `g.2` that was looked at.
fn gap() -> (World, TodoId) {
    let mut world = World::empty();
    world.start(|goal| {
        goal.validators = vec![validator()];
        goal.acceptance =
            vec![Criterion { text: text("it works"), check: None, state: CriterionState::Open }];
    });
    let todo = world.todo("it", |_| {});
    let monitor = world.todo("watch", |new| (new.kind, new.unchanged_limit) = (TodoKind::Monitor, Some(2)));
    let owned = world.claim("a", &todo).unwrap();
    world.done("a", &owned).unwrap();
    look(&mut world, &monitor, ResultKind::LookUnchanged);
    (world, monitor)
}

fn look(world: &mut World, monitor: &TodoId, kind: ResultKind) {
    let owned = world.claim("b", monitor).unwrap();
    world.candidate("b", &owned, kind).unwrap();
}

fn named(number: u32) -> ReplanRef {
    ReplanRef::of_goal(&TodoId::new(text("g"), number))
}

/// The replan that somebody is told of, if it is one of the whole Goal.
fn told(world: &mut World) -> Option<ReplanRef> {
    let decided = world.next("a", None).unwrap();
    decided.action.replan().filter(|of| of.covered().is_none()).cloned()
}

fn claimed(world: &mut World, name: &str, of: &ReplanRef) -> (Outcome, TodoId) {
    let owned: Outcome = world.claim_as(name, Claim::replanning(of.clone())).unwrap().outcome().unwrap();
    let replan = owned.todo_ids[0].clone();
    (owned, replan)
}

fn completed(world: &mut World, name: &str, owned: &Outcome, continuation: Continuation) -> &'static str {
    let said = Candidate { continuation, ..result(ResultKind::ValidatedCompletion) };
    world.result_of(name, owned, said).unwrap();
    world.turn_state(owned)
}

fn awaiting(monitor: &TodoId) -> Continuation {
    Continuation::Awaits { monitor: monitor.clone() }
}

fn add(world: &mut World, name: &str, title: &str) -> crate::error::Result<Receipt> {
    let new = NewTodo::titled(text(title), TodoKind::Advance);
    world.agent_todo(name, TodoCommand::Add(Box::new(new)))
}

fn cancel(world: &mut World, todo_id: &TodoId) {
    let (todo_id, reason) = (todo_id.clone(), text("no"));
    world.todo_cmd(TodoCommand::Cancel { todo_id, reason, superseded_by: None }).unwrap();
}

fn let_go() -> Command {
    let waive = vec![(1, text("it is not wanted"))];
    Command::Goal(GoalCommand::Update(Box::new(GoalChange { waive, ..GoalChange::default() })))
}

fn shown() -> Command {
    Command::Evidence(EvidenceCommand::Add {
        todo_id: None,
        criterion: Some(1),
        kind: EvidenceKind::Note,
        pointer: text("notes.md"),
        digest: None,
        privacy: Privacy::Public,
        verdict: None,
    })
}

fn goal(world: &World) -> Goal {
    world.ledger.rows().goals[&world.goal].clone()
}

#[test]
fn where_nothing_is_left_and_a_criterion_is_not_shown_an_agent_is_told_to_change_the_plan() {
    let (mut world, _) = gap();
    let decided = world.next("a", None).unwrap();
    let wanted = Action::Replan { todo_id: text("g.3"), replan: Some(named(3)) };
    assert_eq!((decided.action, decided.rule), (wanted, 7));
    assert_eq!(decided.also.get("replan"), Some(&1));
    assert_eq!(named(3).to_string(), "replan:acceptance_gap:g/3");
    let rows = status(&mut world, None).attention;
    assert_eq!((rows[0].rank, rows[0].kind, rows[0].about.as_str()), (Rank::Replan, "replan", "g"));
    assert_eq!(rows[0].command, "todo claim replan:acceptance_gap:g/3 --as agent:a");
    hints::check(&rows[0].command);
    // Whatever else has to be done, or waits, is first; a monitor alone is not.
    for kind in [TodoKind::Advance, TodoKind::Action, TodoKind::Blocker] {
        for how in ["open", "blocked", "put off"] {
            let todo = world.todo("more", |new| {
                new.kind = kind;
                match how {
                    "blocked" => new.blocked = Some(text("no key")),
                    "put off" => new.wake = Some(Wake::After(Timestamp::from_ms(1_900_000_000_000))),
                    _ => {}
                }
            });
            assert_eq!(told(&mut world), None, "{kind:?} {how}");
            cancel(&mut world, &todo);
            assert_eq!(told(&mut world), Some(named(todo.number() + 1)), "{kind:?} {how}");
        }
    }
    let watch = world.todo("watch this too", |new| new.kind = TodoKind::Monitor);
    look(&mut world, &watch, ResultKind::LookUnchanged);
    assert_eq!(told(&mut world), Some(named(watch.number() + 1)));
}

#[test]
fn a_goal_without_a_criterion_or_with_all_of_them_shown_is_a_persons_to_close() {
    let ready = |world: &mut World| {
        let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
        asks[0].why
    };
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    cancel(&mut world, &todo);
    assert_eq!(ready(&mut world), "ready_to_close");
    for word in [let_go(), shown()] {
        let (mut world, _) = gap();
        world.user(word).unwrap();
        assert_eq!(ready(&mut world), "ready_to_close");
    }
}

#[test]
fn it_is_claimed_once_by_its_name_and_not_by_another() {
    let (mut world, _) = gap();
    for other in [named(2), named(4)] {
        let refused = world.claim_as("a", Claim::replanning(other)).unwrap_err();
        assert_eq!(refused.code(), Code::NotClaimable);
        assert_eq!(refused.hint_args(), Some("status --goal g"));
        hints::check(refused.hint_args().unwrap());
    }
    let claim = Claim { todo_id: text("g.1"), ..Claim::replanning(named(3)) };
    assert_eq!(code(&world.claim_as("a", claim)), "invalid_argument");
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    assert_eq!((replan.number(), goal(&world).covered_by), (3, Some(replan.clone())));
    let row = world.row(&replan);
    assert_eq!((row.kind, row.covering.unwrap().of), (TodoKind::Replan, named(3)));
    assert_eq!(code(&world.claim_as("b", Claim::replanning(named(3)))), "already_claimed");
    // Left as it is, it is a Todo by now.
    world.stop(owned.turn_id.unwrap()).unwrap();
    let refused = world.claim_as("b", Claim::replanning(named(3))).unwrap_err();
    assert_eq!((refused.code(), refused.hint_args()), (Code::NotClaimable, Some("todo show g.3")));
    assert_eq!(world.next("b", None).unwrap().action, Action::Replan { todo_id: replan, replan: None });
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "invalid_transition");
}

#[test]
fn next_with_a_claim_takes_it_in_the_commit_that_decides() {
    let (mut world, _) = gap();
    let taken: Outcome = world.take("a", None).unwrap().outcome().unwrap();
    assert_eq!(taken.todo_ids, [text("g.3")]);
    assert_eq!(world.reason("a", &text("g.3")).name(), "mine");
}

#[test]
fn more_work_closes_it_and_when_that_is_done_it_opens_again_by_another_name() {
    let (mut world, _) = gap();
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    add(&mut world, "a", "more").unwrap();
    assert!(world.row(&replan).is_live(), "somebody works on it");
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "settled");
    assert!(world.row(&replan).is_done() && goal(&world).covered_by.is_none());
    assert_eq!(code(&world.claim_as("a", Claim::replanning(named(3)))), "not_claimable");
    let more = world.claim("a", &text("g.4")).unwrap();
    world.done("a", &more).unwrap();
    assert_eq!(told(&mut world), Some(named(5)));
}

#[test]
fn a_replan_of_the_goal_that_changed_nothing_fails_and_after_two_it_is_a_persons() {
    let (mut world, monitor) = gap();
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "failed");
    let owned = world.claim("a", &replan).unwrap();
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "failed");
    assert_eq!(world.reason("a", &replan), Reason::User(UserWhy::ReplanFailed));
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].command, "todo done g.3");
    hints::check(&asks[0].command);
    // He may say what is awaited; else the gap is as it was.
    let complete = TodoCommand::Complete { todo_id: replan, continuation: awaiting(&monitor), waive: None };
    world.todo_cmd(complete).unwrap();
    assert_eq!(goal(&world).awaited(), Some(&monitor));
    assert_eq!(told(&mut world), None);
}

#[test]
fn a_person_who_shows_the_criterion_ends_it_where_nobody_works_on_it() {
    for word in [let_go(), shown()] {
        let (mut world, _) = gap();
        let (owned, replan) = claimed(&mut world, "a", &named(3));
        world.stop(owned.turn_id.unwrap()).unwrap();
        world.user(word.clone()).unwrap();
        assert!(matches!(world.row(&replan).state, TodoState::Cancelled { .. }));
        world.close(CloseKind::Achieved, None).unwrap();
        // Under its owner's hands it lasts, and his `done` counts.
        let (mut world, _) = gap();
        let (owned, replan) = claimed(&mut world, "a", &named(3));
        world.user(word).unwrap();
        assert!(world.row(&replan).is_live());
        assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "settled");
        world.close(CloseKind::Achieved, None).unwrap();
    }
    // So it is with work that a person takes back.
    let (mut world, _) = gap();
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    world.todo_cmd(TodoCommand::Reopen { todo_id: text("g.1") }).unwrap();
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "settled");
    let again = world.claim("a", &text("g.1")).unwrap();
    world.done("a", &again).unwrap();
    let (owned, other) = claimed(&mut world, "a", &named(replan.number() + 1));
    world.todo_cmd(TodoCommand::Reopen { todo_id: text("g.1") }).unwrap();
    assert!(world.row(&other).is_live());
    world.agent("a", Command::Claim(release(&owned))).unwrap();
    assert!(matches!(world.row(&other).state, TodoState::Cancelled { .. }), "let go, it has nothing to do");
}

fn release(owned: &Outcome) -> ClaimCommand {
    ClaimCommand::Release { todo_id: owned.todo_ids[0].clone(), own_id: owned.own_id }
}

#[test]
fn a_criterion_that_is_let_go_as_the_goal_is_closed_takes_its_replan_along() {
    let (mut world, _) = gap();
    let refused = world.close(CloseKind::Achieved, None).unwrap_err();
    assert_eq!(refused.code(), Code::NotReady);
    assert_eq!(refused.hint_args(), Some("evidence add POINTER --kind note --criterion 1 --goal g"));
    let close = || GoalCommand::Close {
        kind: CloseKind::Achieved,
        reason: None,
        waive: vec![(1, text("by hand"))],
        waive_effects: vec![],
    };
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    assert_eq!(code(&world.goal_cmd(close())), "turn_running");
    world.stop(owned.turn_id.unwrap()).unwrap();
    world.goal_cmd(close()).unwrap();
    assert!(matches!(world.row(&replan).state, TodoState::Cancelled { .. }));
    // What the refusal names closes the gap as well.
    let (mut world, _) = gap();
    world.user(shown()).unwrap();
    world.close(CloseKind::Achieved, None).unwrap();
}

#[test]
fn a_monitor_that_is_awaited_settles_it_and_the_goal_waits_for_that() {
    let (mut world, monitor) = gap();
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    assert_eq!(completed(&mut world, "a", &owned, awaiting(&monitor)), "settled");
    assert!(world.row(&replan).is_done());
    assert_eq!(goal(&world).awaited(), Some(&monitor));
    let due = world.row(&monitor).monitor.unwrap().due_at();
    let decided = world.next("a", None).unwrap();
    assert_eq!((decided.action, decided.rule), (Action::Wait { why: "time", until: due, turn_id: None }, 11));
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "not_ready", "it is not reached by that");
    // A look without change leaves it, and it is looked at like any monitor.
    let (mut world, monitor) = gap();
    let (owned, _) = claimed(&mut world, "a", &named(3));
    completed(&mut world, "a", &owned, awaiting(&monitor));
    world.user(let_go()).unwrap();
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].why, "ready_to_close", "what is shown is awaited no more");
}

/// A Goal that awaits its monitor, which is due.
fn awaited() -> (World, TodoId) {
    let (mut world, monitor) = gap();
    let (owned, _) = claimed(&mut world, "a", &named(3));
    completed(&mut world, "a", &owned, awaiting(&monitor));
    world.pass(Duration::from_mins(61));
    assert_eq!(
        world.next("a", None).unwrap().action,
        Action::Run { todo_id: monitor.clone(), turn_id: None }
    );
    (world, monitor)
}

#[test]
fn what_is_awaited_ends_with_a_changed_look_its_limit_its_end_or_other_terms() {
    let (mut world, monitor) = awaited();
    look(&mut world, &monitor, ResultKind::LookChanged);
    assert_eq!((told(&mut world), goal(&world).awaits), (Some(named(4)), None));
    // The second look without change is the last one.
    let (mut world, monitor) = awaited();
    look(&mut world, &monitor, ResultKind::LookUnchanged);
    assert_eq!(goal(&world).awaits, None);
    let of = ReplanRef::of_todo(ReplanCause::UnchangedLimit, monitor.clone(), 1);
    world.pass(Duration::from_mins(61));
    assert_eq!(world.reason("a", &monitor), Reason::Replan(Covered::Derived(of)));
    let done = |world: &mut World, monitor: &TodoId| {
        let (todo_id, waive) = (monitor.clone(), Some(text("seen")));
        let continuation = Continuation::ActiveGoal;
        world.todo_cmd(TodoCommand::Complete { todo_id, continuation, waive }).unwrap();
    };
    for is_done in [true, false] {
        let (mut world, monitor) = awaited();
        if is_done {
            done(&mut world, &monitor);
        } else {
            cancel(&mut world, &monitor);
        }
        assert_eq!((told(&mut world), goal(&world).awaits), (Some(named(4)), None));
    }
    let (mut world, monitor) = awaited();
    let change = GoalChange { objective: Some(text("ship it twice")), ..GoalChange::default() };
    world.goal_cmd(GoalCommand::Update(Box::new(change))).unwrap();
    assert_eq!(goal(&world).awaited(), None);
    look(&mut world, &monitor, ResultKind::LookUnchanged);
    assert_eq!(told(&mut world), Some(named(4)));
}

#[test]
fn only_a_replan_of_the_goal_awaits_and_only_a_monitor_that_is_looked_at() {
    let (mut world, monitor) = gap();
    let (todo, over) = (world.todo("other", |_| {}), world.todo("over", |new| new.kind = TodoKind::Monitor));
    cancel(&mut world, &over);
    let owned = world.claim("a", &todo).unwrap();
    let said = |monitor: &TodoId| Candidate {
        continuation: awaiting(monitor),
        ..result(ResultKind::ValidatedCompletion)
    };
    let refused = world.result_of("a", &owned, said(&monitor)).unwrap_err();
    assert_eq!((refused.code(), refused.hint_args()), (Code::InvalidArgument, Some("todo show g.3")));
    cancel(&mut world, &todo);
    let (owned, _) = claimed(&mut world, "a", &named(5));
    for other in [&todo, &over] {
        let refused = world.result_of("a", &owned, said(other)).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(refused.hint_args(), Some("todo list --kind monitor --goal g"));
        hints::check(refused.hint_args().unwrap());
    }
    assert_eq!(world.turn_state(&owned), "dispatched", "a refusal ends nothing");
}

#[test]
fn what_its_owner_proposed_settles_it_once_a_person_confirms_that() {
    let (mut world, _) = gap();
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    let id = world.propose("a", let_go(), Expected::default());
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "held");
    world.confirm(id).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert_eq!((world.turn_state(&owned), world.row(&replan).is_done()), ("settled", true));
    // What is awaited beside it is so only while that can be.
    let (mut world, monitor) = gap();
    let (owned, _) = claimed(&mut world, "a", &named(3));
    let retitle = TodoCommand::Update {
        todo_id: monitor.clone(),
        change: Box::new(crate::kernel::Change { title: Some(text("look")), ..Default::default() }),
    };
    let id = world.propose("a", Command::Todo(retitle), Expected::default());
    assert_eq!(completed(&mut world, "a", &owned, awaiting(&monitor)), "held");
    cancel(&mut world, &monitor);
    world.confirm(id).unwrap_err();
    world.user(Command::Proposal(ProposalCommand::Reject { proposal_id: id, reason: None })).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert_eq!((world.turn_state(&owned), goal(&world).awaits), ("stopped", None));
}

#[test]
fn a_held_replan_whose_cause_is_gone_stops_and_takes_back_what_it_proposed() {
    let state = |world: &World, id| world.proposal(id).state.as_str();
    let (mut world, _) = gap();
    let (owned, replan) = claimed(&mut world, "a", &named(3));
    let id = world.propose("a", let_go(), Expected::default());
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "held");
    let before = world.envelopes().len();
    world.user(shown()).unwrap();
    assert_eq!((world.turn_state(&owned), state(&world, id)), ("stopped", "withdrawn"));
    assert!(matches!(world.row(&replan).state, TodoState::Cancelled { .. }));
    let kinds = world.kinds_after(before);
    assert_eq!(&kinds[2..], ["proposal.withdrawn", "turn.ended", "todo.cancelled"], "{kinds:?}");
    assert_eq!(world.ledger.rows().agents[&(world.goal.clone(), text("a"))].proposals, 0);
    // A replan of one Todo does the same, whoever takes its cause away.
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let gate_id = world.gate(GateKind::Approval, &todo);
    world.resolve(gate_id, Answer::Deny { reason: None }).unwrap();
    let of = ReplanRef::of_todo(ReplanCause::GateDenied, todo.clone(), 1);
    let (owned, replan) = claimed(&mut world, "a", &of);
    let id = world.propose("a", let_go(), Expected::default());
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "held");
    world.user(Command::Gate(GateCommand::Withdraw { gate_id })).unwrap();
    cancel(&mut world, &todo);
    assert_eq!((world.turn_state(&owned), state(&world, id)), ("stopped", "withdrawn"));
    assert!(!world.row(&replan).is_live());
}

#[test]
fn under_a_stopped_goal_a_plan_is_changed_by_its_owner_of_a_replan_alone() {
    let (mut world, _) = gap();
    let (owned, _) = claimed(&mut world, "a", &named(3));
    world.goal_cmd(GoalCommand::Stop).unwrap();
    assert_eq!(code(&add(&mut world, "b", "more")), "goal_stopped");
    add(&mut world, "a", "more").unwrap();
    world.propose("a", shown(), Expected::default());
    // What it made, and does not cover, waits.
    let drop_it = |todo_id: &TodoId| TodoCommand::Cancel {
        todo_id: todo_id.clone(),
        reason: text("no"),
        superseded_by: None,
    };
    assert_eq!(code(&world.agent_todo("a", drop_it(&text("g.4")))), "goal_stopped");
    assert_eq!(code(&world.claim_as("b", Claim::attached(text("g.4")))), "goal_stopped");
    world.pass(Duration::from_mins(60));
    assert_eq!(code(&add(&mut world, "a", "too late")), "goal_stopped");
    let renew = ClaimCommand::Renew { todo_id: text("g.3"), own_id: owned.own_id };
    world.agent("a", Command::Claim(renew)).unwrap();
    add(&mut world, "a", "in time").unwrap();
    // A replan of one Todo changes that.
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    world.evidence(user(), Some(&todo), Some(EvidenceVerdict::Rejected));
    let of = ReplanRef::of_todo(ReplanCause::EvidenceRejected, todo.clone(), 1);
    let (owned, replan) = claimed(&mut world, "a", &of);
    world.goal_cmd(GoalCommand::Stop).unwrap();
    let link = TodoCommand::Link { todo_id: todo.clone(), depends_on: other };
    world.agent_todo("a", link).unwrap();
    world.agent_todo("a", drop_it(&todo)).unwrap();
    assert_eq!(completed(&mut world, "a", &owned, Continuation::ActiveGoal), "settled");
    assert!(world.row(&replan).is_done());
    assert_eq!(code(&add(&mut world, "a", "more")), "goal_stopped", "it owns none any more");
}

#[test]
fn a_look_is_not_starved_by_it_nor_does_it_starve_a_look() {
    let (mut world, monitor) = gap();
    world.pass(Duration::from_mins(61));
    // `a` worked last, `b` looked last.
    assert_eq!(world.next("a", None).unwrap().action, Action::Run { todo_id: monitor, turn_id: None });
    let decided = world.next("b", None).unwrap();
    assert_eq!(decided.action.replan(), Some(&named(3)));
}

#[test]
fn it_is_offered_only_where_there_is_room_and_a_tree() {
    let (mut world, _) = gap();
    world.limit(Some("a"), Some(1)).unwrap();
    let decided = world.next("a", None).unwrap();
    assert_eq!((decided.action.name(), decided.rule), ("wait", 6));
    assert_eq!(world.next("b", None).unwrap().action.replan(), Some(&named(3)));
    // A Goal that has its tree to itself is planned in it.
    let (mut world, _) = gap();
    let boundary = BoundaryChange { exclusive_workspace: Some(true), ..BoundaryChange::default() };
    let change = GoalChange { boundary: Some(boundary), ..GoalChange::default() };
    world.goal_cmd(GoalCommand::Update(Box::new(change))).unwrap();
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    let commands: Vec<_> = asks.iter().map(|ask| ask.command.as_str()).collect();
    let by_name = "todo claim replan:acceptance_gap:g/3 --as agent:a --workspace .";
    assert!(commands.contains(&by_name), "{commands:?}");
    hints::check(by_name);
    let claim = Claim { workspace: Some(text("0123456789abcdef")), ..Claim::replanning(named(3)) };
    world.claim_as("a", claim).unwrap();
}
