//! Owns what an outside effect keeps from happening, and what ends that.

use super::{
    play::{code, intent, refused},
    world::{World, agent, text, user},
};
use crate::{
    error::Result,
    kernel::{Action, EffectCommand, GoalCommand, Intent, Outcome, Reason, Told, UnresolvedBy},
    model::*,
};

fn told(world: &mut World, effect_id: EffectId, told: Told) -> Result<Receipt> {
    let evidence = vec![world.evidence(user(), None, None)];
    world.effect(agent("a"), EffectCommand::Reconcile { effect_id, told, evidence })
}

fn intend(world: &mut World, name: &str, owned: &Outcome, new: Intent) -> Result<Receipt> {
    let new = Intent { own_id: owned.own_id, ..new };
    world.effect(agent(name), EffectCommand::Intend(Box::new(new)))
}

fn write_off(world: &mut World, by: Actor, effect_id: EffectId) -> Result<Receipt> {
    let evidence = vec![world.evidence(user(), None, None)];
    world.effect(by, EffectCommand::WriteOff { effect_id, reason: text("nobody knows"), evidence })
}

/// A provider that does what it is asked once for each key, and says so unless its answer is lost.
#[derive(Default)]
struct Provider {
    did: Vec<EffectKey>,
}

impl Provider {
    /// Sends an effect if the ledger lets it be sent, and loses the answer.
    fn send(&mut self, world: &mut World, by: &str, effect_id: EffectId) -> Result<Receipt> {
        let receipt = world.effect(agent(by), EffectCommand::Dispatch { effect_id })?;
        self.did.push(world.effect_row(effect_id).key);
        Ok(receipt)
    }

    /// What it says when it is asked.
    fn told(&self, key: &EffectKey) -> Told {
        if self.did.contains(key) { Told::Confirmed } else { Told::Absent }
    }
}

#[test]
fn v09_a_lost_acknowledgement_is_reconciled_and_nothing_is_actuated_twice() {
    let mut world = World::new();
    let mut provider = Provider::default();
    let todo = world.todo("release", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.intended("a", &owned, "release-1.4");
    provider.send(&mut world, "a", effect_id).unwrap();
    // Its sender dies here. Nobody who comes after can take the work up, mean the same anew, or send it again.
    world.pass(Duration::from_mins(60));
    assert_eq!(refused(world.claim("b", &todo)), "effect_unresolved");
    assert_eq!(code(&provider.send(&mut world, "a", effect_id)), "invalid_transition");
    let again = intend(&mut world, "a", &owned, intent(&todo, "release-1.4")).unwrap();
    let again: Outcome = again.outcome().unwrap();
    assert_eq!((again.created, again.effect_id), (Some(false), Some(effect_id)));
    world.pass(Duration::from_mins(60));
    let Action::Reconcile { of, command } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!((of, command), (UnresolvedBy::Effect(effect_id), format!("effect reconcile {effect_id}")));
    let key = world.effect_row(effect_id).key;
    told(&mut world, effect_id, provider.told(&key)).unwrap();
    assert_eq!(world.effect_row(effect_id).state, EffectState::Confirmed);
    world.claim("b", &todo).unwrap();
    assert_eq!(provider.did, [key], "done once");
}

#[test]
fn v09_an_intent_that_was_never_sent_is_found_absent() {
    let mut world = World::new();
    let provider = Provider::default();
    let todo = world.todo("release", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.intended("a", &owned, "release-1.4");
    world.pass(Duration::from_mins(60));
    // It may not have happened, so nobody is made to look for it; what leads on says so.
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].command, format!("effect reconcile {effect_id} --absent --evidence EVIDENCE"));
    let key = world.effect_row(effect_id).key;
    told(&mut world, effect_id, provider.told(&key)).unwrap();
    world.claim("b", &todo).unwrap();
}

