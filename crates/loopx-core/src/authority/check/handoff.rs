//! Owns what an accepted handoff says and does not do, who may accept one, and when its packet has another revision.

use std::collections::BTreeSet;

use super::{
    Kept,
    play::code,
    world::{World, agent, text, user, validator},
};
use crate::{
    error::Result,
    kernel::{
        Change, ClaimCommand, Command, EffectCommand, GateCommand, GoalChange, GoalCommand, HandoffCommand,
        NextStep, Outcome, Rows, TodoCommand, Told,
    },
    model::*,
    projection::{self, Count, HandoffPage},
};

impl World {
    /// What whoever takes a Todo over is shown.
    pub(super) fn handoff(&mut self, todo_id: &TodoId) -> HandoffPage {
        let shown = self.authority.look(|view, terms| projection::handoff(view, terms, todo_id)).unwrap();
        shown.for_owner().clone()
    }

    pub(super) fn accept(&mut self, name: &str, todo_id: &TodoId, revision: Digest) -> Result<Receipt> {
        self.agent(name, accepting(todo_id, revision))
    }

    /// An agent takes a Todo over as it stands.
    fn take_over(&mut self, name: &str, todo_id: &TodoId) -> Result<Receipt> {
        let revision = self.handoff(todo_id).revision;
        self.accept(name, todo_id, revision)
    }

    fn transfer(&mut self, todo_id: &TodoId, to: &str) {
        let command = ClaimCommand::Transfer { todo_id: todo_id.clone(), own_id: None, to: text(to) };
        self.user(Command::Claim(command)).unwrap();
    }

    fn handoff_metric(&mut self) -> (Count, Option<Count>) {
        let (goal, window) = (self.goal.clone(), Duration::from_mins(7 * 24 * 60));
        let look = self.authority.look(|view, terms| projection::metrics(view, terms, Some(&goal), window));
        let metric = look.unwrap().items.into_iter().find(|metric| metric.metric == "handoff").unwrap();
        (metric.numerator, metric.denominator)
    }
}

fn accepting(todo_id: &TodoId, revision: Digest) -> Command {
    Command::Handoff(HandoffCommand::Accept { todo_id: todo_id.clone(), revision })
}

/// The parts of a packet, found again from whole rows: the revision moves with these and with nothing else.
pub(super) fn parts(rows: &Rows, todo_id: &TodoId) -> String {
    let (goal, todo) = (&rows.goals[todo_id.goal()], &rows.todos[todo_id]);
    let proven = rows.turns.values().filter(|turn| {
        let is_shown = turn.verdict.as_ref().is_some_and(|verdict| {
            matches!(verdict.outcome, VerdictOutcome::Passed | VerdictOutcome::Progress)
        });
        let is_its = turn.todo_id() == Some(todo_id) && turn.state == TurnState::Settled;
        is_its && (is_shown || turn.acceptance_gate.is_some())
    });
    let proven = proven.max_by_key(|turn| turn.turn_no);
    let gates = rows.gates.values().filter(|gate| {
        let is_its = match &gate.blocks {
            Blocks::Goal => gate.goal_id == goal.goal_id,
            Blocks::Todos(ids) => ids.contains(todo_id),
        };
        is_its && gate.is_blocking()
    });
    let gates: Vec<_> = gates.map(|gate| (gate.gate_id, gate.revision)).collect();
    let effects = rows.nouns.values().filter_map(Effect::of);
    let effects = effects.filter(|effect| effect.is_unresolved() && effect.blocks.todos.contains(todo_id));
    let effects: Vec<_> = effects.map(|effect| (effect.effect_id, effect.revision)).collect();
    let repair = todo.last_end.as_ref().filter(|end| end.repair && todo.is_live()).map(|end| &end.note);
    let validators = match todo.kind {
        TodoKind::Replan => None,
        _ if todo.validators.is_empty() => Some(&goal.validators),
        _ => Some(&todo.validators),
    };
    let of_goal = (&goal.objective, &goal.boundary, &goal.authority_sources, validators);
    let of_todo = (
        (&todo.title, rows.texts.get(todo_id), todo.kind, todo.priority, &todo.state, todo.hold),
        (&todo.depends_on, &todo.requires, &todo.excluded_agents, &todo.reviews, &todo.coordinates),
        &todo.covering,
        todo.requirement_revision,
    );
    format!("{:?}", (of_goal, of_todo, proven.map(|turn| turn.turn_id), gates, effects, repair))
}

