//! Owns what every ledger must do, said once and run on each: the conformance suite.
//!
//! Knows no ledger but through its trait, so that a ledger of a package can be held to the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::wildcard_imports,
    clippy::semicolon_if_nothing_returned,
    reason = "a suite fails by panicking, and reads as tests do"
)]

mod cases;
mod questions;
mod raw;
mod stage;
mod twin;
mod whole;

use super::Ledger;

pub use questions::ask_everything;
pub use stage::StillClock;
pub use twin::Twin;
pub use whole::{Whole, whole};

/// A place that holds one ledger, which can be opened any number of times.
pub trait Room {
    /// Opens the ledger of this place once more.
    fn open(&self) -> Box<dyn Ledger>;
}

macro_rules! cases {
    ($($module:ident::$name:ident,)*) => {
        /// Every case by its name; each wants a place of its own, with a ledger that is not founded.
        pub const CASES: &[(&str, fn(&dyn Room))] = &[$((stringify!($name), $module::$name),)*];

        #[cfg(test)]
        mod in_memory {
            use crate::authority::check::Kept;
            $(#[test]
            fn $name() {
                super::$module::$name(&Kept::memory());
            })*
        }

        #[cfg(test)]
        mod in_a_file {
            use crate::authority::check::Kept;
            $(#[test]
            fn $name() {
                super::$module::$name(&Kept::sqlite());
            })*
        }
    };
}

cases! {
    cases::founding,
    cases::an_unfounded_ledger_takes_no_write,
    cases::a_receipt_is_kept_for_ever,
    cases::a_chain_holds_and_ends_at_its_head,
    cases::every_answer_is_that_of_the_ledger_in_memory,
    cases::lists_are_filtered_and_paged,
    cases::a_text_is_found_whatever_its_case,
    cases::a_page_of_ready_todos_is_the_best_the_agent_may_take,
    cases::a_gate_on_the_last_of_many_todos_keeps_the_goal_open,
    cases::the_own_chain_ends_at_its_head_and_where_it_was_cut,
    cases::a_failed_job_leaves_nothing,
    cases::handles_see_each_other_and_a_read_stands_still,
    cases::a_waiter_wakes_with_the_commit_and_not_without,
    raw::a_goal_is_put_in_the_place_of_what_lies_there,
    raw::changes_come_first_and_rows_win,
    raw::links_follow_the_rows,
    raw::a_wake_reaches_who_waits_for_it,
    raw::a_meter_holds_what_was_put_in,
    raw::an_amount_that_no_column_holds_stays_the_greatest,
}
