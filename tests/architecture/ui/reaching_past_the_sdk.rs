//! A package reaches for a module of core by its own name instead of through the sdk.

use loopx_core::error;

fn main() {}
