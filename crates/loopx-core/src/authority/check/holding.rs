//! Owns what an ownership leaves in its rows: the first attempt, revisions, tokens that were never its own, hand-overs.

use super::{
    attention::status,
    play::{attached, code, refused, result},
    world::{World, agent, text},
};
use crate::{
    error::Result,
    kernel::{Action, ClaimCommand, Command, Found, Outcome, Reason, TodoCommand},
    model::*,
};

fn claim_cmd(world: &mut World, actor: &str, command: ClaimCommand) -> Result<Receipt> {
    let operation = world.operation(agent(actor), Command::Claim(command));
    world.submit(operation)
}

fn renew(world: &mut World, owned: &Outcome) -> Result<Receipt> {
    let command = ClaimCommand::Renew { todo_id: owned.todo_ids[0].clone(), own_id: owned.own_id };
    claim_cmd(world, "a", command)
}

#[test]
fn an_attached_claim_is_its_first_attempt() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let turn = world.turn(owned.turn_id.unwrap());
    assert_eq!((turn.state, turn.attempts.len()), (TurnState::Dispatched, 1));
    assert_eq!((turn.attempts[0].number, turn.attempts[0].deadline_at), (1, None));
    let other = world.todo("hosted", |_| {});
    let hosted = world.hosted("b", &other).unwrap();
    let turn = world.turn(hosted.turn_id.unwrap());
    assert_eq!((turn.state, turn.attempts.len()), (TurnState::Admitted, 0));
}

#[test]
fn an_endpoint_is_not_the_agent_it_serves() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let mut operation =
        world.operation(agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(attached(&todo)))));
    operation.actor = Actor::Agent(text("a"), text("a"));
    assert_eq!(code(&world.submit(operation)), "invalid_argument");
}

#[test]
fn every_write_to_a_todo_moves_its_revision() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let mut last = world.row(&todo).revision;
    let mut moved = |world: &World, what: &str| {
        let now = world.row(&todo).revision;
        assert!(now > last, "{what}");
        last = now;
    };
    let owned = world.claim("a", &todo).unwrap();
    moved(&world, "claim");
    world.pass(Duration::from_mins(30));
    renew(&mut world, &owned).unwrap();
    moved(&world, "renew");
    world.pass(Duration::from_mins(46));
    renew(&mut world, &owned).unwrap();
    moved(&world, "re-arm");
    let to = ClaimCommand::Transfer { todo_id: todo.clone(), own_id: owned.own_id, to: text("b") };
    let receipt = claim_cmd(&mut world, "a", to).unwrap();
    moved(&world, "transfer");
    let outcome: Outcome = receipt.outcome().unwrap();
    assert_eq!((outcome.turn_id, outcome.turn_state.as_deref()), (owned.turn_id, Some("stopped")));
    let free = world.todo("free", |_| {});
    let to = ClaimCommand::Transfer { todo_id: free.clone(), own_id: None, to: text("b") };
    let before = world.row(&free).revision;
    world.user(Command::Claim(to)).unwrap();
    assert!(world.row(&free).revision > before, "a reservation of what nobody owned");
}

#[test]
fn a_renewal_counts_from_a_quarter_of_its_time_on_and_never_while_frozen() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let ttl = world.row(&todo).ownership.unwrap().ttl_ms;
    world.pass(Duration::from_ms(ttl.part(4).as_ms() - 1));
    let before = world.envelopes().len();
    renew(&mut world, &owned).unwrap();
    assert_eq!(world.kinds_after(before), [] as [String; 0]);
    world.pass(Duration::from_ms(1));
    renew(&mut world, &owned).unwrap();
    assert_eq!(world.kinds_after(before), ["claim.renewed"]);
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    world.pass(ttl);
    let (before, until) = (world.envelopes().len(), world.row(&todo).ownership.unwrap().expires_at);
    renew(&mut world, &owned).unwrap();
    assert_eq!(world.kinds_after(before), [] as [String; 0], "frozen");
    assert_eq!(world.row(&todo).ownership.unwrap().expires_at, until);
}

#[test]
fn a_token_that_was_never_its_own_is_superseded_whatever_became_of_the_todo() {
    for ends in ["free", "released", "done"] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        if ends != "free" {
            let owned = world.claim("a", &todo).unwrap();
            if ends == "done" {
                world.done("a", &owned).unwrap();
            } else {
                let release = ClaimCommand::Release { todo_id: todo.clone(), own_id: owned.own_id };
                claim_cmd(&mut world, "a", release).unwrap();
            }
        }
        let own_id = Some(OwnId::from_bytes([9; 16]));
        let foreign = ClaimCommand::Renew { todo_id: todo.clone(), own_id };
        assert_eq!(code(&claim_cmd(&mut world, "a", foreign)), "ownership_superseded", "{ends}");
    }
}

