//! Holds nothing: the tests of this crate put LoopX and its hosts together as processes.
