//! What a package must not be able to write: each file in `ui` fails to compile, with exactly its message.
//!
//! The files are built against `loopx-core` without `tier`, as a package is. A new one needs no line here:
//! put it into `ui` and record its message with `TRYBUILD=overwrite cargo test -p architecture`.

#[test]
fn what_packages_must_not_write_does_not_compile() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
