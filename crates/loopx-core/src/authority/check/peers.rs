//! Owns what a peer may return, who decides on it, and that either outlives the other side's end.

use super::{
    play::{code, refused},
    world::{World, agent, text, user},
};
use crate::{
    error::Result,
    kernel::{
        AgentCommand, Change, ClaimCommand, Command, Coordinator, Given, GoalCommand, Outcome, PeerCommand,
        TodoCommand, turn::Found,
    },
    model::*,
};

/// A result of a Todo, with one piece of evidence or none.
pub(super) fn given(from: &TodoId, evidence: impl IntoIterator<Item = EvidenceId>) -> Given {
    Given {
        todo_id: from.clone(),
        own_id: None,
        turn_id: None,
        evidence: evidence.into_iter().collect(),
        summary: text("two of three hold"),
    }
}

impl World {
    /// A coordinator, and a peer's Todo that returns to it.
    pub(super) fn peers(&mut self) -> (TodoId, TodoId) {
        let coordinator = self.todo("put it together", |_| {});
        let peer = self.todo("look into it", |new| new.coordinates = Some(coordinator.clone()));
        (coordinator, peer)
    }

    pub(super) fn give(&mut self, name: &str, given: Given) -> Result<Receipt> {
        self.agent(name, Command::Peer(PeerCommand::Return(Box::new(given))))
    }

    /// What the owner of a peer's Todo returns.
    pub(super) fn returned(&mut self, name: &str, owned: &Outcome) -> ReturnId {
        let shown = self.evidence(agent(name), None, None);
        let given = Given { own_id: owned.own_id, ..given(&owned.todo_ids[0], [shown]) };
        self.give(name, given).unwrap().outcome::<Outcome>().unwrap().return_id.unwrap()
    }

    pub(super) fn return_row(&self, return_id: ReturnId) -> PeerReturn {
        let key = NounKey { kind: NounKind::PeerReturn, id: *return_id.as_bytes() };
        PeerReturn::of(&self.ledger.rows().nouns[&key]).unwrap().clone()
    }

    /// An agent takes a return in, with a token or without.
    fn adopt(&mut self, name: &str, return_id: ReturnId, own_id: Option<OwnId>) -> Result<Receipt> {
        self.agent(name, adopting(self.return_row(return_id), own_id))
    }

    fn state(&self, return_id: ReturnId) -> &'static str {
        self.return_row(return_id).state.as_str()
    }
}

fn adopting(given: PeerReturn, own_id: Option<OwnId>) -> Command {
    let PeerReturn { return_id, todo_id, .. } = given;
    Command::Peer(PeerCommand::Adopt { return_id, todo_id, own_id, reason: None })
}

fn rejecting(given: PeerReturn, own_id: Option<OwnId>, superseded_by: Option<ReturnId>) -> Command {
    let PeerReturn { return_id, todo_id, .. } = given;
    let reason = text("it is known better");
    Command::Peer(PeerCommand::Reject { return_id, todo_id, own_id, reason, superseded_by })
}

#[test]
fn v07_a_return_outlives_its_coordinators_turn_and_is_adopted_after_that_was_recovered() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let coordinates = world.running("a", &coordinator);
    let works = world.claim("b", &peer).unwrap();
    let return_id = world.returned("b", &works);
    // The coordinator's host is lost; meanwhile its peer ends too, and its agent goes.
    world.lose("a", &coordinates, true).unwrap();
    world.done("b", &works).unwrap();
    world.user(Command::Agent(AgentCommand::Retire { agent_id: text("b") })).unwrap();
    assert_eq!(world.turn_state(&coordinates), "unresolved");
    assert_eq!(world.state(return_id), "returned");
    world.recover("a", &coordinates, Found::Nothing(HostFailure::Crashed)).unwrap();
    let again = world.running("a", &coordinator);
    assert_eq!(code(&world.adopt("a", return_id, coordinates.own_id)), "ownership_superseded");
    world.adopt("a", return_id, again.own_id).unwrap();
    let row = world.return_row(return_id);
    assert!(matches!(&row.state, ReturnState::Adopted { by, .. } if *by == agent("a")), "{row:?}");
    assert_eq!((row.turn_id, row.by), (works.turn_id.unwrap(), agent("b")), "what was returned is as it was");
}

