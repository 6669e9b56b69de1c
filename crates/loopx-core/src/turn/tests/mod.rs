//! Tests of the governed Turn with real programs, a ledger in memory and a private store in a scratch folder.

mod bench;
mod attached;
mod hosted;
mod recovery;
