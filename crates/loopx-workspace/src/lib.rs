//! The tier of the status service, the web workspace, the daemon and its service lifecycle.
//!
//! It holds nothing yet: everything LoopX knows can be read through the command line of `loopx-core`.