#[test]
fn v07_a_return_outlives_a_coordinator_that_lapsed_and_whoever_took_it_up_decides() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let first = world.claim("a", &coordinator).unwrap();
    let works = world.claim("b", &peer).unwrap();
    let return_id = world.returned("b", &works);
    world.done("b", &works).unwrap();
    world.pass(Duration::from_mins(46));
    let second = world.claim("b", &coordinator).unwrap();
    assert_eq!(code(&world.adopt("a", return_id, first.own_id)), "ownership_superseded");
    assert_eq!(code(&world.adopt("b", return_id, first.own_id)), "ownership_superseded");
    world.adopt("b", return_id, second.own_id).unwrap();
    assert_eq!(world.state(return_id), "adopted");
}

#[test]
fn v07_a_useful_first_result_is_improved_by_evidence() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let coordinates = world.claim("a", &coordinator).unwrap();
    let works = world.claim("b", &peer).unwrap();
    let first = world.returned("b", &works);
    world.adopt("a", first, coordinates.own_id).unwrap();
    // More is measured, and the first result gives way to one that rests on both pieces.
    let measured = world.evidence(agent("b"), Some(&peer), None);
    let known = world.return_row(first).evidence[0];
    let better =
        Given { own_id: works.own_id, summary: text("all three hold"), ..given(&peer, [known, measured]) };
    let second = world.give("b", better).unwrap().outcome::<Outcome>().unwrap().return_id.unwrap();
    assert_eq!((world.state(first), world.state(second)), ("adopted", "returned"), "nobody decided yet");
    let instead = rejecting(world.return_row(first), coordinates.own_id, Some(second));
    world.agent("a", instead.clone()).unwrap();
    world.adopt("a", second, coordinates.own_id).unwrap();
    let row = world.return_row(first);
    assert!(matches!(row.state, ReturnState::Superseded { superseded_by, .. } if superseded_by == second));
    assert_eq!(world.return_row(second).evidence, [known, measured]);
    assert_eq!((world.state(second), row.evidence), ("adopted", vec![known]));
    assert_eq!(code(&world.agent("a", instead)), "invalid_transition");
}

#[test]
fn what_stands_in_the_place_of_another_was_given_to_the_same_coordinator_and_still_counts() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let works = world.claim("b", &peer).unwrap();
    let [one, two, three] = [(); 3].map(|()| world.returned("b", &works));
    let other = world.todo("another", |_| {});
    world.coordinate(&peer, Coordinator::Todo(other)).unwrap();
    let elsewhere = world.returned("b", &works);
    let row = |world: &World| world.return_row(one);
    let nobody = ReturnId::from_bytes([9; 16]);
    for (instead, expected) in
        [(one, "invalid_argument"), (elsewhere, "invalid_argument"), (nobody, "not_found")]
    {
        let command = rejecting(row(&world), None, Some(instead));
        assert_eq!(code(&world.user(command)), expected, "{instead}");
    }
    world.user(rejecting(world.return_row(two), None, None)).unwrap();
    let by_rejected = rejecting(row(&world), None, Some(two));
    assert_eq!(code(&world.user(by_rejected)), "invalid_argument");
    world.user(rejecting(row(&world), None, Some(three))).unwrap();
    let round = rejecting(world.return_row(three), None, Some(one));
    assert_eq!(code(&world.user(round)), "invalid_argument", "it would go round");
    assert_eq!(world.row(&coordinator).revision, 1);
}

