//! A package makes up a receipt that no authority gave.

use loopx_core::sdk::Receipt;

fn forge(real: Receipt) -> Receipt {
    Receipt { replayed: false, ..real }
}

fn main() {}
