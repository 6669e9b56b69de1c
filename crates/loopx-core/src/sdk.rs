//! Owns the doors for packages: all that may be named from outside the tiers.

pub use crate::error::{Class, Code, Error, Result};