#[test]
fn only_the_owner_of_the_coordinator_or_a_person_decides_and_only_once() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let works = world.claim("b", &peer).unwrap();
    let [one, two] = [(); 2].map(|()| world.returned("b", &works));
    assert_eq!(code(&world.adopt("b", one, None)), "own_required");
    assert_eq!(code(&world.adopt("b", one, works.own_id)), "ownership_superseded", "it owns the peer's Todo");
    let coordinates = world.claim("a", &coordinator).unwrap();
    assert_eq!(code(&world.adopt("a", one, None)), "own_required");
    assert_eq!(code(&world.adopt("b", one, coordinates.own_id)), "ownership_superseded", "another's token");
    assert_eq!(code(&world.adopt("a@a.mac", one, coordinates.own_id)), "ownership_superseded");
    let strange = PeerReturn { todo_id: peer.clone(), ..world.return_row(one) };
    assert_eq!(code(&world.agent("a", adopting(strange, coordinates.own_id))), "invalid_argument");
    let absent = PeerReturn { return_id: ReturnId::from_bytes([9; 16]), ..world.return_row(one) };
    assert_eq!(code(&world.agent("a", adopting(absent, coordinates.own_id))), "not_found");
    assert_eq!(world.state(one), "returned");
    world.adopt("a", one, coordinates.own_id).unwrap();
    let no = rejecting(world.return_row(one), coordinates.own_id, None);
    assert_eq!(code(&world.adopt("a", one, coordinates.own_id)), "invalid_transition");
    assert_eq!(code(&world.agent("a", no)), "invalid_transition");
    // Its owner let go: what was his token says so, and a person still decides.
    let release = ClaimCommand::Release { todo_id: coordinator, own_id: coordinates.own_id };
    world.agent("a", Command::Claim(release)).unwrap();
    assert_eq!(code(&world.adopt("a", two, coordinates.own_id)), "ownership_expired");
    let row = world.return_row(two);
    world.user(rejecting(row.clone(), None, None)).unwrap();
    assert_eq!(world.state(two), "rejected");
    assert_eq!(code(&world.user(adopting(row, None))), "invalid_transition");
}

#[test]
fn a_person_decides_on_what_was_returned_to_a_coordinator_that_is_done() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let works = world.claim("b", &peer).unwrap();
    let coordinates = world.claim("a", &coordinator).unwrap();
    world.done("a", &coordinates).unwrap();
    let late = world.returned("b", &works);
    assert_eq!(code(&world.adopt("a", late, coordinates.own_id)), "todo_already_done");
    world.user(adopting(world.return_row(late), None)).unwrap();
    assert!(world.row(&coordinator).is_done(), "it stays as it was");
}

#[test]
fn a_return_is_of_a_turn_of_its_own_agent_and_rests_on_evidence() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let shown = world.evidence(agent("b"), None, None);
    let wrong = world.evidence(user(), None, Some(EvidenceVerdict::Rejected));
    assert_eq!(code(&world.give("b", given(&coordinator, [shown]))), "invalid_argument", "no coordinator");
    assert_eq!(code(&world.give("b", given(&peer, [shown]))), "invalid_argument", "no Turn");
    let works = world.claim("b", &peer).unwrap();
    let coordinates = world.claim("a", &coordinator).unwrap();
    let own = |given: Given| Given { own_id: works.own_id, ..given };
    assert_eq!(code(&world.give("b", own(given(&peer, [])))), "invalid_argument", "no evidence");
    assert_eq!(code(&world.give("b", own(given(&peer, [wrong])))), "invalid_argument", "it was rejected");
    let absent = EvidenceId::from_bytes([9; 16]);
    assert_eq!(code(&world.give("b", own(given(&peer, [absent])))), "not_found");
    assert_eq!(code(&world.give("b", given(&peer, [shown]))), "own_required");
    let others = Given { own_id: coordinates.own_id, ..given(&peer, [shown]) };
    assert_eq!(code(&world.give("b", others)), "ownership_superseded");
    assert_eq!(code(&world.give("a", own(given(&peer, [shown])))), "actor_not_allowed", "another's Turn");
    assert_eq!(code(&world.give("c", own(given(&peer, [shown])))), "not_found", "it is not registered");
    let of = |turn_id| Given { turn_id, ..own(given(&peer, [shown])) };
    assert_eq!(code(&world.give("b", of(coordinates.turn_id))), "invalid_argument", "of another Todo");
    assert_eq!(code(&world.give("b", of(Some(TurnId::from_bytes([9; 16]))))), "not_found");
    let unknown = Given { todo_id: text("g.9"), ..given(&peer, [shown]) };
    assert_eq!(code(&world.give("b", unknown)), "not_found");
    let by_user = Command::Peer(PeerCommand::Return(Box::new(given(&peer, [shown]))));
    assert_eq!(code(&world.user(by_user)), "actor_not_allowed");
    world.give("b", of(works.turn_id)).unwrap();
    // After its Turn there is no token to present, and the Turn is named.
    world.done("b", &works).unwrap();
    let unnamed = world.give("b", given(&peer, [shown])).unwrap_err();
    assert_eq!(unnamed.code().as_str(), "invalid_argument");
    assert_eq!(unnamed.hint_args().map(str::to_owned), Some(format!("turn list --todo {peer}")));
    world.give("b", Given { turn_id: works.turn_id, ..given(&peer, [shown]) }).unwrap();
}

