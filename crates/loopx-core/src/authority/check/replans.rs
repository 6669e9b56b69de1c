//! Owns the obligation to change a plan: what causes one, who may claim it, what ends it, and that it comes once.

use super::{
    attention::status,
    play::{code, refused, result},
    world::{World, agent, text, user, validator},
};
use crate::{
    error::Code,
    kernel::{
        Action, ClaimCommand, Command, Covered, GateCommand, NewTodo, Outcome, ProposalCommand, Reason,
        TodoCommand, UserWhy, claim::Claim,
    },
    model::*,
    projection::Rank,
};

/// A world in which the plan of `g.1` has to change for a cause, and the name of the obligation.
fn obliged(cause: ReplanCause) -> (World, TodoId, ReplanRef) {
    let mut world = World::new();
    let todo = world.todo("it", |new| {
        if cause == ReplanCause::UnchangedLimit {
            (new.kind, new.unchanged_limit) = (TodoKind::Monitor, Some(2));
        }
    });
    match cause {
        ReplanCause::Fruitless => {
            for _ in 0..2 {
                let owned = world.claim("a", &todo).unwrap();
                world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
                world.verdict("a", &owned, VerdictOutcome::Failed).unwrap();
            }
        }
        ReplanCause::ReplanRequired => {
            let owned = world.claim("a", &todo).unwrap();
            world.candidate("a", &owned, ResultKind::ReplanRequired).unwrap();
            world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
        }
        ReplanCause::EvidenceRejected => {
            world.evidence(user(), Some(&todo), Some(EvidenceVerdict::Rejected));
        }
        ReplanCause::GateDenied => {
            let gate = world.gate(GateKind::Approval, &todo);
            world.resolve(gate, Answer::Deny { reason: None }).unwrap();
        }
        ReplanCause::UnchangedLimit => {
            for _ in 0..2 {
                let owned = world.claim("a", &todo).unwrap();
                world.candidate("a", &owned, ResultKind::LookUnchanged).unwrap();
                world.pass(Duration::from_mins(61));
            }
        }
        ReplanCause::DependencyCancelled => {
            let dep = world.todo("dep", |_| {});
            let (todo_id, depends_on) = (todo.clone(), dep.clone());
            world.todo_cmd(TodoCommand::Link { todo_id, depends_on }).unwrap();
            cancel(&mut world, &dep);
        }
        ReplanCause::WakeLost => {
            let dep = world.todo("dep", |_| {});
            let (todo_id, wake) = (todo.clone(), Wake::TodoDone(dep.clone()));
            world.todo_cmd(TodoCommand::Defer { todo_id, own_id: None, wake }).unwrap();
            cancel(&mut world, &dep);
        }
        ReplanCause::AcceptanceGap => unreachable!("it covers a Goal, and has tests of its own"),
    }
    let of = ReplanRef::of_todo(cause, todo.clone(), 1);
    (world, todo, of)
}

fn cancel(world: &mut World, todo_id: &TodoId) {
    let (todo_id, reason) = (todo_id.clone(), text("no"));
    world.todo_cmd(TodoCommand::Cancel { todo_id, reason, superseded_by: None }).unwrap();
}

/// The claim of an obligation, and the Todo that it became.
fn claimed(world: &mut World, name: &str, of: &ReplanRef) -> (Outcome, TodoId) {
    let owned: Outcome = world.claim_as(name, Claim::replanning(of.clone())).unwrap().outcome().unwrap();
    let replan = owned.todo_ids[0].clone();
    (owned, replan)
}

fn add(name: &str, world: &mut World) {
    let new = NewTodo::titled(text("another way"), TodoKind::Advance);
    world.agent_todo(name, TodoCommand::Add(Box::new(new))).unwrap();
}

fn done(world: &mut World, name: &str, owned: &Outcome) -> &'static str {
    world.candidate(name, owned, ResultKind::ValidatedCompletion).unwrap();
    world.turn_state(owned)
}

