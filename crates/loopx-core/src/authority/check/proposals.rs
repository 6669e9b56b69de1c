//! Owns what may be proposed, what a person's word does with it, and what it never does.

use super::{
    attention::status,
    play::code,
    world::{World, agent, text, user},
};
use crate::{
    error::{Code, Result},
    kernel::{Command, GoalCommand, Outcome, ProposalCommand, RewardCommand, TodoCommand},
    model::*,
    projection::{Rank, WaitingOn},
};

fn cancel(todo_id: &TodoId) -> Command {
    let todo_id = todo_id.clone();
    Command::Todo(TodoCommand::Cancel { todo_id, reason: text("not wanted"), superseded_by: None })
}

fn at(todo: &Todo) -> Expected {
    Expected { todos: [(todo.todo_id.clone(), todo.revision)].into(), ..Expected::default() }
}

fn asked(command: Command, expected: Expected) -> Command {
    Command::Proposal(ProposalCommand::Add {
        kind: ProposalKind::Change,
        command: Box::new(command),
        expected,
        reason: text("it is in the way"),
    })
}

impl World {
    pub(super) fn propose(&mut self, name: &str, command: Command, expected: Expected) -> ProposalId {
        let receipt = self.agent(name, asked(command, expected)).unwrap();
        receipt.outcome::<Outcome>().unwrap().proposal_id.unwrap()
    }

    pub(super) fn proposal(&self, id: ProposalId) -> Proposal {
        let key = NounKey { kind: NounKind::Proposal, id: *id.as_bytes() };
        Proposal::of(&self.ledger.rows().nouns[&key]).unwrap().clone()
    }

    /// What a person who read it submits.
    fn word(&self, proposal_id: ProposalId) -> Command {
        let Proposal { command, expected, .. } = self.proposal(proposal_id);
        let command = serde_json::from_value(command).unwrap();
        Command::Proposal(ProposalCommand::Confirm { proposal_id, command: Box::new(command), expected })
    }

    pub(super) fn confirm(&mut self, proposal_id: ProposalId) -> Result<Receipt> {
        let command = self.word(proposal_id);
        self.user(command)
    }

    fn waiting(&self, name: &str) -> u32 {
        self.ledger.rows().agents[&(self.goal.clone(), text(name))].proposals
    }
}

fn state(world: &World, id: ProposalId) -> &'static str {
    world.proposal(id).state.as_str()
}

#[test]
fn a_confirmed_proposal_is_the_persons_own_command_in_one_commit() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let id = world.propose("a", cancel(&todo), at(&world.row(&todo)));
    assert!(world.row(&todo).is_live(), "a proposal does nothing");
    assert_eq!(code(&world.agent("a", cancel(&todo))), "actor_not_allowed");
    let before = world.envelopes().len();
    let receipt = world.confirm(id).unwrap();
    let made: Outcome = receipt.outcome().unwrap();
    assert_eq!((made.proposal_id, made.todo_ids), (Some(id), vec![todo.clone()]));
    assert!(matches!(world.row(&todo).state, TodoState::Cancelled { .. }));
    let events = world.envelopes().split_off(before);
    let kinds: Vec<_> = events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["proposal.confirmed", "todo.cancelled"]);
    assert!(events.iter().all(|event| event.operation_id == *receipt.operation_id()));
    assert_eq!(state(&world, id), "confirmed");
    assert_eq!(code(&world.confirm(id)), "invalid_transition");
}

#[test]
fn what_may_not_be_given_is_refused_when_it_is_confirmed_and_the_proposal_waits_on() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let id = world.propose("a", cancel(&todo), Expected::default());
    world.user(cancel(&todo)).unwrap();
    assert_eq!(code(&world.confirm(id)), "invalid_transition");
    assert_eq!(state(&world, id), "open");
    // A person who stated a name alone is refused before anything is looked at.
    let command = world.word(id);
    let mut stated = world.operation(user(), command);
    stated.provenance.assurance = Assurance::Stated;
    assert_eq!(code(&world.submit(stated)), "unauthenticated");
    let command = world.word(id);
    assert_eq!(code(&world.agent("a", command)), "user_only");
}

#[test]
fn what_can_be_carried_out_no_longer_is_refused_with_the_no_that_answers_it() {
    let mut world = World::new();
    let (todo, run) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let id = world.propose("a", cancel(&todo), Expected::default());
    world.user(cancel(&todo)).unwrap();
    let refused = world.confirm(id).unwrap_err();
    assert_eq!(refused.hint_args(), Some(format!("proposal reject {id}").as_str()));
    super::hints::check(refused.hint_args().unwrap());
    world.user(Command::Proposal(ProposalCommand::Reject { proposal_id: id, reason: None })).unwrap();
    // What is only in the way for now is told as that.
    let turn_id = world.running("b", &run).turn_id.unwrap();
    let id = world.propose("a", cancel(&run), Expected::default());
    let refused = world.confirm(id).unwrap_err();
    assert_eq!((refused.code(), state(&world, id)), (Code::TurnRunning, "open"));
    assert_eq!(refused.hint_args(), Some(format!("turn stop {turn_id}").as_str()));
}