#[test]
fn an_acceptance_names_exactly_what_was_read() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    world.transfer(&todo, "b");
    let read = world.handoff(&todo);
    assert_eq!(read.reserved.as_ref().map(|kept| kept.agent_id.as_str()), Some("b"));
    world.retitle(&todo, "it, and well").unwrap();
    let events = world.envelopes().len();
    let error = world.accept("b", &todo, read.revision).unwrap_err();
    assert_eq!(error.code().as_str(), "stale_revision");
    assert_eq!(error.hint_args(), Some("handoff show g.1"));
    let found = world.handoff(&todo);
    assert_eq!(error.details()["found"], found.revision.to_string());
    assert_eq!((world.envelopes().len(), found.accepted), (events, None), "nothing was written");
    let receipt = world.accept("b", &todo, found.revision).unwrap();
    let id = receipt.outcome::<Outcome>().unwrap().handoff_id.unwrap();
    let page = world.handoff(&todo);
    let taken = page.accepted.unwrap();
    assert_eq!((taken.handoff_id, taken.revision, taken.by), (id, found.revision, agent("b")));
    assert_eq!(page.revision, found.revision, "that it was taken over is no part");
}

#[test]
fn an_acceptance_gives_no_ownership_and_moves_nothing() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    world.transfer(&todo, "b");
    let (before, next) = (world.ledger.rows(), world.next("b", None).unwrap());
    let events = world.envelopes().len();
    world.take_over("b", &todo).unwrap();
    assert_eq!(world.kinds_after(events), ["handoff.accepted"]);
    let after = world.ledger.rows();
    assert_eq!(after.nouns.len(), before.nouns.len() + 1);
    assert_eq!(Rows { nouns: before.nouns.clone(), ..after }, before, "no other row was written");
    assert_eq!(world.next("b", None).unwrap(), next);
    assert!(world.row(&todo).ownership.is_none());
    // Its reservation still ends when it would have, and then anybody claims.
    world.pass(Duration::from_mins(11));
    world.claim("a", &todo).unwrap();
}

#[test]
fn whoever_nobody_keeps_the_work_from_may_take_it_over_and_nobody_else() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let revision = world.handoff(&todo).revision;
    assert_eq!(code(&world.user(accepting(&todo, revision))), "actor_not_allowed");
    assert_eq!(code(&world.accept("c", &todo, revision)), "not_found", "it is not registered");
    assert_eq!(code(&world.accept("a", &text("g.9"), revision)), "not_found");
    assert_eq!(code(&world.accept("a", &text("h.1"), revision)), "invalid_argument");
    world.accept("a", &todo, revision).unwrap();
    world.transfer(&todo, "b");
    assert_eq!(code(&world.take_over("a", &todo)), "already_claimed", "it is kept for another");
    world.take_over("b", &todo).unwrap();
    world.pass(Duration::from_mins(11));
    world.take_over("a", &todo).unwrap();
    let owned = world.claim("a", &todo).unwrap();
    for name in ["a", "b"] {
        assert_eq!(code(&world.take_over(name, &todo)), "already_claimed", "{name}: it is owned");
    }
    world.pass(Duration::from_mins(46));
    world.take_over("b", &todo).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(code(&world.take_over("b", &todo)), "todo_already_done");
    let held = world.todo("held", |_| {});
    world.hold(&held).unwrap();
    assert_eq!(code(&world.take_over("b", &held)), "not_claimable");
    let skilled = world.todo("skilled", |new| new.requires.capabilities = [text("gpu")].into());
    assert_eq!(code(&world.take_over("b", &skilled)), "not_claimable");
    world.register("b", &["gpu"]);
    world.take_over("b", &skilled).unwrap();
    world.goal_cmd(GoalCommand::Stop).unwrap();
    assert_eq!(code(&world.take_over("b", &skilled)), "goal_stopped");
    world.close(CloseKind::Abandoned, Some("no")).unwrap();
    assert_eq!(code(&world.take_over("b", &skilled)), "goal_closed");
}

