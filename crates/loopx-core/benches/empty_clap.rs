//! Owns the floor of a start: a program that has clap's parser, two flags, and nothing else.
//!
//! Knows nothing of LoopX. `--help` and `--version` of the product are compared with it; clap's own help is left
//! out of it, as it is of the product.

use std::io::{self, Write as _};

use clap::{Arg, ArgAction, Command};

fn main() -> io::Result<()> {
    let flag = |name| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let program = Command::new("empty_clap").disable_help_flag(true).args([flag("help"), flag("version")]);
    let chosen = program.get_matches();
    let line = if chosen.get_flag("help") { "There is no help." } else { "empty_clap 0.0.0" };
    writeln!(io::stdout(), "{line}")
}
