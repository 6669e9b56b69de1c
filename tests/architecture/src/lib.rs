//! Owns the pinned budgets and the compile-fail fixtures.
