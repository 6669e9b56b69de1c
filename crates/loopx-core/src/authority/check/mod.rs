//! Owns the tests of the rules as a whole: a `World` in which every call is checked, and what is played in it.
//!
//! After every call it asserts that a refusal wrote nothing, and that the fold of all events equals the rows.

mod golden;
mod kept;
mod actors;
mod batch;
mod gates;
mod goals;
mod hints;
mod hosted;
mod invariants;
mod limits;
mod ownership;
mod play;
mod quota;
mod replay;
mod scopes;
mod random;
mod smoke;
mod todo_table;
mod todos;
mod turn_table;
mod walker;
mod world;

pub(in crate::authority) use kept::{Home, Kept};
