//! A package reaches for the rules by their own name instead of through the sdk.

use loopx_core::kernel;

fn main() {}
