//! Owns the writing of the reference pages that the product makes of its own tables.
//!
//! Knows no page's content: `loopx-core` prints each. That a page is current is a test beside the tables.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use crate::process::cargo;

/// The pages, by the name that `loopx-core __reference` knows them under.
const PAGES: [&str; 2] = ["cli", "errors"];

/// Writes every reference page anew; says which.
pub fn write(root: &Path, out: &mut dyn Write) -> io::Result<bool> {
    for page in PAGES {
        let arguments = ["run", "--quiet", "--package", "loopx-core", "--", "__reference", page];
        let made = cargo(arguments).current_dir(root).output()?;
        if !made.status.success() {
            out.write_all(&made.stderr)?;
            return Ok(false);
        }
        let path = format!("docs/reference/{page}.md");
        fs::write(root.join(&path), &made.stdout)?;
        writeln!(out, "{path}")?;
    }
    Ok(true)
}