#[test]
fn no_proposal_holds_another_nor_what_only_a_holder_or_a_machine_gives() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let id = world.propose("a", cancel(&todo), Expected::default());
    let judged = RewardCommand::Add {
        todo_id: Some(todo.clone()),
        turn_id: None,
        route: None,
        polarity: Polarity::Good,
        reason: text("x"),
        lesson: None,
    };
    let refused = [
        asked(cancel(&todo), Expected::default()),
        world.word(id),
        Command::Claim(crate::kernel::ClaimCommand::Claim(Box::new(crate::kernel::claim::Claim::attached(
            todo.clone(),
        )))),
        Command::Turn(crate::kernel::TurnCommand::Accept { turn_id: TurnId::from_bytes([1; 16]) }),
        Command::Reward(judged),
        Command::Goal(GoalCommand::Reopen),
        Command::Goal(GoalCommand::Incarnate),
    ];
    for command in refused {
        assert_eq!(code(&world.agent("a", asked(command.clone(), Expected::default()))), "invalid_argument");
    }
    let long: String = "x".repeat(500);
    let items = (0..40).map(|_| crate::kernel::BatchItem::Cancel {
        todo: crate::kernel::BatchRef::Todo(todo.clone()),
        reason: text(&long),
    });
    let command = asked(Command::Batch(items.collect()), Expected::default());
    assert_eq!(code(&world.agent("a", command)), "payload_too_large");
}

#[test]
fn another_command_than_was_proposed_is_not_confirmed() {
    let mut world = World::new();
    let (one, two) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let id = world.propose("a", cancel(&one), at(&world.row(&one)));
    let confirm = |command: Command, expected| {
        Command::Proposal(ProposalCommand::Confirm { proposal_id: id, command: Box::new(command), expected })
    };
    assert_eq!(code(&world.user(confirm(cancel(&two), at(&world.row(&one))))), "invalid_argument");
    assert_eq!(code(&world.user(confirm(cancel(&one), Expected::default()))), "invalid_argument");
    assert_eq!(state(&world, id), "open");
}

#[test]
fn what_its_author_expected_must_still_be_so() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let id = world.propose("a", cancel(&todo), at(&world.row(&todo)));
    let lapse = Command::Proposal(ProposalCommand::Lapse { proposal_id: id });
    assert_eq!(code(&world.user(lapse.clone())), "invalid_transition", "it is still so");
    world.retitle(&todo, "another").unwrap();
    assert_eq!(code(&world.confirm(id)), "stale_revision");
    assert_eq!(state(&world, id), "open", "a refusal writes nothing");
    world.user(lapse).unwrap();
    assert_eq!((state(&world, id), world.waiting("a")), ("stale", 0));
    assert_eq!(code(&world.confirm(id)), "stale_revision", "a retry says the same");
    assert!(world.row(&todo).is_live());
}

#[test]
fn a_person_says_no_or_not_now_and_only_the_author_takes_it_back() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let [one, two] = [(); 2].map(|()| world.propose("a", cancel(&todo), Expected::default()));
    let withdraw = |proposal_id| Command::Proposal(ProposalCommand::Withdraw { proposal_id });
    assert_eq!(code(&world.agent("b", withdraw(one))), "actor_not_allowed");
    assert_eq!(code(&world.user(withdraw(one))), "actor_not_allowed");
    let until = world.now().plus(Duration::from_mins(60));
    let defer = |until| Command::Proposal(ProposalCommand::Defer { proposal_id: one, until });
    let now = world.now();
    assert_eq!(code(&world.user(defer(now))), "invalid_argument");
    world.user(defer(until)).unwrap();
    assert_eq!((state(&world, one), world.waiting("a")), ("deferred", 2), "it still waits");
    world.agent("a", withdraw(one)).unwrap();
    let reject = Command::Proposal(ProposalCommand::Reject { proposal_id: two, reason: Some(text("no")) });
    world.user(reject.clone()).unwrap();
    assert_eq!((state(&world, one), state(&world, two)), ("withdrawn", "rejected"));
    assert_eq!(world.waiting("a"), 0);
    for after in [reject, withdraw(one), defer(until)] {
        assert!(matches!(code(&world.user(after.clone())), "invalid_transition" | "actor_not_allowed"));
    }
    assert_eq!(code(&world.confirm(two)), "invalid_transition");
}

#[test]
fn sixty_four_of_an_agent_wait_and_no_more() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let ids: Vec<_> = (0..64).map(|_| world.propose("a", cancel(&todo), Expected::default())).collect();
    assert_eq!(code(&world.agent("a", asked(cancel(&todo), Expected::default()))), "queue_full");
    world.propose("b", cancel(&todo), Expected::default());
    // Another set of capabilities is no way around it.
    let add = crate::kernel::AgentCommand::Add { agent_id: text("a"), capabilities: [text("gpu")].into() };
    world.user(Command::Agent(add)).unwrap();
    assert_eq!(code(&world.agent("a", asked(cancel(&todo), Expected::default()))), "queue_full");
    world.user(Command::Proposal(ProposalCommand::Reject { proposal_id: ids[0], reason: None })).unwrap();
    world.propose("a", cancel(&todo), Expected::default());
    assert_eq!(code(&world.agent("z", asked(cancel(&todo), Expected::default()))), "not_found");
}

