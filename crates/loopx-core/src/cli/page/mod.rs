//! Owns the texts made from the flag table: help, the manual pages, the reference page, completions.
//!
//! Knows nothing of what commands do. Every text is a [`Document`](super::render::Document), so each is
//! written once and rendered as text, Markdown or roff.

mod completions;
mod errors;
mod help;
mod man;
mod parts;
mod reference;

pub(super) use self::{
    completions::completions,
    errors::errors,
    help::{group, help, version},
    man::man,
    reference::reference,
};
