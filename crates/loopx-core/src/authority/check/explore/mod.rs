//! Owns the exploration of the rules: every state that small worlds can come to, each held to every promise.
//!
//! The states are those of the real kernel over the real ledger in memory, written by the one way that writes. A random
//! walk goes far; this goes everywhere near. What is broken is told with a shortest way to it.

mod action;
mod bugs;
mod follow;
mod key;
mod node;
mod outside;
mod proposed;
mod returned;
mod scope;
mod search;
mod standing;
mod step;
mod worlds;

use scope::Scope;
use search::Search;
use worlds::*;

fn explore(scope: &Scope) {
    let found = Search::new(scope).run();
    println!(
        "{}: {} states, {} moves, {} deep, by depth {:?}, {}",
        scope.name,
        found.states,
        found.moves,
        found.by_depth.len() - 1,
        found.by_depth,
        if found.complete { "complete" } else { "cut" },
    );
    if let Some(trace) = &found.broken {
        panic!("{}\n{}", scope.name, trace.told());
    }
    assert!(found.states >= scope.floor, "{}: {} states are too few", scope.name, found.states);
    assert_eq!(found.complete, scope.is_whole(), "{}: whether every state was looked at", scope.name);
    let twins = found.twins.unwrap_or_else(|otherwise| panic!("{}: {otherwise}", scope.name));
    if scope.is_whole() {
        println!("{}: {twins} states compared with a twin", scope.name);
    }
}

#[test]
fn attached_agents_with_a_gate_and_a_quota() {
    explore(&ATTACHED);
}

#[test]
fn work_that_waits_beside_a_monitor() {
    explore(&PLANNED);
}

#[test]
fn results_that_a_person_accepts() {
    explore(&ACCEPTED);
}

#[test]
fn an_agent_that_is_busy_with_other_work() {
    explore(&BUSY);
}

#[test]
fn what_agents_propose_and_people_answer() {
    explore(&PROPOSED);
}

#[test]
fn what_happens_outside_and_is_told_of() {
    explore(&OUTSIDE);
}

#[test]
fn driven_and_attached_turns_under_a_budget_of_tokens() {
    explore(&METERED);
}

#[test]
fn a_goal_in_which_nothing_shows_a_criterion() {
    explore(&GAP);
}

/// What is taken for one state goes on as one, or the states are fewer than there are.
fn compare(scope: &Scope, floor: usize) {
    let twins = Search::new(scope).compare();
    let compared = twins.unwrap_or_else(|otherwise| panic!("{}: {otherwise}", scope.name));
    println!("{}: {compared} states compared with a twin", scope.name);
    assert!(compared >= floor, "{}: {compared} twins are too few", scope.name);
}

#[test]
fn equal_states_of_attached_agents_go_on_equally() {
    compare(&Scope { depth: 4, ..ATTACHED }, 50);
}

#[test]
fn equal_states_of_plans_go_on_equally() {
    compare(&Scope { depth: 4, ..PLANNED }, 50);
}

#[test]
fn equal_states_of_accepted_results_go_on_equally() {
    compare(&Scope { depth: 5, ..ACCEPTED }, 50);
}

#[test]
fn equal_states_under_a_budget_of_tokens_go_on_equally() {
    compare(&Scope { depth: 4, ..METERED }, 20);
}

#[test]
fn equal_states_of_a_busy_agent_go_on_equally() {
    compare(&Scope { depth: 5, ..BUSY }, 50);
}

#[test]
fn equal_states_of_proposals_go_on_equally() {
    compare(&Scope { depth: 4, ..PROPOSED }, 50);
}

#[test]
fn equal_states_of_a_gap_go_on_equally() {
    compare(&Scope { depth: 4, ..GAP }, 50);
}

#[test]
fn equal_states_of_effects_go_on_equally() {
    compare(&Scope { depth: 5, ..OUTSIDE }, 50);
}

#[test]
fn peers_whose_drivers_are_lost() {
    explore(&PEERS);
}

#[test]
fn equal_states_of_peers_go_on_equally() {
    compare(&Scope { depth: 5, ..PEERS }, 20);
}

/// One test a whole world: it is looked at to its end, and each state with a twin of it.
macro_rules! whole {
    ($($test:ident: $scope:ident;)*) => {
        $(#[test]
        fn $test() {
            assert!($scope.is_whole());
            explore(&$scope);
        })*
    };
}

whole! {
    every_state_of_agents_with_several_endpoints: WHOLE_SEATS;
    every_state_of_attached_agents: WHOLE_ATTACHED;
    every_state_of_driven_turns: HOSTED;
    every_state_of_work_that_waits_for_other_work: WHOLE_DEPENDENCY;
    every_state_of_a_monitor: WHOLE_MONITOR;
    every_state_under_a_person: PEOPLE;
    every_state_of_an_accepted_result: WHOLE_ACCEPTED;
    every_state_of_work_handed_on: HANDED;
    every_state_of_a_busy_agent: WHOLE_BUSY;
    every_state_of_a_proposal: WHOLE_PROPOSED;
    every_state_of_an_effect: WHOLE_OUTSIDE;
    every_state_of_a_driven_effect: WHOLE_DRIVEN_EFFECTS;
    every_state_of_peers: WHOLE_PEERS;
    every_state_under_a_budget_of_tokens: WHOLE_METERED;
}