#[test]
fn each_cause_obliges_once_and_is_consumed_by_the_replan_that_it_makes() {
    for cause in ReplanCause::ALL.iter().copied().filter(|cause| *cause != ReplanCause::AcceptanceGap) {
        let (mut world, todo, of) = obliged(cause);
        assert_eq!(world.reason("a", &todo), Reason::Replan(Covered::Derived(of.clone())), "{cause:?}");
        let decided = world.next("b", None).unwrap();
        let wanted = Action::Replan { todo_id: todo.clone(), replan: Some(of.clone()) };
        assert_eq!((decided.action, decided.rule), (wanted, 7), "{cause:?}");
        let refused = world.claim_as("a", Claim::attached(todo.clone())).unwrap_err();
        assert_eq!(refused.code(), Code::NotClaimable, "{cause:?}");
        assert_eq!(refused.hint_args(), Some(format!("todo claim {of} --as agent:a").as_str()));
        let (owned, replan) = claimed(&mut world, "b", &of);
        assert_eq!(world.row(&replan).kind, TodoKind::Replan);
        assert_eq!(world.reason("a", &todo), Reason::Replan(Covered::By(replan.clone())), "{cause:?}");
        // There is one, whoever asks.
        let late = world.claim_as("a", Claim::replanning(of.clone())).unwrap_err();
        assert_eq!(late.code(), Code::AlreadyClaimed, "{cause:?}");
        assert!(late.details().contains_key("holder") && late.details().contains_key("expires_at_ms"));
        add("b", &mut world);
        assert_eq!(done(&mut world, "b", &owned), "settled", "{cause:?}");
        assert!(world.row(&replan).is_done());
        assert!(!matches!(world.reason("a", &todo), Reason::Replan(Covered::Derived(_))), "{cause:?}");
        assert_eq!(code(&world.claim_as("a", Claim::replanning(of))), "not_claimable");
        assert_eq!(code(&world.todo_cmd(TodoCommand::Reopen { todo_id: replan })), "invalid_transition");
    }
}

#[test]
fn turns_without_accepted_progress_count_in_a_row_and_only_those_that_say_something_of_the_work() {
    let pending = |world: &mut World, todo: &TodoId| matches!(world.reason("a", todo), Reason::Replan(Covered::Derived(of)) if of.cause == ReplanCause::Fruitless);
    let turn = |world: &mut World, todo: &TodoId, kind, said| {
        let owned = world.claim("a", todo).unwrap();
        world.candidate("a", &owned, kind).unwrap();
        world.verdict("a", &owned, said).unwrap();
    };
    let fails = |world: &mut World, todo: &TodoId| {
        turn(world, todo, ResultKind::ValidatedProgress, VerdictOutcome::Failed);
    };
    // Progress between two failures begins the count anew, and a stop by a person says nothing.
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    fails(&mut world, &todo);
    turn(&mut world, &todo, ResultKind::ValidatedProgress, VerdictOutcome::Passed);
    fails(&mut world, &todo);
    let owned = world.claim("a", &todo).unwrap();
    world.stop(owned.turn_id.unwrap()).unwrap();
    assert!(!pending(&mut world, &todo));
    turn(&mut world, &todo, ResultKind::RepairRequired, VerdictOutcome::Passed);
    assert!(pending(&mut world, &todo), "it settled, and brought nothing");
    // A host that fails twice is no progress, whoever drives it.
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    for _ in 0..2 {
        assert!(!pending(&mut world, &todo));
        let hosted = world.running("a", &todo);
        world.host_end("a", &hosted, Some(HostFailure::AuthRequired), false).unwrap();
    }
    assert!(pending(&mut world, &todo));
    // What was consumed does not come again with the next one alone.
    let of = ReplanRef::of_todo(ReplanCause::Fruitless, todo.clone(), 1);
    let (owned, _) = claimed(&mut world, "a", &of);
    add("a", &mut world);
    assert_eq!(done(&mut world, "a", &owned), "settled");
    fails(&mut world, &todo);
    assert_eq!(world.reason("a", &todo), Reason::Claimable);
    fails(&mut world, &todo);
    let again = ReplanRef { ordinal: 2, ..of };
    assert_eq!(world.reason("a", &todo), Reason::Replan(Covered::Derived(again)));
}

