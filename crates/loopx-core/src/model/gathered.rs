//! Owns the way of items into an ordered collection, one by one.
//!
//! Knows no item.

/// The items, each put in its place. `collect` sorts them first, with a sort built for every such place in the code,
/// which the few items of most never repay.
pub(crate) fn gathered<T, C: Default + Extend<T>>(items: impl IntoIterator<Item = T>) -> C {
    let mut all = C::default();
    all.extend(items);
    all
}
