//! Owns the reference page of the typed error set, `docs/reference/errors.md`.

use super::parts;
use crate::{
    cli::render::{Block, Document, markdown},
    error::Code,
};

/// The page as Markdown.
pub(in crate::cli) fn errors() -> String {
    let mut page = Document::new()
        .heading("Errors")
        .para("Generated from the table of codes by `cargo xtask docs`; do not edit.")
        .para("A code is stable; scripts compare it. The message names the ids it is about; the hint, where there is one, is a command that helps in that state.")
        .para("With `--json` an error is one object on standard output: `schema_version`, and `error` with `code`, `message`, `hint`, `retryable` and `details`.");
    for (class, means) in parts::CLASSES {
        let codes = Code::ALL.iter().filter(|code| code.class() == *class);
        let rows = codes.map(|code| {
            let retry = if code.retryable() { "yes" } else { "" };
            let status = code.http_status().to_string();
            vec![code.as_str().to_owned(), status, retry.to_owned(), code.message().to_owned()]
        });
        page = page
            .with(Block::Heading(2, format!("Exit {}: {means}", class.exit())))
            .table(&["Code", "HTTP", "Retry can help", "Meaning"], rows.collect());
    }
    page = page.with(Block::Heading(2, "Exit 10 to 12: no error".to_owned())).para(parts::answers());
    markdown(&page)
}