#[test]
fn what_is_found_in_a_turn_that_only_stopped_is_returned_of_that_turn() {
    let mut world = World::new();
    let (_, peer) = world.peers();
    let early = world.claim("a", &peer).unwrap();
    world.candidate("a", &early, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &early, VerdictOutcome::Failed).unwrap();
    let late = world.claim("b", &peer).unwrap();
    let release = ClaimCommand::Release { todo_id: peer.clone(), own_id: late.own_id };
    world.agent("b", Command::Claim(release)).unwrap();
    let shown = world.evidence(agent("b"), None, None);
    for name in ["a", "b"] {
        assert_eq!(code(&world.give(name, given(&peer, [shown]))), "invalid_argument", "{name}: of which?");
    }
    let named = Given { turn_id: late.turn_id, ..given(&peer, [shown]) };
    let receipt = world.give("b", named).unwrap();
    let row = world.return_row(receipt.outcome::<Outcome>().unwrap().return_id.unwrap());
    assert_eq!(row.turn_id, late.turn_id.unwrap());
}

#[test]
fn a_turn_that_another_ownership_went_over_returns_nothing() {
    let mut world = World::new();
    let (_, peer) = world.peers();
    let late = world.running("b", &peer);
    world.host_end("b", &late, Some(HostFailure::Crashed), true).unwrap();
    world.pass(Duration::from_mins(60));
    world.claim("a", &peer).unwrap();
    assert_eq!(world.turn_state(&late), "fenced");
    let shown = world.evidence(agent("b"), None, None);
    let stale = Given { turn_id: late.turn_id, own_id: late.own_id, ..given(&peer, [shown]) };
    assert_eq!(code(&world.give("b", stale)), "ownership_superseded");
}

#[test]
fn a_cancelled_coordinator_is_returned_nothing_and_keeps_what_it_has() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let works = world.claim("b", &peer).unwrap();
    let early = world.returned("b", &works);
    let (todo_id, reason) = (coordinator.clone(), text("not wanted"));
    world.todo_cmd(TodoCommand::Cancel { todo_id, reason, superseded_by: None }).unwrap();
    let shown = world.evidence(agent("b"), None, None);
    let error = world.give("b", Given { own_id: works.own_id, ..given(&peer, [shown]) }).unwrap_err();
    assert_eq!(error.code().as_str(), "invalid_transition");
    assert_eq!(error.hint_args(), Some("todo reopen g.1"));
    world.user(adopting(world.return_row(early), None)).unwrap();
    world.todo_cmd(TodoCommand::Reopen { todo_id: coordinator }).unwrap();
    world.returned("b", &works);
}