#[test]
fn what_was_replanned_in_vain_is_a_persons() {
    for (cause, command) in [
        (ReplanCause::DependencyCancelled, "todo unlink g.1 --depends-on g.2"),
        (ReplanCause::WakeLost, "todo unblock g.1"),
    ] {
        let (mut world, todo, of) = obliged(cause);
        let (owned, _) = claimed(&mut world, "a", &of);
        add("a", &mut world);
        done(&mut world, "a", &owned);
        assert_eq!(world.reason("a", &todo), Reason::Replan(Covered::Consumed(cause)));
        let other: TodoId = text("g.4");
        cancel(&mut world, &other);
        let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!("{cause:?}") };
        assert_eq!(asks[0].command, command);
    }
}

#[test]
fn another_cancelled_dependency_is_another_cause() {
    let (mut world, todo, of) = obliged(ReplanCause::DependencyCancelled);
    let (owned, _) = claimed(&mut world, "a", &of);
    add("a", &mut world);
    done(&mut world, "a", &owned);
    let dep = world.todo("dep", |_| {});
    let (todo_id, depends_on) = (todo.clone(), dep.clone());
    world.todo_cmd(TodoCommand::Link { todo_id, depends_on }).unwrap();
    cancel(&mut world, &dep);
    let again = ReplanRef { ordinal: 2, ..of };
    assert_eq!(world.reason("a", &todo), Reason::Replan(Covered::Derived(again)));
}

#[test]
fn a_replan_that_changed_nothing_fails_and_after_two_a_person_is_asked() {
    let (mut world, todo, of) = obliged(ReplanCause::ReplanRequired);
    let (owned, replan) = claimed(&mut world, "a", &of);
    assert_eq!(done(&mut world, "a", &owned), "failed");
    let decided = world.next("a", None).unwrap();
    assert_eq!(decided.action, Action::Replan { todo_id: replan.clone(), replan: None });
    let owned = world.claim("a", &replan).unwrap();
    assert_eq!(done(&mut world, "a", &owned), "failed");
    assert_eq!(world.reason("a", &replan), Reason::User(UserWhy::ReplanFailed));
    assert_eq!(refused(world.claim_as("b", Claim::attached(replan.clone()))), "not_claimable");
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].command, format!("todo done {replan}"));
    let continuation = Continuation::ActiveGoal;
    world.todo_cmd(TodoCommand::Complete { todo_id: replan, continuation, waive: None }).unwrap();
    assert_eq!(world.reason("a", &todo), Reason::Claimable);
}

#[test]
fn its_owner_may_change_what_it_covers_and_nobody_elses() {
    let (mut world, todo, of) = obliged(ReplanCause::GateDenied);
    let other = world.todo("other", |_| {});
    let drop_it = |todo_id: &TodoId| TodoCommand::Cancel {
        todo_id: todo_id.clone(),
        reason: text("denied"),
        superseded_by: None,
    };
    assert_eq!(code(&world.agent_todo("a", drop_it(&todo))), "actor_not_allowed");
    let (owned, replan) = claimed(&mut world, "a", &of);
    assert_eq!(code(&world.agent_todo("b", drop_it(&todo))), "actor_not_allowed");
    assert_eq!(code(&world.agent_todo("a", drop_it(&other))), "actor_not_allowed");
    let change = crate::kernel::Change { validators: Some(vec![validator()]), ..Default::default() };
    let update = TodoCommand::Update { todo_id: todo.clone(), change: Box::new(change) };
    assert_eq!(code(&world.agent_todo("a", update)), "user_only");
    world.agent_todo("a", drop_it(&todo)).unwrap();
    assert_eq!(done(&mut world, "a", &owned), "settled");
    assert!(world.row(&replan).is_done());
    // The denial has left it, and closing asks for nothing of it.
    cancel(&mut world, &other);
    world.close(CloseKind::Achieved, None).unwrap();
}

