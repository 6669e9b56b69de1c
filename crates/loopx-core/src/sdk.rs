//! Owns the doors for packages: all that may be named from outside the tiers.
//!
//! It has no logic of its own. What is not re-exported here is not a package's to use.

pub use crate::{
    boundary::{OwnerView, Private, Public},
    error::{Class, Code, Error, Result},
    model::*,
};
