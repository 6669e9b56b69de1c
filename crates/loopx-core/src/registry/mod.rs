//! Owns what a composition is made of: the packages that are linked, and what each registers.
//!
//! Knows no one capability, and holds no authority: a registration is a descriptor and a factory. Registering
//! starts nothing, opens nothing and reads nothing. `inventory` gathers packages in no promised order, so they are
//! sorted by id, and two of one id are an error rather than a race.

use std::{collections::BTreeMap, fmt};

use crate::{
    error::{Code, Error, Result, echo},
    turn::{CommandHost, Host, Hosting, Hosts},
};

/// A package that is linked into the binary.
#[derive(Debug)]
pub struct Package {
    /// Its id.
    pub id: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Hands in what it has.
    pub register: fn(&mut dyn CapabilityRegistry) -> Result<()>,
}

inventory::collect!(Package);

/// Takes what packages hand in.
pub trait CapabilityRegistry {
    /// A host that can work on a Turn.
    fn host(&mut self, registration: HostRegistration) -> Result<()>;
    /// A place where facts can lie.
    fn ledger(&mut self, registration: LedgerRegistration) -> Result<()>;
}

/// A host that can work on a Turn.
#[derive(Debug, Clone, Copy)]
pub struct HostRegistration {
    /// The name that attempts carry.
    pub id: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Makes one, without starting anything.
    pub make: fn(Hosting) -> Result<Box<dyn Host>>,
}

/// A place where facts can lie.
#[derive(Debug, Clone, Copy)]
pub struct LedgerRegistration {
    /// Its id.
    pub id: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
}

/// One thing a composition holds, for people.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Component {
    /// `host` or `ledger`.
    pub kind: &'static str,
    /// Its id.
    pub id: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// The package it came with, and that package's version.
    pub package: String,
}

/// Everything that is linked.
#[derive(Debug, Default)]
pub struct Composition {
    hosts: BTreeMap<&'static str, (HostRegistration, String)>,
    ledgers: BTreeMap<&'static str, (LedgerRegistration, String)>,
    package: String,
}

impl Composition {
    /// Gathers what the linked packages register.
    ///
    /// Errors: `internal` where two packages, or two registrations of one kind, have one id.
    pub fn linked() -> Result<Self> {
        Self::of(inventory::iter::<Package>.into_iter())
    }

    fn of<'p>(packages: impl Iterator<Item = &'p Package>) -> Result<Self> {
        let mut sorted: BTreeMap<&str, &Package> = BTreeMap::new();
        for package in packages {
            if sorted.insert(package.id, package).is_some() {
                return Err(twice("package", package.id));
            }
        }
        let mut composition = Self::default();
        for package in sorted.values() {
            composition.package = format!("{} {}", package.id, package.version);
            (package.register)(&mut composition)?;
        }
        Ok(composition)
    }

    /// What is there, hosts first, by id.
    pub fn components(&self) -> Vec<Component> {
        let hosts = self.hosts.values().map(|(registration, package)| Component {
            kind: "host",
            id: registration.id,
            title: registration.title,
            package: package.clone(),
        });
        let ledgers = self.ledgers.values().map(|(registration, package)| Component {
            kind: "ledger",
            id: registration.id,
            title: registration.title,
            package: package.clone(),
        });
        hosts.chain(ledgers).collect()
    }
}

impl Hosts for Composition {
    fn host(&self, name: &str, hosting: Hosting) -> Result<Box<dyn Host>> {
        let (registration, _) = self.hosts.get(name).ok_or_else(|| absent("host", name))?;
        (registration.make)(hosting)
    }
}

impl CapabilityRegistry for Composition {
    fn host(&mut self, registration: HostRegistration) -> Result<()> {
        let package = self.package.clone();
        match self.hosts.insert(registration.id, (registration, package)) {
            Some(_) => Err(twice("host", registration.id)),
            None => Ok(()),
        }
    }

    fn ledger(&mut self, registration: LedgerRegistration) -> Result<()> {
        let package = self.package.clone();
        match self.ledgers.insert(registration.id, (registration, package)) {
            Some(_) => Err(twice("ledger", registration.id)),
            None => Ok(()),
        }
    }
}

fn twice(kind: &str, id: &str) -> Error {
    Error::new(Code::Internal, format!("the {kind} {id} is linked twice"))
}

fn absent(kind: &str, id: &str) -> Error {
    Error::new(Code::NotInstalled, format!("the {kind} `{}` is not part of this binary", echo(id)))
        .hint("doctor")
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {} ({})", self.kind, self.id, self.title, self.package)
    }
}

inventory::submit! {
    Package { id: "loopx-core", version: env!("CARGO_PKG_VERSION"), register: own }
}

/// What core brings itself: the minimal composition.
fn own(registry: &mut dyn CapabilityRegistry) -> Result<()> {
    registry.host(HostRegistration {
        id: CommandHost::NAME,
        title: "any program that reads one JSON object and writes one",
        make: |hosting| Ok(Box::new(CommandHost::new(hosting)?)),
    })?;
    registry.ledger(LedgerRegistration { id: "sqlite", title: "one file, for the machine it lies on" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m05_core_alone_is_a_composition_that_works() {
        let composition = Composition::linked().unwrap();
        let ids: Vec<_> = composition.components().iter().map(|c| (c.kind, c.id)).collect();
        assert_eq!(ids, [("host", "command"), ("ledger", "sqlite")]);
    }

    #[test]
    fn two_of_one_id_are_an_error_and_an_absent_one_is_not_installed() {
        let package = Package { id: "p", version: "1", register: own };
        let twin = Package { id: "q", version: "1", register: own };
        assert_eq!(Composition::of([&package, &package].into_iter()).unwrap_err().code(), Code::Internal);
        assert_eq!(Composition::of([&package, &twin].into_iter()).unwrap_err().code(), Code::Internal);
        let hosting = Hosting { argv: vec!["x".into()], folder: "/".into(), wall_ms: 1000, attempts_max: 1 };
        let absent =
            Hosts::host(&Composition::of([&package].into_iter()).unwrap(), "codex", hosting).unwrap_err();
        assert_eq!(absent.code(), Code::NotInstalled);
    }
}
