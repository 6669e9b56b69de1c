//! Owns the random walker: histories of people, agents, drivers and time, and the way from wherever they led to
//! the end of the Goal.
//!
//! Deterministic but for minted ids: a failure names its seed.

mod person;
mod steps;

use super::{
    hints,
    play::MACHINE,
    rules,
    world::{World, text, validator},
};
use crate::{
    error::Code,
    kernel::{
        Action, Asker, Command, Decided, Outcome, QuotaCommand, UnresolvedBy, decide_next, would_admit,
    },
    model::*,
};

/// How long a history is before everybody turns to closing the Goal.
const LENGTH: usize = 28;

/// A source of choices.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    /// Yes once in `n` times.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some.
    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())).cloned() }
    }
}

/// A world that is walked, with every token that was ever handed out.
pub(super) struct Walk {
    pub(super) world: World,
    pub(super) dice: Dice,
    pub(super) tokens: Vec<(String, Outcome)>,
    pub(super) log: Vec<String>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut world = World::empty();
        let (proved, exclusive, needs) = (dice.once_in(2), dice.once_in(5), dice.once_in(3));
        let (trusts, limited) = (dice.once_in(3), dice.once_in(4));
        // Beside a limit of Turns, or alone.
        let metered = dice.once_in(4);
        world.start(|goal| {
            goal.workspace = Some(text("0123456789abcdef"));
            goal.boundary.exclusive_workspace = exclusive;
            if proved {
                goal.validators = vec![validator()];
            }
            if needs {
                goal.boundary.needs_approval = [Key::Publish, text("path:docs")].into();
            }
            if trusts {
                goal.unvalidated = Unvalidated::Trust;
            }
            goal.acceptance =
                vec![Criterion { text: text("it works"), check: None, state: CriterionState::Open }];
        });
        world.register("a", &["deploy"]);
        if limited {
            world.limit(None, Some(4)).unwrap();
            world.limit(Some("a"), Some(2)).unwrap();
        }
        if metered {
            meter(&mut world);
        }
        Self { world, dice, tokens: Vec::new(), log: Vec::new() }
    }

    /// What an agent should do that came by itself, and what a driver of it should.
    fn next(&mut self, name: &str, own_id: Option<OwnId>) -> Decided {
        self.asked(name, own_id, Executor::Hosted);
        self.asked(name, own_id, Executor::Attached)
    }

    /// What an agent should do, on the machine of the drivers if it is `b`; and the two promises of that answer.
    fn asked(&mut self, name: &str, own_id: Option<OwnId>, executor: Executor) -> Decided {
        let machine: MachineId = text(MACHINE);
        let goal = self.world.goal.clone();
        let here = name == "b";
        let rows = self.world.ledger.rows();
        self.world
            .ask(
                name,
                own_id,
                |asker| asker.executor = executor,
                |facts, asker| {
                    let mut asker: Asker<'_> = asker.clone();
                    asker.machine_id = here.then_some(&machine);
                    rules::check(&rows, facts, &goal, &asker);
                    let decided = decide_next(facts, &goal, &asker)?;
                    match &decided.action {
                        Action::Run { todo_id, turn_id: None } | Action::Repair { todo_id, .. } => {
                            assert!(decided.obligation.must_attempt_work);
                            if let Err(error) = would_admit(facts, todo_id, None, &asker) {
                                panic!("obliged to {:?}, and refused: {error:?}", decided.action);
                            }
                        }
                        Action::Replan { todo_id, replan } => {
                            assert!(decided.obligation.must_attempt_work);
                            if let Err(error) = would_admit(facts, todo_id, replan.as_ref(), &asker) {
                                panic!("obliged to {:?}, and refused: {error:?}", decided.action);
                            }
                        }
                        Action::Run { .. } | Action::Reconcile { .. } => {
                            assert!(decided.obligation.must_attempt_work);
                        }
                        Action::Wait { .. } | Action::AskUser { .. } | Action::Closed => {
                            if let Action::AskUser { asks } = &decided.action {
                                for ask in asks {
                                    hints::check(&ask.command);
                                }
                            }
                            assert!(!decided.obligation.must_attempt_work);
                        }
                    }
                    Ok(decided)
                },
            )
            .unwrap()
    }

    /// The token of an agent's attached ownership that is current.
    pub(super) fn token(&self, name: &str) -> Option<OwnId> {
        let rows = self.world.ledger.rows();
        let mut own = rows.todos.values().filter_map(|todo| todo.ownership.as_ref()).filter(|own| {
            let attached = rows.turns[&own.turn_id].executor == Executor::Attached;
            own.agent_id.as_str() == name
                && own.endpoint.as_str() == format!("{name}.cli")
                && attached
                && !own.frozen
        });
        own.next().map(|own| own.own_id)
    }

    /// Agents follow `next`, a person follows `ask_user`, until the Goal is closed or everybody waits for a bell.
    fn drive(&mut self) -> &'static str {
        let mut looks = 0;
        for _ in 0..200 {
            if looks > 12 {
                return self.waits_for_a_monitor();
            }
            let mut wait: Option<Timestamp> = None;
            let mut moved = false;
            let mut bells = Vec::new();
            for name in ["a", "b"] {
                let own_id = self.token(name);
                let decided = self.next(name, own_id);
                self.log.push(format!("{name}: {:?}", decided.action));
                match decided.action {
                    Action::Closed => return "closed",
                    Action::Run { turn_id: Some(turn_id), .. } => {
                        self.finish(name, turn_id);
                        moved = true;
                    }
                    Action::Run { todo_id, turn_id: None } | Action::Repair { todo_id, .. } => {
                        // What is awaited comes to its end.
                        let awaits = self.world.ledger.rows().goals[&self.world.goal].awaited().is_some();
                        self.work(name, &todo_id);
                        moved = true;
                        let watches = self.world.row(&todo_id).kind == TodoKind::Monitor && !awaits;
                        looks = if watches { looks + 1 } else { 0 };
                    }
                    Action::Replan { todo_id, replan } => {
                        self.replan(name, &todo_id, replan);
                        moved = true;
                    }
                    Action::Reconcile { of: UnresolvedBy::Effect(_), command } => {
                        assert!(self.person(name, &command).is_ok(), "{command}");
                        moved = true;
                    }
                    Action::Reconcile { of: UnresolvedBy::Turn(turn_id), .. } => {
                        let until = self.reconcile(turn_id);
                        moved |= until.is_none();
                        wait = earlier(wait, until);
                    }
                    Action::AskUser { asks } => {
                        for ask in asks {
                            match self.person(name, &ask.command) {
                                Ok(()) => moved = true,
                                Err(until) => wait = earlier(wait, until),
                            }
                        }
                    }
                    Action::Wait { why, until, .. } => {
                        if why == Code::GoalStopped.as_str() {
                            self.resume();
                            moved = true;
                        }
                        wait = earlier(wait, until);
                        bells.push(why);
                    }
                }
            }
            if moved {
                continue;
            }
            let Some(until) = wait else {
                return self.waits_for_a_bell(&bells);
            };
            let now = self.world.now();
            self.world.pass(Duration::from_ms(until.since(now).as_ms() + 1));
            // Time is only seen to pass by a commit or a question; a person's note makes it one.
            self.world.evidence(super::world::user(), None, None);
        }
        panic!("a dead end: nobody gets anywhere\n{}", self.log.join("\n"));
    }

    /// Nothing but looks is left, and something waits for what is watched or for a bell: a wait with a time, for ever.
    fn waits_for_a_monitor(&self) -> &'static str {
        let rows = self.world.ledger.rows();
        let watched = |id: &TodoId| rows.todos[id].kind == TodoKind::Monitor && rows.todos[id].is_live();
        let waits = |todo: &Todo| todo.is_live() && (sleeps(todo) || todo.depends_on.iter().any(watched));
        assert!(rows.todos.values().any(waits), "only looks are left\n{}", self.log.join("\n"));
        "watched"
    }

    /// Everybody waits, and for no moment: there must be something whose change rings.
    fn waits_for_a_bell(&self, bells: &[&str]) -> &'static str {
        let rows = self.world.ledger.rows();
        assert!(
            bells == ["time", "time"] && rows.todos.values().any(sleeps),
            "{bells:?}\n{}",
            self.log.join("\n")
        );
        "bell"
    }
}

