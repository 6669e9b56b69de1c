//! Owns how a SQLite file of ours is opened, locked, checked and closed.
//!
//! Knows no table: a `Schema` is handed in, so the ledger and the private store are opened alike. Every rule
//! here answers a measured trap; see the comments at each.

mod begin;
mod close;
mod fault;
mod identity;
mod ledger;
mod migrate;
mod open;
mod precedence;
mod queue;
mod reader;
mod schema;

pub use begin::WriteTx;
pub(crate) use close::beside;
pub(crate) use fault::typed;
pub(crate) use ledger::SCHEMA as LEDGER;
pub use ledger::SqliteLedger;
pub(in crate::authority) use ledger::{
    copy_still, exchange, migrate_ledger, read_foreign, read_still, write_alone,
};
pub(crate) use migrate::migrate;
pub use open::Writer;
pub use reader::{Reader, Snapshot};
pub use schema::Schema;
pub(crate) use schema::is_there;

/// The version of the SQLite library.
pub fn library_version() -> &'static str {
    rusqlite::version()
}
