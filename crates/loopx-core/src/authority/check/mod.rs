//! Owns the tests of the rules as a whole: a `World` in which every call is checked, and what is played in it.
//!
//! After every call it asserts that a refusal wrote nothing, and that the fold of all events equals the rows.

mod kept;
mod random;
mod smoke;
mod world;

pub(in crate::authority) use kept::{Home, Kept};
