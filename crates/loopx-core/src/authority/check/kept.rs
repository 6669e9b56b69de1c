//! Owns the ledgers of the tests: in memory, in a file, or both at once and compared at every step.

use std::{collections::BTreeMap, rc::Rc};

use super::super::{
    Ledger, MemoryLedger, SqliteLedger,
    conformance::{Room, Twin, Whole, whole},
    profile::{Env, NewProfile, Place, Profile, filesystem::HostFilesystem},
};
use crate::{
    kernel::Rows,
    model::{Amounts, Bucket, MeterScope},
};

/// A place with a ledger in it.
#[derive(Debug, Clone)]
pub(in crate::authority) enum Kept {
    Memory(MemoryLedger),
    Sqlite(Rc<Home>),
    /// Both at once, compared at every step.
    Twin(MemoryLedger, Rc<Home>),
}

/// A profile in a folder of its own.
#[derive(Debug)]
pub(in crate::authority) struct Home {
    pub(in crate::authority) profile: Profile,
    pub(in crate::authority) env: Env,
    _dir: tempfile::TempDir,
}

/// In memory where the machine has such a place: these tests are not about a disk.
fn base() -> &'static std::path::Path {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { memory } else { std::path::Path::new("/tmp") }
}

impl Kept {
    pub(in crate::authority) fn memory() -> Self {
        Self::Memory(MemoryLedger::new())
    }

    /// An unfounded ledger in a file.
    pub(in crate::authority) fn sqlite() -> Self {
        Self::Sqlite(Rc::new(Home::new()))
    }

    /// One in memory and one in a file that are told the same.
    pub(in crate::authority) fn twin() -> Self {
        Self::Twin(MemoryLedger::new(), Rc::new(Home::new()))
    }

    /// Everything that lies in it.
    pub(in crate::authority) fn whole(&self) -> Whole {
        let mut found = None;
        self.open()
            .read(&mut |view| {
                found = Some(whole(view)?);
                Ok(())
            })
            .unwrap();
        found.unwrap()
    }

    /// Every row, as it lies.
    pub(in crate::authority) fn rows(&self) -> Rows {
        match self {
            Self::Memory(ledger) => ledger.rows(),
            Self::Sqlite(_) | Self::Twin(..) => self.whole().rows,
        }
    }

    /// What every meter holds beside its slots, as it lies.
    pub(in crate::authority) fn amounts(&self) -> BTreeMap<(MeterScope, Bucket), Amounts> {
        match self {
            Self::Memory(ledger) => ledger.amounts(),
            Self::Sqlite(_) | Self::Twin(..) => {
                let held = self.whole().meters.into_iter().map(|(key, held)| (key, held.amounts));
                held.filter(|(_, amounts)| *amounts != Amounts::default()).collect()
            }
        }
    }

    /// Every meter that holds a slot, as it lies.
    pub(in crate::authority) fn meters(&self) -> BTreeMap<(MeterScope, Bucket), u64> {
        match self {
            Self::Memory(ledger) => ledger.meters(),
            Self::Sqlite(_) | Self::Twin(..) => {
                let held = self.whole().meters.into_iter().map(|(key, held)| (key, held.slots));
                held.filter(|(_, slots)| *slots > 0).collect()
            }
        }
    }
}

impl Room for Kept {
    fn open(&self) -> Box<dyn Ledger> {
        match self {
            Self::Memory(ledger) => Box::new(ledger.clone()),
            Self::Sqlite(home) => Box::new(home.open()),
            Self::Twin(memory, home) => Box::new(Twin::new(memory.clone(), Box::new(home.open()))),
        }
    }
}

impl Home {
    /// A profile with an unfounded ledger.
    pub(in crate::authority) fn new() -> Self {
        let dir = tempfile::tempdir_in(base()).unwrap();
        let env = Env {
            loopx_home: Some(dir.path().join("h")),
            xdg_runtime_dir: Some(dir.path().to_owned()),
            ..Env::default()
        };
        let new = NewProfile { profile_id: "prf_0123456789".into(), created_at_ms: 0 };
        let place = Place::resolve(&env).unwrap();
        let (profile, _) = Profile::open_or_create(&place, &env, &HostFilesystem, &new).unwrap();
        drop(SqliteLedger::create(&profile, &env).unwrap());
        Self { profile, env, _dir: dir }
    }

    pub(in crate::authority) fn open(&self) -> SqliteLedger {
        SqliteLedger::open(&self.profile, &self.env).unwrap()
    }
}