#[test]
fn what_is_held_or_not_known_is_taken_over_by_nobody() {
    let mut world = World::empty();
    world.start(|_| {});
    let (held, lost) = (world.todo("held", |_| {}), world.todo("lost", |_| {}));
    world.ask_acceptance("a", &held);
    assert_eq!(code(&world.take_over("b", &held)), "held");
    let owned = world.running("b", &lost);
    world.lose("b", &owned, true).unwrap();
    assert_eq!(code(&world.take_over("a", &lost)), "turn_unresolved");
}

#[test]
fn what_is_open_about_the_work_is_taken_over_with_it() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.sent("a", &owned, "release-1.4");
    let gate_id = world.gate(GateKind::Decision, &todo);
    world.transfer(&todo, "b");
    let packet = world.handoff(&todo).packet;
    assert_eq!(packet.open_gates.iter().map(|gate| gate.gate_id).collect::<Vec<_>>(), [gate_id]);
    let effects: Vec<_> = packet.unresolved_effects.iter().map(|effect| effect.effect_id).collect();
    assert_eq!((effects, packet.next_action.step), (vec![effect_id], NextStep::Begin));
    world.take_over("b", &todo).unwrap();
    assert_eq!(
        super::play::refused(world.claim("b", &todo)),
        "effect_unresolved",
        "a claim is still refused"
    );
}

