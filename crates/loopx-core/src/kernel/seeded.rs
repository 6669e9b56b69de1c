//! Owns the seeded bugs: one for each promise, so that what looks for broken promises is seen to find them.
//!
//! Knows nothing of what looks. Without the feature `seeded` a place of a bug is the constant `false`, and only the macro is
//! left of this file.

/// Whether a seeded bug is on; one line where the rule stands that it breaks.
#[cfg(feature = "seeded")]
macro_rules! seeded {
    ($bug:ident) => {
        $crate::kernel::seeded::Bug::$bug.is_on()
    };
}
#[cfg(not(feature = "seeded"))]
macro_rules! seeded {
    ($bug:ident) => {
        false
    };
}
pub(crate) use seeded;

#[cfg(feature = "seeded")]
pub(crate) use active::Bug;

#[cfg(feature = "seeded")]
mod active {
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    macro_rules! bugs {
        ($($name:ident: $doc:literal;)*) => {
            /// Every bug, named once.
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub(crate) enum Bug { $(#[doc = $doc] $name,)* }

            impl Bug {
                /// All bugs, in the order of the table.
                #[cfg(test)]
                pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];
            }
        };
    }

    bugs! {
        ClaimsFromAnOwner: "A Todo is claimed from an owner that keeps others out.";
        AnyTokenOwns: "A token that was given once owns for ever.";
        AnyRevision: "What a caller believes is not looked at.";
        EndsTwice: "What spends a slot ends twice.";
        KeepsReservations: "A slot that is given back stays on the meter.";
        SettlesPastGates: "A result settles past a gate.";
        SettlesPastRequirements: "A result settles for what is no longer wanted.";
        TwoExecutors: "An agent is admitted beside its own work.";
        ObligesPastQuota: "A decision does not look at the budget.";
        AsksForOneAttempt: "A decision for a driver looks for the room of one attempt.";
        WritesRefusals: "A claim that the budget refuses has ended what lapsed.";
        ForgetsReceipts: "An operation that is given again is done again.";
        LosesEvents: "The last thing that happened is written, and not told.";
        LosesDependants: "Who waits for a Todo is not told that it is done.";
        FailsOnHeld: "A decision fails where a result is held.";
        CarriesOutStale: "A confirmed proposal is carried out whatever its author believed.";
        SettlesPastProposals: "A replan settles while what it proposed waits.";
        ObligesAgain: "What a replan was written for obliges once more.";
        OutlivesItsGap: "A replan of a gap in the criteria stays when that is closed.";
        SettlesPastEffects: "A completion settles although nobody knows what its effect did.";
        ClaimsPastEffects: "A Todo is claimed although it waits for an effect.";
        DecidesTwice: "A return that was decided on is adopted all the same.";
        AsksNobody: "Nobody is asked about a gate.";
    }

    impl Bug {
        /// Whether it is on in this thread.
        pub(crate) fn is_on(self) -> bool {
            ON.get() == Some(self)
        }

        /// Turns one on in this thread, or all off.
        #[cfg(test)]
        pub(crate) fn switch(bug: Option<Self>) {
            ON.set(bug);
        }
    }
}
