//! Owns what may be public: the screen that every foreign text passes, and the three classes of data as types.
//!
//! It must not know state: it sees a text or a value, never a Goal, a Turn or who asks.
//!
//! The screen is a net for accidents, not a wall against somebody who wants a secret out: a credential in a form
//! it does not know, or cut in two, passes. That is why the raw text stays private all the same.

mod class;
mod credential;
mod forms;
mod harmless;
mod inspect;
mod place;
mod said;
mod screen;
mod visible;

#[cfg(test)]
mod tests;

pub use class::{OwnerView, Private, Public};
pub use credential::Credential;
pub use inspect::{Leak, Leaked, inspect};
pub use said::{SAID_MAX_BYTES, said};
pub use screen::{Refused, Screened, screen};
pub use visible::is_hostile;