#[test]
fn an_open_effect_or_a_moment_hides_nobody_who_keeps_the_work() {
    let mut world = World::empty();
    world.start(|_| {});
    world.register("c", &[]);
    // Owned, and then kept for another.
    let todo = world.todo("owned", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.sent("a", &owned, "one");
    for name in ["a", "b"] {
        assert_eq!(code(&world.take_over(name, &todo)), "already_claimed", "{name}: it is owned");
    }
    world.transfer(&todo, "b");
    assert_eq!(code(&world.take_over("c", &todo)), "already_claimed", "it is kept for b");
    world.take_over("b", &todo).unwrap();
    // It waits for a moment.
    let wake = Wake::After(world.now().plus(Duration::from_mins(60)));
    world.todo_cmd(TodoCommand::Defer { todo_id: todo.clone(), own_id: None, wake: wake.clone() }).unwrap();
    assert_eq!(code(&world.take_over("c", &todo)), "already_claimed", "and still is, deferred");
    let later = world.todo("later", |_| {});
    world.transfer(&later, "b");
    world.todo_cmd(TodoCommand::Defer { todo_id: later.clone(), own_id: None, wake }).unwrap();
    assert_eq!(code(&world.take_over("c", &later)), "already_claimed", "a moment alone hides nobody either");
    world.take_over("b", &later).unwrap();
    // Held: by its Turn.
    let held = world.todo("held", |_| {});
    let owned = world.claim("a", &held).unwrap();
    world.sent("a", &owned, "two");
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    assert_eq!(code(&world.take_over("b", &held)), "held");
    // Its plan has to change.
    let covered = world.todo("covered", |_| {});
    let owned = world.claim("c", &covered).unwrap();
    world.sent("c", &owned, "three");
    let let_go = ClaimCommand::Release { todo_id: covered.clone(), own_id: owned.own_id };
    world.agent("c", Command::Claim(let_go)).unwrap();
    world.take_over("b", &covered).unwrap();
    world.evidence(user(), Some(&covered), Some(EvidenceVerdict::Rejected));
    let refused = world.take_over("b", &covered).unwrap_err();
    assert_eq!(
        (refused.code().as_str(), refused.details()["reason"].as_str()),
        ("not_claimable", Some("replan"))
    );
    assert_eq!(refused.hint_args().map(str::to_owned), Some(format!("todo show {covered}")));
}

#[test]
fn a_replan_is_handed_over_without_the_goals_validators() {
    let mut world = World::empty();
    world.start(|goal| goal.validators = vec![validator()]);
    let todo = world.todo("it", |_| {});
    world.evidence(user(), Some(&todo), Some(EvidenceVerdict::Rejected));
    assert_eq!(world.handoff(&todo).packet.todo.validators, [validator()]);
    let of = ReplanRef::of_todo(ReplanCause::EvidenceRejected, todo, 1);
    let claim = Command::Claim(ClaimCommand::Claim(Box::new(crate::kernel::claim::Claim::replanning(of))));
    let owned = world.agent("a", claim).unwrap().outcome::<Outcome>().unwrap();
    let replan = world.handoff(&owned.todo_ids[0]).packet.todo;
    assert_eq!((replan.kind, replan.validators), (TodoKind::Replan, vec![]));
}

#[test]
fn the_revision_moves_with_each_part_and_goes_back_with_none() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let mut seen = BTreeSet::from([world.handoff(&todo).revision]);
    let mut moved = |world: &mut World, what: &str| {
        assert!(seen.insert(world.handoff(&todo).revision), "{what} did not move it");
    };
    let mut goal = GoalChange { objective: Some(text("ship it well")), ..GoalChange::default() };
    world.goal_cmd(GoalCommand::Update(Box::new(goal.clone()))).unwrap();
    moved(&mut world, "the objective");
    let needs_approval = [Key::Publish].into();
    goal = GoalChange::default();
    goal.boundary =
        Some(BoundaryChange { needs_approval: Some(needs_approval), ..BoundaryChange::default() });
    world.goal_cmd(GoalCommand::Update(Box::new(goal))).unwrap();
    moved(&mut world, "the boundary");
    for change in [
        Change { title: Some(text("well")), ..Change::default() },
        Change { detail: Some(text("at length")), ..Change::default() },
        Change { priority: Some(Priority::P0), ..Change::default() },
        Change { excluded_agents: Some([text("c")].into()), ..Change::default() },
    ] {
        let change = Box::new(change);
        world.todo_cmd(TodoCommand::Update { todo_id: todo.clone(), change }).unwrap();
        moved(&mut world, "the Todo");
    }
    let other = world.todo("before", |_| {});
    world.todo_cmd(TodoCommand::Link { todo_id: todo.clone(), depends_on: other.clone() }).unwrap();
    moved(&mut world, "a dependency");
    world.todo_cmd(TodoCommand::Unlink { todo_id: todo.clone(), depends_on: other }).unwrap();
    moved(&mut world, "its end");
    world.hold(&todo).unwrap();
    moved(&mut world, "a pause");
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    moved(&mut world, "what was proved");
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Failed).unwrap();
    moved(&mut world, "what is to be repaired");
    let owned = world.claim("a", &todo).unwrap();
    let effect_id = world.sent("a", &owned, "k");
    moved(&mut world, "an effect");
    world
        .effect(agent("a"), EffectCommand::Reconcile { effect_id, told: Told::Unknown, evidence: vec![] })
        .unwrap();
    moved(&mut world, "that nobody could tell of it");
    let evidence = vec![world.evidence(user(), None, None)];
    world
        .effect(agent("a"), EffectCommand::Reconcile { effect_id, told: Told::Confirmed, evidence })
        .unwrap();
    world.gate(GateKind::Decision, &todo);
    moved(&mut world, "a gate");
    let whole = world.gate_as(user(), GateKind::Approval, Blocks::Goal).unwrap();
    moved(&mut world, "a gate of the Goal");
    world.resolve(whole, Answer::Deny { reason: None }).unwrap();
    moved(&mut world, "its denial");
}