#[test]
fn a_todo_is_handed_to_who_may_take_it_alone() {
    let mut world = World::new();
    let excluded = world.todo("not for b", |new| new.excluded_agents = [text("b")].into());
    let by_hand = world.todo("by hand", |new| new.kind = TodoKind::Action);
    let done = world.todo("done", |_| {});
    let waive = Some(text("seen"));
    let complete =
        TodoCommand::Complete { todo_id: done.clone(), continuation: Continuation::ActiveGoal, waive };
    world.todo_cmd(complete).unwrap();
    for (todo_id, expected) in
        [(excluded, "invalid_argument"), (by_hand, "invalid_transition"), (done, "invalid_transition")]
    {
        let to = ClaimCommand::Transfer { todo_id: todo_id.clone(), own_id: None, to: text("b") };
        assert_eq!(code(&world.user(Command::Claim(to))), expected, "{todo_id}");
    }
}

#[test]
fn a_claim_over_its_own_lapsed_turn_ends_it_once() {
    let mut world = World::new();
    world.limit(None, Some(2)).unwrap();
    let todo = world.todo("it", |_| {});
    world.claim("a", &todo).unwrap();
    world.pass(Duration::from_mins(46));
    let before = world.envelopes().len();
    world.claim("a", &todo).unwrap();
    assert_eq!(world.kinds_after(before), ["turn.ended", "claim.claimed"]);
    let other = world.todo("other", |_| {});
    assert!(world.claim("b", &other).is_ok(), "one slot came back");
    let third = world.todo("third", |_| {});
    world.register("c", &[]);
    assert_eq!(refused(world.claim("c", &third)), "quota_exhausted", "and no second one");
}

#[test]
fn a_claim_over_a_lapsed_result_takes_its_question_back() {
    for rival in ["b", "a"] {
        let mut world = World::empty();
        world.start(|_| {});
        let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
        let owned = world.ask_acceptance("a", &todo);
        // The same result again: its question stays, and it executes until it lapses.
        world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
        assert_eq!(world.turn_state(&owned), "candidate");
        world.pass(Duration::from_mins(46));
        world.claim(rival, if rival == "a" { &other } else { &todo }).unwrap();
        assert_eq!(world.turn_state(&owned), "stopped", "{rival}");
        assert_eq!(world.ledger.rows().gates[&owned.gate_id.unwrap()].state.as_str(), "withdrawn", "{rival}");
    }
}

/// A Turn of `a` whose result is held because its Todo is.
fn held(world: &mut World, todo: &TodoId) -> Outcome {
    let owned = world.claim("a", todo).unwrap();
    world.hold(todo).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    owned
}

#[test]
fn regress_rule_7_a_held_turn_goes_back_to_its_candidate_only_while_its_agent_is_free() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let waiting = held(&mut world, &first);
    world.todo_cmd(TodoCommand::Unhold { todo_id: first }).unwrap();
    let working = world.claim("a", &second).unwrap();
    let again = world.candidate("a", &waiting, ResultKind::ValidatedCompletion);
    assert_eq!(refused(again), "executor_active");
    world.done("a", &working).unwrap();
    world.done("a", &waiting).unwrap();
    assert_eq!(world.turn_state(&waiting), "settled");
}

#[test]
fn regress_rule_7_an_ownership_that_ran_out_is_not_armed_again_beside_other_work() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let waiting = held(&mut world, &first);
    let working = world.claim("a", &second).unwrap();
    world.pass(Duration::from_mins(46));
    world.todo_cmd(TodoCommand::Unhold { todo_id: first }).unwrap();
    world.candidate("a", &waiting, ResultKind::ValidatedCompletion).unwrap();
    assert_eq!(code(&renew(&mut world, &working)), "executor_active");
    assert_eq!(refused(world.candidate("a", &working, ResultKind::ValidatedProgress)), "executor_active");
}