#[test]
fn v09_that_it_stopped_is_told_apart_from_the_wish_and_says_nothing_of_what_it_did() {
    let mut world = World::new();
    let todo = world.todo("roll out", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.sent("a", &owned, "rollout");
    // A stopped Turn stops nothing outside.
    world.stop(owned.turn_id.unwrap()).unwrap();
    let row = world.effect_row(effect_id);
    assert_eq!((row.state, row.stop_requested, row.stop_confirmed), (EffectState::Dispatched, None, None));
    let asked = world.evidence(user(), None, None);
    let stop = |confirmed, evidence: &[EvidenceId]| EffectCommand::Stop {
        effect_id,
        confirmed,
        evidence: evidence.to_vec(),
    };
    assert_eq!(code(&world.effect(agent("a"), stop(false, &[]))), "invalid_argument", "without evidence");
    assert_eq!(code(&world.effect(agent("b"), stop(false, &[asked]))), "actor_not_allowed");
    world.effect(agent("a"), stop(false, &[asked])).unwrap();
    assert_eq!(
        code(&world.effect(agent("a"), stop(true, &[asked]))),
        "invalid_argument",
        "the same evidence"
    );
    let seen = world.evidence(user(), None, None);
    world.effect(agent("a"), stop(true, &[seen])).unwrap();
    let row = world.effect_row(effect_id);
    assert_eq!(row.stop_requested.unwrap().evidence, [asked]);
    assert_eq!(row.stop_confirmed.unwrap().evidence, [seen]);
    assert_eq!(row.state, EffectState::Dispatched, "what it did is still not known");
    assert_eq!(refused(world.claim("b", &todo)), "effect_unresolved");
}

#[test]
fn whatever_an_effect_blocks_is_offered_to_nobody_until_it_is_known() {
    let mut world = World::new();
    let (todo, other, free) =
        (world.todo("it", |_| {}), world.todo("other", |_| {}), world.todo("free", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    let new = Intent { todos: [other.clone()].into(), keys: [text("dns")].into(), ..intent(&todo, "k") };
    let effect_id = intend(&mut world, "a", &owned, new).unwrap().outcome::<Outcome>().unwrap().effect_id;
    let effect_id = effect_id.unwrap();
    for id in [&todo, &other] {
        assert_eq!(world.reason("b", id), Reason::Unresolved(UnresolvedBy::Effect(effect_id)));
    }
    let error = world.claim("b", &other).unwrap_err();
    assert_eq!(error.code().as_str(), "effect_unresolved");
    assert_eq!(
        error.hint_args(),
        Some(format!("effect reconcile {effect_id} --absent --evidence EVIDENCE").as_str())
    );
    let beside = world.claim("b", &free).unwrap();
    for (key, touched) in [("dns", None), ("k2", Some("dns")), ("k3", Some("k"))] {
        let keys = touched.into_iter().map(text).collect();
        let new = Intent { keys, ..intent(&free, key) };
        assert_eq!(code(&intend(&mut world, "b", &beside, new)), "effect_unresolved", "{key} {touched:?}");
    }
    world.done("b", &beside).unwrap();
    // While its sender is at work, nobody else is asked about it.
    let Action::Wait { why, .. } = world.next("b", None).unwrap().action else { panic!() };
    assert_eq!(why, "owned_by_peers");
    world.effect(agent("a"), EffectCommand::Dispatch { effect_id }).unwrap();
    told(&mut world, effect_id, Told::Confirmed).unwrap();
    world.claim("b", &other).unwrap();
}

#[test]
fn the_same_key_is_the_same_effect_and_another_digest_is_refused() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(
        code(&world.effect(agent("a"), EffectCommand::Intend(Box::new(intent(&todo, "k"))))),
        "own_required"
    );
    let effect_id = world.intended("a", &owned, "k");
    let other = Intent { digest: Digest::of(b"other"), ..intent(&todo, "k") };
    assert_eq!(code(&intend(&mut world, "a", &owned, other.clone())), "operation_conflict");
    told(&mut world, effect_id, Told::Absent).unwrap();
    // For ever, whatever became of it.
    assert_eq!(code(&intend(&mut world, "a", &owned, other)), "operation_conflict");
    let again: Outcome = intend(&mut world, "a", &owned, intent(&todo, "k")).unwrap().outcome().unwrap();
    assert_eq!((again.created, again.effect_id), (Some(false), Some(effect_id)));
    assert_eq!(again.effect_state.as_deref(), Some("absent"));
}

#[test]
fn a_completion_is_held_while_an_effect_is_not_known_and_progress_is_not() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.sent("a", &owned, "k");
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    let refused_proof = world.prove(owned.turn_id.unwrap(), false).unwrap_err();
    assert_eq!(refused_proof.details()["causes"], serde_json::json!(["effect"]));
    told(&mut world, effect_id, Told::Confirmed).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    assert!(world.row(&todo).is_done());

    let owned = world.claim("a", &other).unwrap();
    world.sent("a", &owned, "k2");
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    assert_eq!(refused(world.claim("a", &other)), "effect_unresolved");
}

#[test]
fn what_may_have_changed_something_outside_is_not_tried_again() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    let new = Box::new(intent(&todo, "k"));
    world.effect(user(), EffectCommand::Intend(new)).unwrap();
    world.host_end("a", &owned, Some(HostFailure::Crashed), true).unwrap();
    assert_eq!(world.turn_state(&owned), "failed");
}

