//! The repository keeps its own rules, every rule can fail, and what must not compile does not.

mod compile_fail;
mod rules;
