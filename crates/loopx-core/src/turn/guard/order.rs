//! Owns what a driver and the guardian of its attempt say to each other.
//!
//! Plain data. The driver sends an [`Order`], the guardian answers a [`Report`], and after the dispatch was committed the
//! driver sends [`Word::Go`]; a channel that closes before that means: nothing is to be started.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::record::End;
use crate::{
    model::{Guarantee, TurnId},
    turn::host::KeptHost,
};

/// What is to be guarded. Names of files are no text, and in JSON no text is a key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::turn) struct Order {
    /// The folder of all profiles.
    pub(in crate::turn) home: OsString,
    /// The profile whose ledger has the attempt.
    pub(in crate::turn) profile: String,
    /// The folder of the locks.
    pub(in crate::turn) locks: OsString,
    /// The folder of what is left of attempts.
    pub(in crate::turn) spool: OsString,
    /// The Turn.
    pub(in crate::turn) turn_id: TurnId,
    /// Which attempt, from 1.
    pub(in crate::turn) attempt: u8,
    /// The host, as a recovery would start it too.
    pub(in crate::turn) host: KeptHost,
    /// The host's whole environment.
    pub(in crate::turn) env: Vec<(OsString, OsString)>,
    /// Whether validators follow, which are to be kept.
    pub(in crate::turn) validates: bool,
}

/// What a driver says after its order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Word {
    /// The row of the attempt is committed: start the host, with this on its stdin.
    Go {
        /// The work contract.
        request: Vec<u8>,
    },
    /// End the host.
    Stop,
    /// How it ended is kept: it need not be written any more.
    Kept,
}

/// What a guardian says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Report {
    /// It has its lock, and waits to be let go.
    Ready {
        /// By what its tree will be held together.
        guarantee: Guarantee,
    },
    /// How it ended cannot be written, and is all here. It goes on trying, until it hears that this is kept.
    Unkept {
        /// How it ended.
        end: End,
        /// All that counts of its result.
        stdout: Vec<u8>,
        /// The end of what it said beside it.
        stderr: Vec<u8>,
    },
    /// How it ended is kept.
    Ended {
        /// Whether it goes on, to keep what else is to be run; else it is about to end itself.
        keeps: bool,
    },
    /// It cannot guard this attempt, and nothing of it was started; why, for its owner's eyes.
    Refused {
        /// In words.
        why: String,
    },
    /// How it ended could not be kept in its time, and is lost.
    Lost,
}
