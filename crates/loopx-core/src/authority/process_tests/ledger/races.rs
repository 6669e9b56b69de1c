//! Many processes at one Todo, and at one each.

use std::collections::BTreeMap;

use super::*;

/// What a child asks for in its n-th round: an id, its actor, the number.
pub(super) type Wanted = fn(&str, &str, u32) -> Operation<Wish>;

/// A child: claims one Todo after another whenever it is told to, and lets go of what it won before the next.
pub(super) fn race(home: &Path, actor: &str, wanted: Wanted) -> Result<()> {
    let mut authority = authority(home)?;
    let id = |what: &str, n| format!("{what}-{}-{n}", std::process::id());
    println!("@ready");
    for n in 1.. {
        if !roles::told() {
            return Ok(());
        }
        let answer = authority.submit(wanted(&id("claim", n), actor, n));
        let won = match &answer {
            Ok(_) => {
                println!("@won");
                true
            }
            Err(e) => {
                let told = e.details().get("holder").or_else(|| e.details().get("why"));
                let holder = told.and_then(|holder| holder.as_str()).unwrap_or("?");
                println!("@{} {holder}", e.code());
                false
            }
        };
        if !roles::told() {
            return Ok(());
        }
        if won {
            let Outcome { own_id, mut todo_ids, .. } = answer?.outcome()?;
            let release = ClaimCommand::Release { todo_id: todo_ids.remove(0), own_id };
            authority.submit(operation(&id("release", n), actor, Wish::Claim(release)))?;
        }
        println!("@free");
    }
    Ok(())
}

/// Children at one ledger, each claiming as an actor.
struct Race {
    home: tempfile::TempDir,
    runners: Vec<(String, Role)>,
}

impl Race {
    fn of(role: &str, actors: &[String], todos: u32) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut authority = founded(home.path());
        for actor in actors {
            let actor: Actor = actor.parse().unwrap();
            add_agent(&mut authority, actor.agent().unwrap().0.as_str());
        }
        add_todos(&mut authority, "todos", todos);
        let runners = actors
            .iter()
            .map(|actor| (actor.clone(), start(&format!("{role} {actor}"), home.path(), &Start::default())))
            .collect();
        let mut race = Self { home, runners };
        race.runners.iter_mut().for_each(|(_, runner)| runner.said("ready"));
        race
    }

    /// One round: what each found, by its actor.
    fn round(&mut self) -> BTreeMap<String, String> {
        self.runners.iter_mut().for_each(|(_, runner)| runner.go());
        let found =
            self.runners.iter_mut().map(|(actor, runner)| (actor.clone(), runner.next().unwrap())).collect();
        self.runners.iter_mut().for_each(|(_, runner)| runner.go());
        self.runners.iter_mut().for_each(|(_, runner)| runner.said("free"));
        found
    }
}

/// Every round has one winner, and each loser is told who that is.
fn one_winner(processes: u32, rounds: u32) {
    let actors: Vec<String> = (0..processes).map(|n| format!("agent:a{n}@a{n}.cli")).collect();
    let mut race = Race::of("race", &actors, rounds);
    for round in 1..=rounds {
        let found = race.round();
        let winners: Vec<_> =
            found.iter().filter(|(_, said)| *said == "won").map(|(actor, _)| actor).collect();
        assert_eq!(winners.len(), 1, "round {round}: {found:?}");
        let lost = format!("already_claimed {}", winners[0]);
        assert!(found.values().all(|said| said == "won" || *said == lost), "round {round}: {found:?}");
    }
    // A claim that lost left nothing: one Turn and one receipt a round, and a chain that holds.
    let goal = goal();
    authority(race.home.path())
        .unwrap()
        .read(|view| {
            let filter = TurnFilter { goal: &goal, todo: None, agent: None, live: false };
            assert_eq!(view.turns(&filter, None, usize::MAX)?.len(), usize::try_from(rounds).unwrap());
            faults::check_chain(view)
        })
        .unwrap();
}

#[test]
fn fault_a01_of_two_processes_one_wins_each_of_200_rounds() {
    one_winner(2, 200);
}

#[test]
fn fault_a03_of_eight_processes_one_wins_each_of_200_rounds() {
    one_winner(8, 200);
}

#[test]
fn fault_a03_of_32_processes_one_wins_each_of_200_rounds() {
    one_winner(32, 200);
}

/// Whoever asks for what is next gets it, or is told to wait for its owner; never that it is claimed already.
#[test]
fn fault_a01_of_two_processes_that_take_what_is_next_one_gets_it_each_of_500_rounds() {
    let actors = ["agent:a@a.cli".to_owned(), "agent:b@b.cli".to_owned()];
    let mut race = Race::of("take", &actors, 1);
    for round in 1..=500 {
        let mut found: Vec<_> = race.round().into_values().collect();
        found.sort_unstable();
        assert_eq!(found, ["not_ready owned_by_peers", "won"], "round {round}");
    }
}

#[test]
fn fault_a06_of_eight_processes_that_take_what_is_next_each_gets_another_todo() {
    let actors: Vec<String> = (0..8).map(|n| format!("agent:a{n}@a{n}.cli")).collect();
    let mut race = Race::of("take", &actors, 8);
    for round in 1..=50 {
        let found = race.round();
        assert!(found.values().all(|said| said == "won"), "round {round}: {found:?}");
    }
}

#[test]
fn fault_a12_of_two_endpoints_of_one_agent_one_wins() {
    let actors = ["agent:a@mac.1".to_owned(), "agent:a@mac.2".to_owned()];
    let mut race = Race::of("race", &actors[..1], 50);
    let second = start(&format!("race {}", actors[1]), race.home.path(), &Start::default());
    race.runners.push((actors[1].clone(), second));
    race.runners[1].1.said("ready");
    for round in 1..=50 {
        let found = race.round();
        let winner = found.iter().find(|(_, said)| *said == "won").map(|(actor, _)| actor.clone());
        let loser = found.values().find(|said| *said != "won").unwrap();
        let winner = winner.unwrap_or_else(|| panic!("round {round}: {found:?}"));
        assert_eq!(*loser, format!("already_claimed {winner}"), "round {round}");
    }
}

/// As many Todos as processes, and each takes its own.
fn all_succeed(processes: u32) {
    let home = tempfile::tempdir().unwrap();
    let mut authority = founded(home.path());
    add_todos(&mut authority, "todos", processes);
    (1..=processes).for_each(|n| add_agent(&mut authority, &format!("a{n}")));
    let claimants: Vec<Role> = (1..=processes)
        .map(|n| {
            let id: OsString = format!("claim-{n}").into();
            start(
                &format!("claim agent:a{n} {n}"),
                home.path(),
                &Start { set: &[("LOOPX_TEST_OP", &id)], ..Start::default() },
            )
        })
        .collect();
    for mut claimant in claimants {
        claimant.next().unwrap();
        claimant.said("ok");
        assert!(claimant.end().success());
    }
    let goal = goal();
    let owned = TodoFilter { goal: &goal, live: true, bucket: Some("owned") };
    let owned = authority.read(|view| view.todos(&owned, 0, usize::MAX)).unwrap();
    assert_eq!(owned.len(), usize::try_from(processes).unwrap());
    for todo in owned {
        let own = todo.ownership.unwrap();
        assert_eq!(own.agent_id.as_str(), format!("a{}", todo.todo_id.number()));
    }
}

#[test]
fn fault_b13_eight_processes_at_disjoint_todos_all_succeed() {
    all_succeed(8);
}

#[test]
fn fault_b13_32_processes_at_disjoint_todos_all_succeed() {
    all_succeed(32);
}
