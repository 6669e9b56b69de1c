//! Many processes at one Todo, and at one each.

use std::collections::BTreeMap;

use super::*;

/// A child: claims one Todo after another whenever it is told to, and lets go of what it won before the next.
pub(super) fn race(home: &Path, actor: &str) -> Result<()> {
    let mut authority = authority(home)?;
    let id = |what: &str, n| format!("{what}-{}-{n}", std::process::id());
    println!("@ready");
    for n in 1.. {
        if !roles::told() {
            return Ok(());
        }
        let answer = authority.submit(claim(&id("claim", n), actor, n));
        let won = match &answer {
            Ok(_) => {
                println!("@won");
                true
            }
            Err(e) => {
                let holder = e.details().get("holder").and_then(|holder| holder.as_str()).unwrap_or("?");
                println!("@{} {holder}", e.code());
                false
            }
        };
        if !roles::told() {
            return Ok(());
        }
        if won {
            let own_id = answer?.outcome::<Outcome>()?.own_id;
            let release = ClaimCommand::Release { todo_id: TodoId::new(goal(), n), own_id };
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
    fn of(actors: &[String], rounds: u32) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut authority = founded(home.path());
        for actor in actors {
            let actor: Actor = actor.parse().unwrap();
            add_agent(&mut authority, actor.agent().unwrap().0.as_str());
        }
        add_todos(&mut authority, "todos", rounds);
        let runners = actors
            .iter()
            .map(|actor| (actor.clone(), start(&format!("race {actor}"), home.path(), &Start::default())))
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
    let mut race = Race::of(&actors, rounds);
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

#[test]
fn fault_a12_of_two_endpoints_of_one_agent_one_wins() {
    let actors = ["agent:a@mac.1".to_owned(), "agent:a@mac.2".to_owned()];
    let mut race = Race::of(&actors[..1], 50);
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