#[test]
fn an_owner_whose_time_ran_out_renews_before_it_changes_the_plan() {
    let (mut world, todo, of) = obliged(ReplanCause::GateDenied);
    let (owned, replan) = claimed(&mut world, "a", &of);
    world.pass(Duration::from_mins(60));
    let drop_it = TodoCommand::Cancel { todo_id: todo.clone(), reason: text("denied"), superseded_by: None };
    let late = world.agent_todo("a", drop_it.clone()).unwrap_err();
    assert_eq!(late.code(), Code::OwnershipExpired);
    assert_eq!(late.hint_args(), Some(format!("todo claim {replan} --as agent:a").as_str()));
    let renew = ClaimCommand::Renew { todo_id: replan, own_id: owned.own_id };
    world.agent("a", Command::Claim(renew)).unwrap();
    world.agent_todo("a", drop_it).unwrap();
}

#[test]
fn it_ends_with_what_it_covers_unless_somebody_works_on_it() {
    let (mut world, todo, of) = obliged(ReplanCause::ReplanRequired);
    let (owned, replan) = claimed(&mut world, "a", &of);
    cancel(&mut world, &todo);
    assert!(world.row(&replan).is_live(), "somebody works on it");
    assert_eq!(done(&mut world, "a", &owned), "settled", "it is done by itself");
    // Left by its owner, it ends in the same commit.
    let (mut world, todo, of) = obliged(ReplanCause::ReplanRequired);
    let (owned, replan) = claimed(&mut world, "a", &of);
    world.stop(owned.turn_id.unwrap()).unwrap();
    cancel(&mut world, &todo);
    assert!(matches!(world.row(&replan).state, TodoState::Cancelled { .. }));
    // So it does when its cause is gone.
    let (mut world, todo, of) = obliged(ReplanCause::DependencyCancelled);
    let (owned, replan) = claimed(&mut world, "a", &of);
    world.stop(owned.turn_id.unwrap()).unwrap();
    let depends_on: TodoId = text("g.2");
    world.todo_cmd(TodoCommand::Unlink { todo_id: todo.clone(), depends_on }).unwrap();
    assert!(matches!(world.row(&replan).state, TodoState::Cancelled { .. }));
    assert_eq!(world.reason("a", &todo), Reason::Claimable);
}

#[test]
fn an_obligation_that_no_claim_has_written_ends_with_its_cause() {
    let (mut world, todo, of) = obliged(ReplanCause::GateDenied);
    let gate_id = *world.ledger.rows().gates.keys().next().unwrap();
    world.user(Command::Gate(GateCommand::Withdraw { gate_id })).unwrap();
    assert_eq!(world.reason("a", &todo), Reason::Claimable);
    assert_eq!(code(&world.claim_as("a", Claim::replanning(of))), "not_claimable");
    let (mut world, todo, _) = obliged(ReplanCause::DependencyCancelled);
    world.todo_cmd(TodoCommand::Reopen { todo_id: text("g.2") }).unwrap();
    assert_eq!(world.reason("a", &todo), Reason::Deps);
}

#[test]
fn an_open_replan_keeps_a_goal_from_being_achieved() {
    let (mut world, todo, of) = obliged(ReplanCause::UnchangedLimit);
    let (owned, replan) = claimed(&mut world, "a", &of);
    world.stop(owned.turn_id.unwrap()).unwrap();
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "invalid_transition");
    cancel(&mut world, &todo);
    assert!(!world.row(&replan).is_live());
    world.close(CloseKind::Achieved, None).unwrap();
}

