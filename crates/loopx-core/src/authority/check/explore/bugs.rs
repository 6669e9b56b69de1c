//! Owns that the exploration finds what is broken: with each seeded bug it tells exactly the promise that it breaks.

use std::collections::BTreeSet;

use super::{
    super::invariants::Promise,
    action::Owner,
    scope::{STILL, Scope},
    search::Search,
    worlds::*,
};
use crate::kernel::seeded::Bug;

/// One Turn a day for two agents with a Todo each.
const NARROW: Scope = Scope {
    name: "one Turn a day",
    turns: Some(1),
    todos: &[|_| {}, |_| {}],
    owners: &[Owner::Release, COMPLETES, PASSES],
    ..STILL
};

fn finds(bug: Bug, scope: &Scope, promise: Promise) {
    Bug::switch(Some(bug));
    let found = Search::new(scope).run();
    Bug::switch(None);
    let Some(trace) = found.broken else {
        panic!("{bug:?} is not found in {} states of {}", found.states, scope.name)
    };
    println!("{bug:?}, in {} states of {}:\n{}", found.states, scope.name, trace.told());
    let broken: BTreeSet<_> = trace.broken.iter().map(|broken| broken.promise).collect();
    assert_eq!(broken, [promise].into(), "{bug:?}");
}

/// One test a bug; whoever adds a bug names what it breaks.
macro_rules! found {
    ($($test:ident: $bug:ident in $scope:ident breaks $promise:ident;)*) => {
        $(#[test]
        fn $test() {
            finds(Bug::$bug, &$scope, Promise::$promise);
        })*

        #[test]
        fn every_seeded_bug_is_looked_for_and_every_promise_is_broken_by_one() {
            let named = [$(Bug::$bug),*];
            assert!(Bug::ALL.iter().all(|bug| named.contains(bug)));
            let broken: BTreeSet<_> = [$(Promise::$promise),*].into();
            assert_eq!(broken, Promise::ALL.iter().copied().collect());
        }
    };
}

found! {
    a_claim_from_an_owner_is_found: ClaimsFromAnOwner in ATTACHED breaks OneOwner;
    a_token_that_owns_for_ever_is_found: AnyTokenOwns in HOSTED breaks StaleWritesNothing;
    a_revision_that_is_not_looked_at_is_found: AnyRevision in ATTACHED breaks StaleWritesNothing;
    a_turn_that_ends_twice_is_found: EndsTwice in ATTACHED breaks OneSettlement;
    a_slot_that_stays_reserved_is_found: KeepsReservations in ATTACHED breaks Reservations;
    a_settlement_past_a_gate_is_found: SettlesPastGates in ATTACHED breaks NothingPast;
    a_settlement_of_what_is_no_longer_wanted_is_found: SettlesPastRequirements in PEOPLE breaks NothingPast;
    an_agent_that_executes_twice_is_found: TwoExecutors in ATTACHED breaks OneExecutor;
    an_obligation_past_the_quota_is_found: ObligesPastQuota in NARROW breaks NextIsAdmitted;
    an_obligation_of_a_driver_past_the_quota_is_found: AsksForOneAttempt in METERED breaks NextIsAdmitted;
    a_refusal_that_is_written_is_found: WritesRefusals in NARROW breaks RefusalsWriteNothing;
    a_receipt_that_is_forgotten_is_found: ForgetsReceipts in ATTACHED breaks SameReceipt;
    an_event_that_is_lost_is_found: LosesEvents in ATTACHED breaks Fold;
    a_count_that_is_wrong_is_found: LosesDependants in PLANNED breaks Counters;
    a_decision_that_fails_is_found: FailsOnHeld in ACCEPTED breaks Total;
    a_dead_end_is_found: AsksNobody in ATTACHED breaks Live;
    a_proposal_of_what_is_gone_that_is_carried_out_is_found: CarriesOutStale in PROPOSED breaks StaleWritesNothing;
    a_settlement_past_a_proposal_is_found: SettlesPastProposals in PROPOSED breaks NothingPast;
    an_obligation_that_comes_again_is_found: ObligesAgain in PROPOSED breaks ObligedOnce;
    a_replan_that_outlives_its_gap_is_found: OutlivesItsGap in GAP breaks ObligedOnce;
    a_settlement_past_an_effect_is_found: SettlesPastEffects in OUTSIDE breaks NothingPast;
    a_return_that_is_decided_on_twice_is_found: DecidesTwice in PEERS breaks StaleWritesNothing;
    a_claim_past_an_effect_is_found: ClaimsPastEffects in OUTSIDE breaks NothingPast;
}
