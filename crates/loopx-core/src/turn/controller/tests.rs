//! The controller's table.
