//! The LoopX control plane: what is true about the work of AI agents.
//!
//! An agent's words are a proposal; only a validated commit in the authority is a fact. This crate owns the
//! nouns (`model`), the rules (`kernel`), the ledger (`authority`), the driver of governed Turns (`turn`) and
//! a minimal command line (`cli`). It has no async runtime, no HTTP and no TLS.
#![cfg_attr(
    not(feature = "tier"),
    allow(
        dead_code,
        unused_imports,
        unreachable_pub,
        reason = "the modules below `sdk` are public only to the other tiers"
    )
)]
#![forbid(unsafe_code)]

/// Declares modules that only the other tiers may name.
macro_rules! tier {
    ($($(#[$meta:meta])* $name:ident;)*) => {
        $(
            #[cfg(feature = "tier")]
            $(#[$meta])*
            pub mod $name;
            #[cfg(not(feature = "tier"))]
            $(#[$meta])*
            pub(crate) mod $name;
        )*
    };
}

mod error;
mod model;

tier! {
    /// The rules.
    kernel;
    /// The ledgers, and the one transaction.
    authority;
    /// The owner-local store.
    private;
    /// What may be public.
    boundary;
    /// The one bounded process.
    process;
    /// What people and programs are shown of the facts.
    projection;
    /// The governed Turn.
    turn;
    /// What a composition is made of.
    registry;
    /// The command line: arguments in, one command out, its answer rendered.
    cli;
    /// Named points at which a test kills or fails this process.
    failpoint;
}

pub mod sdk;

/// Runs the `loopx-core` binary with the streams and the environment of this process.
///
/// It is a door for this package's own `main` alone, which sees the library as a package does.
#[doc(hidden)]
pub fn main() -> std::process::ExitCode {
    cli::run("loopx-core", &cli::Preset::CORE)
}