#[test]
fn rule_2_what_ran_out_beside_other_work_is_not_run_again_until_that_has_ended() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let waiting = held(&mut world, &first);
    let working = world.claim("a", &second).unwrap();
    world.pass(Duration::from_mins(46));
    world.todo_cmd(TodoCommand::Unhold { todo_id: first }).unwrap();
    world.candidate("a", &waiting, ResultKind::ValidatedCompletion).unwrap();
    let told = world.next("a", working.own_id).unwrap();
    let until = world.ledger.rows().todos[&waiting.todo_ids[0]].ownership.as_ref().unwrap().expires_at;
    assert_eq!(
        told.action,
        Action::Wait { why: "turn_elsewhere", until: Some(until), turn_id: waiting.turn_id }
    );
    assert_eq!(code(&renew(&mut world, &working)), "executor_active", "so nobody is obliged to it");
    world.done("a", &waiting).unwrap();
    let told = world.next("a", working.own_id).unwrap();
    let runs = Action::Run { todo_id: second, turn_id: working.turn_id };
    assert_eq!(told.action, runs, "its agent is free again");
    renew(&mut world, &working).unwrap();
}

/// What keeps a Turn where it is, as status shows it.
fn causes(world: &mut World, owned: &Outcome) -> Vec<Cause> {
    let status = status(world, None);
    let stuck = status.stuck.into_iter().find(|stuck| Some(stuck.turn.turn_id) == owned.turn_id);
    stuck.unwrap().causes
}

#[test]
fn rule_7_what_must_return_to_its_candidate_is_held_by_its_busy_agent_too() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let waiting = held(&mut world, &first);
    let working = world.claim("a", &second).unwrap();
    assert_eq!(causes(&mut world, &waiting), [Cause::Hold], "lifted, it settles as it was validated");
    let change = crate::kernel::Change { title: Some(text("new")), ..Default::default() };
    world.todo_cmd(TodoCommand::Update { todo_id: first.clone(), change: Box::new(change) }).unwrap();
    let all = [Cause::Requirement, Cause::Hold, Cause::AgentBusy];
    assert_eq!(causes(&mut world, &waiting), all);
    world.todo_cmd(TodoCommand::Unhold { todo_id: first.clone() }).unwrap();
    let all = [Cause::Requirement, Cause::AgentBusy];
    assert_eq!(
        world.reason("b", &first),
        Reason::Held(waiting.turn_id.unwrap(), all.into()),
        "to whoever asks"
    );
    let refused = world.claim_as("b", attached(&first)).unwrap_err();
    assert_eq!(refused.details()["causes"], serde_json::json!(["requirement", "agent_busy"]));
    let accept = crate::kernel::TurnCommand::Accept { turn_id: waiting.turn_id.unwrap() };
    let refused = world.turn_cmd(accept).unwrap_err();
    assert_eq!(refused.code().as_str(), "executor_active");
    assert_eq!(refused.details()["causes"], serde_json::json!(["agent_busy"]));
    assert_eq!(refused.details()["turn_id"], working.turn_id.unwrap().to_string());
    assert_eq!(refused.details()["until_ms"], working.expires_at_ms.unwrap().as_ms());
    world.done("a", &working).unwrap();
    assert_eq!(causes(&mut world, &waiting), [Cause::Requirement], "its agent is free again");
}

#[test]
fn rule_7_a_busy_agent_keeps_no_result_from_settling_as_it_was_validated() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let waiting = held(&mut world, &first);
    world.claim("a", &second).unwrap();
    world.todo_cmd(TodoCommand::Unhold { todo_id: first }).unwrap();
    assert_eq!(causes(&mut world, &waiting), [Cause::AgentBusy], "all that can be left to hold it");
    world.prove(waiting.turn_id.unwrap(), false).unwrap();
    assert_eq!(world.turn_state(&waiting), "settled");
}

#[test]
fn rule_7_an_unresolved_turn_says_that_its_agent_is_busy() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let lost = world.running("a", &first);
    world.lose("a", &lost, true).unwrap();
    assert_eq!(causes(&mut world, &lost), []);
    let working = world.claim("a", &second).unwrap();
    assert_eq!(causes(&mut world, &lost), [Cause::AgentBusy]);
    let found = Found::Result(Box::new(result(ResultKind::ValidatedCompletion)));
    let refused = world.recover("a", &lost, found.clone()).unwrap_err();
    assert_eq!(refused.details()["causes"], serde_json::json!(["agent_busy"]));
    world.done("a", &working).unwrap();
    assert_eq!(causes(&mut world, &lost), []);
    world.recover("a", &lost, found).unwrap();
    assert_eq!(world.turn_state(&lost), "candidate");
}
