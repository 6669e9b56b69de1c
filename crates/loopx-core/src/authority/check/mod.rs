//! Owns the tests of the rules as a whole: a `World` in which every call is checked, and what is played in it.
//!
//! After every call it asserts that a refusal wrote nothing, and that the fold of all events equals the rows.

mod across;
mod actors;
mod attention;
mod audit;
mod batch;
mod completions;
mod decision;
mod effect_table;
mod effects;
#[cfg(feature = "seeded")]
mod explore;
mod gaps;
mod gates;
mod goals;
mod golden;
mod handoff;
mod hints;
mod holding;
mod hosted;
mod invariants;
mod kept;
mod limits;
mod metrics;
mod monitors;
mod openings;
mod ownership;
mod pages;
mod peers;
mod plans;
mod play;
mod proposals;
mod quota;
mod random;
mod repair;
mod replans;
mod replay;
mod results;
mod rewards;
mod rules;
mod scopes;
mod sightings;
mod smoke;
mod spending;
mod takes;
mod terms;
mod todo_table;
mod todo_turns;
mod todos;
mod turn_table;
mod walker;
mod world;

pub(in crate::authority) use kept::Kept;