/// A budget of tokens that one attempt fits in more often than three do.
fn meter(world: &mut World) {
    let limit = Limit { turns: None, ..Limit::of_turns(0, Duration::from_mins(24 * 60)) };
    let limit = Some(Limit { tokens: Some(250), ..limit });
    world.user(Command::Quota(QuotaCommand::Set { agent_id: Some(text("b")), limit })).unwrap();
    let ceiling = Caps { tokens: Some(60), ..Caps::default() };
    world.user(Command::Quota(QuotaCommand::Cap { agent_id: None, todo_id: None, ceiling })).unwrap();
}

/// Whether a Todo waits for another, or for an answer, that can still come: a change that rings.
fn sleeps(todo: &Todo) -> bool {
    let wake = matches!(todo.state, TodoState::Deferred { wake: Wake::TodoDone(_) | Wake::Gate(_) });
    wake && !todo.counters.wake_lost
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn walk(seed: u64) -> &'static str {
    let mut walk = Walk::new(seed);
    for _ in 0..LENGTH {
        walk.step();
        for name in ["a", "b"] {
            let own_id = walk.token(name);
            walk.next(name, own_id);
        }
    }
    walk.log.push("-- everybody turns to closing".to_owned());
    let end = walk.drive();
    walk.check_spending();
    end
}

/// Walks some histories; nine in ten are to end with the Goal closed.
fn walk_all(seeds: std::ops::Range<u64>) {
    let mut ends = std::collections::BTreeMap::new();
    let all = seeds.end - seeds.start;
    for seed in seeds {
        let end =
            std::panic::catch_unwind(|| walk(seed)).unwrap_or_else(|_| panic!("the history of seed {seed}"));
        *ends.entry(end).or_insert(0_u64) += 1;
    }
    let closed = ends.get("closed").copied().unwrap_or_default();
    assert!(closed * 10 >= all * 8, "{ends:?}");
}

/// The same over four ranges of seeds, so that they run side by side.
macro_rules! walks {
    ($($name:ident $seeds:expr;)*) => {
        $(#[test]
        fn $name() {
            walk_all($seeds);
        })*
    };
}

walks! {
    from_every_reached_state_the_goal_is_closed_or_a_named_wait_is_met_1 0..60;
    from_every_reached_state_the_goal_is_closed_or_a_named_wait_is_met_2 60..120;
    from_every_reached_state_the_goal_is_closed_or_a_named_wait_is_met_3 120..180;
    from_every_reached_state_the_goal_is_closed_or_a_named_wait_is_met_4 180..240;
}