#[test]
fn a_return_moves_no_todo_and_nothing_that_anybody_should_do() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let works = world.claim("b", &peer).unwrap();
    world.done("b", &works).unwrap();
    let (rows, next) = (world.ledger.rows().todos, world.next("a", None).unwrap());
    let shown = world.evidence(agent("b"), None, None);
    let events = world.envelopes().len();
    let named = Given { turn_id: works.turn_id, ..given(&peer, [shown]) };
    let receipt = world.give("b", named).unwrap();
    let return_id = receipt.outcome::<Outcome>().unwrap().return_id.unwrap();
    world.user(adopting(world.return_row(return_id), None)).unwrap();
    assert_eq!(world.kinds_after(events), ["peer.returned", "peer.adopted"]);
    assert_eq!((world.ledger.rows().todos, world.next("a", None).unwrap()), (rows, next));
    assert_eq!(world.row(&coordinator).revision, 1);
}

#[test]
fn a_stopped_goal_lets_what_is_admitted_return_and_a_closed_one_nobody() {
    let mut world = World::new();
    let (coordinator, peer) = world.peers();
    let coordinates = world.claim("a", &coordinator).unwrap();
    let works = world.claim("b", &peer).unwrap();
    world.goal_cmd(GoalCommand::Stop).unwrap();
    let return_id = world.returned("b", &works);
    world.adopt("a", return_id, coordinates.own_id).unwrap();
    let open = world.returned("b", &works);
    world.close(CloseKind::Abandoned, Some("no")).unwrap();
    let shown = world.return_row(open).evidence[0];
    assert_eq!(code(&world.give("b", given(&peer, [shown]))), "goal_closed");
    assert_eq!(code(&world.user(adopting(world.return_row(open), None))), "goal_closed");
}

impl World {
    fn coordinate(&mut self, todo_id: &TodoId, coordinates: Coordinator) -> Result<Receipt> {
        let change = Box::new(Change { coordinates: Some(coordinates), ..Change::default() });
        self.todo_cmd(TodoCommand::Update { todo_id: todo_id.clone(), change })
    }
}

#[test]
fn a_todo_returns_to_another_of_its_goal_that_was_not_cancelled() {
    let mut world = World::new();
    let (one, two) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let gone = world.todo("gone", |_| {});
    let (todo_id, reason) = (gone.clone(), text("no"));
    world.todo_cmd(TodoCommand::Cancel { todo_id, reason, superseded_by: None }).unwrap();
    let to = |id: &TodoId| Coordinator::Todo(id.clone());
    for (coordinator, expected) in [
        (to(&one), "invalid_argument"),
        (to(&gone), "invalid_transition"),
        (to(&text("g.99")), "not_found"),
        (to(&text("h.1")), "invalid_argument"),
    ] {
        assert_eq!(code(&world.coordinate(&one, coordinator.clone())), expected, "{coordinator:?}");
    }
    world.coordinate(&one, to(&two)).unwrap();
    let row = world.row(&one);
    assert_eq!((row.coordinates, row.requirement_revision), (Some(two.clone()), 2), "it is another wish");
    // Nothing waits along it, so two may look after each other.
    world.coordinate(&two, to(&one)).unwrap();
    assert_eq!(refused(world.claim("a", &gone)), "not_claimable");
    world.claim("a", &one).unwrap();
    world.claim("b", &two).unwrap();
    world.coordinate(&one, Coordinator::Nobody).unwrap();
    assert_eq!(world.row(&one).coordinates, None);
    let mut add = |coordinator: &TodoId| {
        let mut new = crate::kernel::NewTodo::titled(text("x"), TodoKind::Advance);
        new.coordinates = Some(coordinator.clone());
        code(&world.todo_cmd(TodoCommand::Add(Box::new(new))))
    };
    assert_eq!((add(&gone), add(&two)), ("invalid_transition", "ok"));
}
