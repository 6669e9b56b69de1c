//! Owns the floor of a start: a program that has clap's parser and help, and nothing else.
//!
//! Knows nothing of LoopX. `--help` and `--version` of the product are compared with it.

fn main() {
    clap::Command::new("empty_clap")
        .version("0.0.0")
        .about("Does nothing")
        .get_matches();
}
