//! Owns what the verbs of a Turn work with beside the desk: this machine, the private store, and the wish to stop.
//!
//! Knows no verb.

use std::{
    cell::Cell,
    io::{ErrorKind, Read as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::desk::Desk;
use crate::{
    cli::Context,
    error::{Code, Error, Result},
    private::PrivateStore,
    process::Launcher,
    registry::Composition,
    turn::{Host, Hosting, Hosts as _, Keep, Machine, PASSED_ON, Site},
};

/// This machine, as a handler uses it.
#[derive(Debug)]
pub(in crate::cli) struct Workbench {
    /// Its description.
    pub(in crate::cli) machine: Machine,
    private: PrivateStore,
    hosts: Composition,
}

impl Workbench {
    /// Describes this machine for the profile of a desk.
    pub(in crate::cli) fn of(context: &Context<'_, '_>, desk: &Desk) -> Result<Self> {
        let env =
            PASSED_ON.iter().filter_map(|name| Some(((*name).into(), context.env.named(name)?.to_owned())));
        let mut machine = Machine::of(&desk.profile, Some(Launcher::this_binary()), env)?;
        machine.keep = Keep {
            age_ms: desk.settings.millis("snapshot.age")?,
            turns: usize::try_from(desk.settings.count("snapshot.turns")?).unwrap_or(usize::MAX),
        };
        let private = PrivateStore::at(&desk.profile.place().private_db());
        Ok(Self { machine, private, hosts: Composition::linked()? })
    }

    /// Makes the host of this name.
    pub(in crate::cli) fn host(&self, name: &str, hosting: Hosting) -> Result<Box<dyn Host>> {
        self.hosts.host(name, hosting)
    }

    /// What a driver, an owner's verb and a recovery work with.
    pub(in crate::cli) fn site<'a>(&'a mut self, desk: &'a mut Desk) -> Site<'a> {
        Site {
            authority: &mut desk.authority,
            private: &mut self.private,
            machine: &self.machine,
            hosts: &self.hosts,
        }
    }
}

/// Listens for the signals by which a person or a system ends this process.
///
/// Errors: `internal` where the system takes no handler.
pub(in crate::cli) fn interrupted() -> Result<impl Fn() -> bool> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in ENDS {
        signal_hook::flag::register(signal, Arc::clone(&asked)).map_err(|e| deaf(&e))?;
    }
    Ok(move || asked.load(Ordering::SeqCst))
}

/// The signals by which a process is asked to end.
const ENDS: [i32; 3] =
    [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

fn deaf(e: &std::io::Error) -> Error {
    Error::new(Code::Internal, "no signal can be listened for").internal(e)
}

/// How often this process was asked to end. A flag would lose the second of two.
#[derive(Debug)]
pub(in crate::cli) struct Signals {
    heard: UnixStream,
    count: Cell<usize>,
}

impl Signals {
    /// Listens from now on.
    ///
    /// Errors: `internal` where the system takes no handler.
    pub(in crate::cli) fn listen() -> Result<Self> {
        let (heard, rings) = UnixStream::pair().map_err(|e| deaf(&e))?;
        heard.set_nonblocking(true).map_err(|e| deaf(&e))?;
        for signal in ENDS {
            let rings = rings.try_clone().map_err(|e| deaf(&e))?;
            signal_hook::low_level::pipe::register(signal, rings).map_err(|e| deaf(&e))?;
        }
        Ok(Self { heard, count: Cell::new(0) })
    }

    /// What is ready to be read once a signal has come.
    pub(in crate::cli) fn calls(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }

    /// How many signals came so far.
    pub(in crate::cli) fn count(&self) -> usize {
        let mut bytes = [0; 16];
        loop {
            match (&self.heard).read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => self.count.set(self.count.get().saturating_add(read)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.count.get()
    }
}