#[test]
fn a_replan_comes_before_work_of_its_priority_and_no_other() {
    let (mut world, _, of) = obliged(ReplanCause::ReplanRequired);
    world.todo("also", |_| {});
    let action = |world: &mut World| world.next("b", None).unwrap().action;
    assert_eq!(action(&mut world), Action::Replan { todo_id: of.claimed(), replan: Some(of.clone()) });
    let ranked = |world: &mut World| {
        let rows = status(world, None).attention.into_iter().map(|row| (row.rank, row.kind));
        rows.filter(|(rank, _)| *rank > Rank::Person).collect::<Vec<_>>()
    };
    assert_eq!(ranked(&mut world), [(Rank::Replan, "replan")], "by its name");
    let urgent = world.todo("urgent", |new| new.priority = Priority::P1);
    assert_eq!(action(&mut world), Action::Run { todo_id: urgent.clone(), turn_id: None });
    assert_eq!(ranked(&mut world), [(Rank::Work, "due")]);
    let (owned, replan) = claimed(&mut world, "a", &of);
    world.stop(owned.turn_id.unwrap()).unwrap();
    assert_eq!(world.row(&replan).priority, Priority::P2);
    assert_eq!(action(&mut world), Action::Run { todo_id: urgent.clone(), turn_id: None });
    cancel(&mut world, &urgent);
    assert_eq!(action(&mut world), Action::Replan { todo_id: replan, replan: None });
    assert_eq!(ranked(&mut world), [(Rank::Replan, "replan")], "written");
}

#[test]
fn a_replan_that_proposes_is_held_until_a_person_answers() {
    let answers: [(&str, &str, bool); 3] =
        [("confirm", "settled", true), ("reject", "stopped", false), ("withdraw", "stopped", false)];
    for (answer, end, is_done) in answers {
        let (mut world, todo, of) = obliged(ReplanCause::ReplanRequired);
        let (owned, replan) = claimed(&mut world, "a", &of);
        let change = crate::kernel::Change { title: Some(text("otherwise")), ..Default::default() };
        let command = Command::Todo(TodoCommand::Update { todo_id: todo.clone(), change: Box::new(change) });
        let id = world.propose("a", command, Expected::default());
        assert_eq!(done(&mut world, "a", &owned), "held");
        let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
        assert_eq!(asks[0].command, format!("proposal confirm {id}"));
        let until = world.now().plus(Duration::from_mins(60));
        world.user(Command::Proposal(ProposalCommand::Defer { proposal_id: id, until })).unwrap();
        assert_eq!(refused(world.prove(owned.turn_id.unwrap(), false)), "held", "put off, it waits on");
        match answer {
            "confirm" => drop(world.confirm(id).unwrap()),
            "reject" => {
                let reject = ProposalCommand::Reject { proposal_id: id, reason: None };
                world.user(Command::Proposal(reject)).unwrap();
            }
            _ => {
                let withdraw = Command::Proposal(ProposalCommand::Withdraw { proposal_id: id });
                world.agent("a", withdraw).unwrap();
            }
        }
        world.prove(owned.turn_id.unwrap(), false).unwrap();
        assert_eq!((world.turn_state(&owned), world.row(&replan).is_done()), (end, is_done), "{answer}");
        assert!(is_done || world.row(&replan).is_live());
    }
}

#[test]
fn a_replan_is_not_for_a_replan_nor_for_a_person() {
    let mut world = World::new();
    let action = world.todo("yours", |new| new.kind = TodoKind::Action);
    let gate = world.gate(GateKind::Approval, &action);
    world.resolve(gate, Answer::Deny { reason: None }).unwrap();
    assert_eq!(world.reason("a", &action), Reason::User(UserWhy::Action));
    let (mut world, _, of) = obliged(ReplanCause::ReplanRequired);
    let (owned, replan) = claimed(&mut world, "a", &of);
    let said = Candidate { summary: Some(text("no idea")), ..result(ResultKind::ReplanRequired) };
    world.result_of("a", &owned, said).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    assert_eq!(world.reason("b", &replan), Reason::Claimable);
    let operation = world.operation(agent("a"), Command::Todo(TodoCommand::Hold { todo_id: replan }));
    assert_eq!(code(&world.submit(operation)), "user_only");
}
