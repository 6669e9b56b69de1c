//! Owns what is done to a profile's databases as wholes: copies that are verified, and the way to a newer schema.
//!
//! Knows no rule of a Goal. Invariant: a copy has its name only once it is whole, durable and looked through.

mod backup;
mod copy;
mod held;
mod migrate;
mod restore;

pub use backup::{Backup, Wanted, backup};
pub use copy::Kept;
pub use held::Held;
pub use migrate::{Migrated, Migration, Step, migrate, pending};
pub use restore::{Restored, look_into, restore};