#[test]
fn a_proven_person_writes_off_and_the_goal_ends_only_once_it_is_let_go() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.sent("a", &owned, "k");
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    // A readback is tried once as the row stands; then a person is asked.
    world
        .effect(agent("a"), EffectCommand::Reconcile { effect_id, told: Told::Unknown, evidence: vec![] })
        .unwrap();
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    let command = format!("effect write-off {effect_id} --reason TEXT --evidence EVIDENCE");
    assert_eq!(asks[0].command, command);
    assert_eq!(code(&write_off(&mut world, agent("a"), effect_id)), "user_only");
    let by_name = {
        let evidence = vec![world.evidence(user(), None, None)];
        let command = EffectCommand::WriteOff { effect_id, reason: text("x"), evidence };
        let mut operation = world.operation(user(), crate::kernel::Command::Effect(command));
        operation.provenance.assurance = Assurance::Stated;
        world.submit(operation)
    };
    assert_eq!(code(&by_name), "unauthenticated");
    let close = |world: &mut World, waive_effects| {
        let kind = CloseKind::Achieved;
        world.goal_cmd(GoalCommand::Close { kind, reason: None, waive: Vec::new(), waive_effects })
    };
    let cancel =
        crate::kernel::TodoCommand::Cancel { todo_id: todo.clone(), reason: text("x"), superseded_by: None };
    world.todo_cmd(cancel).unwrap();
    assert_eq!(code(&close(&mut world, vec![])), "effect_unresolved");
    write_off(&mut world, user(), effect_id).unwrap();
    let error = close(&mut world, vec![]).unwrap_err();
    assert_eq!(error.code().as_str(), "effect_unresolved");
    let hint = format!("goal close g --achieved --waive {effect_id}=REASON");
    assert_eq!(error.hint_args(), Some(hint.as_str()));
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].command, hint);
    close(&mut world, vec![(effect_id, text("we live with it"))]).unwrap();
    assert!(matches!(world.effect_row(effect_id).state, EffectState::WrittenOff { waived: Some(_), .. }));
}

#[test]
fn an_agent_tells_of_its_own_effects_and_reads_back_any_in_the_goal() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.intended("a", &owned, "k");
    assert_eq!(code(&world.effect(agent("b"), EffectCommand::Dispatch { effect_id })), "actor_not_allowed");
    assert_eq!(code(&world.effect(agent("z"), EffectCommand::Dispatch { effect_id })), "not_found");
    world.effect(agent("a"), EffectCommand::Dispatch { effect_id }).unwrap();
    let evidence = vec![world.evidence(user(), None, None)];
    let confirm = EffectCommand::Confirm { effect_id, failed: false, evidence: evidence.clone() };
    assert_eq!(code(&world.effect(agent("b"), confirm)), "actor_not_allowed");
    let read = |told, evidence| EffectCommand::Reconcile { effect_id, told, evidence };
    assert_eq!(code(&world.effect(agent("z"), read(Told::Unknown, vec![]))), "not_found");
    assert_eq!(
        code(&world.effect(agent("b"), read(Told::Absent, vec![]))),
        "invalid_argument",
        "no evidence"
    );
    let rejected = world.evidence(user(), None, Some(EvidenceVerdict::Rejected));
    assert_eq!(code(&world.effect(agent("b"), read(Told::Absent, vec![rejected]))), "invalid_argument");
    world.effect(agent("b"), read(Told::Confirmed, evidence)).unwrap();
    let nobody = EffectCommand::Dispatch { effect_id: EffectId::from_bytes([9; 16]) };
    assert_eq!(code(&world.effect(agent("a"), nobody)), "not_found");
}
