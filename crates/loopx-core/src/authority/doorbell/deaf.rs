//! Owns the absence of an ear: on this platform a waiter asks in short intervals instead. Not qualified.
//!
//! Knows nothing else.

use std::time::Duration;

use super::{Beside, Profile};
use crate::error::{Code, Error, Result};

/// Never made.
#[derive(Debug)]
pub(super) enum Ear {}

impl Ear {
    pub(super) fn new(_profile: &Profile) -> Result<Self> {
        Err(Error::from(Code::UnsupportedPlatform))
    }

    pub(super) fn is_current(&self, _profile: &Profile) -> bool {
        match *self {}
    }

    pub(super) fn sleep(&mut self, _wait: Duration, _beside: &[Beside<'_>]) -> Result<bool> {
        match *self {}
    }
}
