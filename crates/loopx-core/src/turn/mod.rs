//! Owns the governed Turn: what executes it, proves it and recovers it.
//!
//! It must not know any one host, nor the command line. Invariant: a verdict is only ever submitted by the module that
//! ran the validators, and a step of a driven Turn only by the holder of its lock.

pub mod adapter;
mod again;
mod attached;
mod attempt;
mod beside;
mod command;
mod commits;
pub mod context;
mod contract;
pub mod controller;
mod course;
mod criteria;
mod driver;
mod examine;
mod gc;
mod guard;
mod host;
mod latch;
mod lock;
mod opening;
mod outcome;
mod prove;
mod reach;
mod renewal;
mod resume;
mod shift;
mod site;
mod snapshot;
mod spool;
mod tree;
mod tries;
mod validate;
mod watch;
pub mod wire;
mod wish;
mod workspace;

pub use again::held;
pub use attached::{Done, Wish, finish, submit_claim};
pub use attempt::find_program;
pub use command::CommandHost;
pub use commits::Commit;
pub use contract::{Inquiry as ContractInquiry, packet};
pub use course::would;
pub use criteria::{Checked, check_criteria};
pub use driver::{Admitted, Start, admit, drive, has_begun, negative};
pub use gc::{Collected, Part, Rules, collect};
pub use guard::{GUARD_WORD, Guarding, guardian};
pub use host::{Host, Hosting, Hosts, Job, Judged};
pub use lock::{DriverLock, at_work};
pub use prove::{Proved, end_left, minted_id, prove, prove_all};
pub use reach::{in_the_way, prove_after, prove_before, prove_each};
pub use resume::{resume, starts_again};
pub use site::{Around, Machine, PASSED_ON, Site};
pub use snapshot::{
    Change, Committable, Direction, Fate, Keep, Kind, Record, Text, Undo, Undone, committable, is_undo,
    is_undoing, recorded, so_far, text, undo, waits_for_snapshot, why_none, would_undo,
};
pub use spool::{Ending, Kept, Speaker, bodies, kept};
pub use tries::tried;
pub use watch::{Phase, Watcher};
pub use workspace::{Trees, identify};

#[cfg(test)]
mod tests;