#[test]
fn a_dream_is_never_due() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let other = world.todo("two", |_| {});
    world.hold(&todo).unwrap();
    let before = world.next("a", None).unwrap();
    let dream = Command::Proposal(ProposalCommand::Add {
        kind: ProposalKind::Dream,
        command: Box::new(Command::Todo(TodoCommand::Unhold { todo_id: todo })),
        expected: Expected::default(),
        reason: text("it could be done now"),
    });
    let receipt = world.agent("a", dream).unwrap();
    assert_eq!(world.next("a", None).unwrap(), before);
    assert_eq!(shown(&mut world), Vec::<String>::new());
    // A change is, beside what is to be done.
    let id = world.propose("b", cancel(&other), Expected::default());
    assert_eq!(shown(&mut world), [format!("proposal confirm {id}")]);
    assert_eq!(world.next("a", None).unwrap(), before);
    // A person may take it up all the same.
    world.confirm(receipt.outcome::<Outcome>().unwrap().proposal_id.unwrap()).unwrap();
}

/// The commands that status names for proposals.
fn shown(world: &mut World) -> Vec<String> {
    let rows = status(world, None).attention.into_iter();
    rows.filter(|row| row.kind == "proposal").map(|row| row.command).collect()
}

#[test]
fn a_change_that_waits_is_shown_and_work_goes_on_beside_it() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let before = status(&mut world, None);
    let id = world.propose("a", cancel(&todo), Expected::default());
    let after = status(&mut world, None);
    let command = format!("proposal confirm {id}");
    let row = after.attention.iter().find(|row| row.kind == "proposal").unwrap();
    assert_eq!((row.rank, &row.command, &row.about), (Rank::Person, &command, &id.to_string()));
    assert!(row.text.starts_with("agent:a@a.cli proposes `todo cancel`: it is in the way"), "{}", row.text);
    assert_eq!(
        (after.waiting_on, after.because, after.first.unwrap().command),
        (before.waiting_on, before.because, before.first.unwrap().command)
    );
    // With nothing else to do it is what the Goal waits for.
    world.user(cancel(&todo)).unwrap();
    let alone = status(&mut world, None);
    assert_eq!((alone.waiting_on, &*alone.because), (WaitingOn::User, "what was proposed is not answered"));
    assert_eq!(alone.first.unwrap().command, command);
    world.user(Command::Proposal(ProposalCommand::Reject { proposal_id: id, reason: None })).unwrap();
    let answered = status(&mut world, None);
    assert_eq!((&*answered.because, shown(&mut world)), ("nothing is left to do", Vec::new()));
}

#[test]
fn a_change_that_was_put_off_is_shown_once_its_time_has_come() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let id = world.propose("a", cancel(&todo), Expected::default());
    let until = world.now().plus(Duration::from_mins(60));
    world.user(Command::Proposal(ProposalCommand::Defer { proposal_id: id, until })).unwrap();
    assert_eq!(shown(&mut world), Vec::<String>::new());
    assert_eq!(status(&mut world, None).changes_at, Some(until), "who watches is told");
    world.pass(Duration::from_mins(59));
    assert_eq!(shown(&mut world), Vec::<String>::new());
    world.pass(Duration::from_mins(1));
    assert_eq!(shown(&mut world), [format!("proposal confirm {id}")]);
}

#[test]
fn a_change_is_found_behind_more_dreams_than_a_screen_holds() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    for _ in 0..40 {
        let dream = Command::Proposal(ProposalCommand::Add {
            kind: ProposalKind::Dream,
            command: Box::new(cancel(&todo)),
            expected: Expected::default(),
            reason: text("it could go"),
        });
        world.agent("a", dream).unwrap();
    }
    let id = world.propose("a", cancel(&todo), Expected::default());
    assert_eq!(shown(&mut world), [format!("proposal confirm {id}")]);
}

#[test]
fn a_proposal_knows_the_turn_it_was_made_in() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let turn_id = world.claim("a", &todo).unwrap().turn_id.unwrap();
    let id = world.propose("a", cancel(&todo), Expected::default());
    assert_eq!((world.proposal(id).todo_id, world.proposal(id).turn_id), (Some(todo.clone()), Some(turn_id)));
    let other = world.propose("b", cancel(&todo), Expected::default());
    assert_eq!(world.proposal(other).turn_id, None);
    // Contained, it is the Turn that contains.
    let mut inside = world.operation(agent("a"), asked(cancel(&todo), Expected::default()));
    inside.provenance.contained = Some(turn_id);
    let made = world.submit(inside).unwrap().outcome::<Outcome>().unwrap().proposal_id.unwrap();
    assert_eq!(world.proposal(made).turn_id, Some(turn_id));
}
