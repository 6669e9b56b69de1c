//! Owns where the facts lie and how they are reached: profile, ledger file, clock, doorbell.
//!
//! Knows no rule: what may be written is the kernel's to decide.

pub mod clock;
pub mod doorbell;
pub mod profile;
pub mod sqlite;




#[cfg(test)]
mod process_tests;
