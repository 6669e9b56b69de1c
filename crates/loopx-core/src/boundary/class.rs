//! Owns the three classes of data as types, so that the compiler and not a reviewer keeps them apart.
//!
//! Knows nothing of what is in them. Source: the architecture's "three classes of data, by type".

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Marks what anybody may see, also beyond this machine: what an export prints, what peers are sent.
///
/// It has no method. What hands on a row asks for `Public`, and cannot be given anything else.
pub trait Public {}

/// What only the profile's authenticated owner may see, through a route that is listed by name.
///
/// It serialises, for that route; it is never [`Public`] and its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnerView<T>(T);

impl<T> OwnerView<T> {
    /// Marks a value as the owner's.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the owner.
    pub const fn for_owner(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for OwnerView<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerView(..)")
    }
}

impl<T: Serialize> Serialize for OwnerView<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// What never leaves this machine: host handles, homes, credentials.
///
/// Invariant: it can be read in, but neither serialised nor displayed, and its `Debug` shows nothing. The one way to
/// the value is [`Private::expose`], which a reader of the code can search for.
#[derive(Clone, PartialEq, Eq)]
pub struct Private<T>(T);

impl<T> Private<T> {
    /// Marks a value as private.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value; the caller answers for where it goes.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Private(..)")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Private<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}
