//! Tests of the governed Turn with real programs, a ledger in memory and a private store in a scratch folder.

mod attached;
mod bench;
mod hosted;
mod ownership;
mod receipts;
mod recovery;
