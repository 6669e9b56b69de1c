//! A package hands on what only the owner may see: as it lies in the ledger, and as the owner is shown it.

use loopx_core::sdk::{Evidence, OwnerView, Public};

fn hand_on(_row: &impl Public) {}

fn leak(piece: Evidence, shown: OwnerView<Evidence>) {
    hand_on(&piece);
    hand_on(&shown);
}

fn main() {}