#[test]
fn the_last_of_several_proven_results_is_told_and_moves_the_revision_in_either_ledger() {
    let mut world = World::over(Kept::twin());
    world.start(|goal| goal.validators = vec![validator()]);
    let todo = world.todo("it", |_| {});
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        let owned = world.claim("a", &todo).unwrap();
        world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
        world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
        let page = world.handoff(&todo);
        assert_eq!(page.packet.last_validated.map(|standing| standing.turn_id), owned.turn_id);
        assert!(seen.insert(page.revision), "another result, the same revision");
    }
}

#[test]
fn the_revision_stays_while_no_part_moves() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let revision = world.handoff(&todo).revision;
    let same = |world: &mut World, what: &str| {
        assert_eq!(world.handoff(&todo).revision, revision, "{what} moved it");
    };
    world.transfer(&todo, "b");
    same(&mut world, "a transfer");
    world.take_over("b", &todo).unwrap();
    same(&mut world, "an acceptance");
    let owned = world.claim("b", &todo).unwrap();
    same(&mut world, "a claim");
    world.pass(Duration::from_mins(30));
    world
        .agent("b", Command::Claim(ClaimCommand::Renew { todo_id: todo.clone(), own_id: owned.own_id }))
        .unwrap();
    same(&mut world, "a renewal, and time");
    world.evidence(agent("b"), Some(&todo), None);
    same(&mut world, "evidence");
    let gate_id = world.gate(GateKind::Decision, &todo);
    world.user(Command::Gate(GateCommand::Withdraw { gate_id })).unwrap();
    same(&mut world, "a question that was taken back");
    let release = ClaimCommand::Release { todo_id: todo.clone(), own_id: owned.own_id };
    world.agent("b", Command::Claim(release)).unwrap();
    same(&mut world, "a release");
    world.retitle(&other, "else").unwrap();
    world.gate(GateKind::Decision, &other);
    let beside = world.todo("beside", |_| {});
    world.hosted("a", &beside).unwrap();
    same(&mut world, "other work");
}

#[test]
fn a_handoff_counts_once_its_acceptor_settled_before_anybody_else_took_the_work() {
    let of = |settled: u64, accepted: u64| (Count::Known(settled), Some(Count::Known(accepted)));
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    assert_eq!(world.handoff_metric(), of(0, 0));
    world.transfer(&todo, "b");
    world.take_over("b", &todo).unwrap();
    // Twice by the same, with what moved meanwhile, is one.
    world.retitle(&todo, "better").unwrap();
    world.take_over("b", &todo).unwrap();
    assert_eq!(world.handoff_metric(), of(0, 1), "it is still open");
    let failed = world.claim("b", &todo).unwrap();
    world.candidate("b", &failed, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("b", &failed, VerdictOutcome::Failed).unwrap();
    let owned = world.claim("b", &todo).unwrap();
    assert_eq!(world.handoff_metric(), of(0, 1));
    world.done("b", &owned).unwrap();
    assert_eq!(world.handoff_metric(), of(1, 1));
    // Another takes the work before whoever accepted it: it counts among all, and is never settled.
    let lost = world.todo("lost", |_| {});
    world.take_over("b", &lost).unwrap();
    let rivals = world.claim("a", &lost).unwrap();
    let release = ClaimCommand::Release { todo_id: lost.clone(), own_id: rivals.own_id };
    world.agent("a", Command::Claim(release)).unwrap();
    let owned = world.claim("b", &lost).unwrap();
    world.done("b", &owned).unwrap();
    assert_eq!(world.handoff_metric(), of(1, 2));
    // What settles without a handoff is none.
    let plain = world.todo("plain", |_| {});
    let owned = world.claim("a", &plain).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(world.handoff_metric(), of(1, 2));
}
