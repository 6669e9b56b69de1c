//! Owns the arguments that many commands share, so that one flag means one thing everywhere.

use super::shape::{Arg, Kind};
use crate::cli::env::Var;

/// The flags that every command takes.
pub(in crate::cli) const GLOBAL: &[Arg] = &[
    Arg::option("goal", "SLUG", Kind::Slug, "The Goal; else the one the folder is bound to").setting("goal"),
    Arg::option("profile", "NAME", Kind::Text, "The profile").env(Var::LoopxProfile).setting("profile"),
    Arg::option("as", "ACTOR", Kind::Actor, "Who acts; else the user on a terminal").env(Var::LoopxActor),
    Arg::option("token-file", "PATH", Kind::Path, "A file with the token that proves who acts"),
    Arg::option("op-id", "ID", Kind::Text, "Makes a write repeatable; else a new id"),
    Arg::option("format", "FORMAT", Kind::Choice(&["text", "json", "markdown"]), "The answer's form")
        .default("text"),
    Arg::switch("json", "Short for `--format json`").conflicts(&["format"]),
    Arg::option("color", "WHEN", Kind::Choice(&["auto", "always", "never"]), "When to use colour")
        .default("auto"),
    Arg::switch("allow-filesystem", "Use a ledger on a network file system"),
];

/// The ownership an owner's verb presents.
pub(super) const OWN: Arg =
    Arg::option("own", "OWN_ID", Kind::Id, "The ownership that the claim printed").env(Var::LoopxOwn);

/// Why; required where a rule asks for a reason.
pub(super) const REASON: Arg = Arg::option("reason", "TEXT", Kind::Text, "Why; goes into the log");

/// The revision the row must still have.
pub(super) const EXPECT: Arg = Arg::option(
    "expect",
    "REVISION",
    Kind::Number { min: 1, max: u64::MAX },
    "Refuse unless the row has this revision",
);

/// How long an ownership lasts.
pub(super) const TTL: Arg =
    Arg::option("ttl", "DURATION", Kind::Duration, "How long the ownership lasts, at most 24h")
        .setting("ownership.ttl");

/// Rows a page.
pub(super) const LIMIT: Arg =
    Arg::option("limit", "N", Kind::Number { min: 1, max: 1000 }, "Rows a page, 1 to 1000")
        .setting("list.page");

/// Where the next page starts.
pub(super) const CURSOR: Arg =
    Arg::option("cursor", "CURSOR", Kind::Text, "The `next_cursor` that the last page printed");

/// All pages.
pub(super) const ALL: Arg =
    Arg::switch("all", "Print all rows, not one page").conflicts(&["limit", "cursor"]);

/// Preview only.
pub(super) const DRY_RUN: Arg = Arg::switch("dry-run", "Say what would be done, and do nothing");

/// The work tree that paths are relative to.
pub(super) const WORKSPACE: Arg =
    Arg::option("workspace", "PATH", Kind::Path, "The work tree; else the folder's, else the Goal's");

/// A write scope.
pub(super) const SCOPE: Arg = Arg::option("scope", "PATH", Kind::Text, "A path prefix it may write").many();

/// A capability key.
pub(super) const CAPABILITY: Arg = Arg::option("capability", "KEY", Kind::Text, "A capability key").many();

/// A command that proves the result.
pub(super) const VALIDATOR: Arg =
    Arg::option("validator", "COMMAND", Kind::Argv, "A command that proves it, at most 8; no shell is run")
        .many();

/// The validators' exit code for progress.
pub(super) const PROGRESS_EXIT: Arg = Arg::option(
    "progress-exit",
    "CODE",
    Kind::Number { min: 1, max: 125 },
    "The validators' exit code for progress, 1 to 125",
)
.needs(&["validator"]);

/// The validators' time limit.
pub(super) const TIMEOUT: Arg =
    Arg::option("timeout", "DURATION", Kind::Duration, "Each validator's time limit")
        .setting("validator.timeout")
        .needs(&["validator"]);

/// What of the environment the validators get.
pub(super) const VALIDATOR_ENV: Arg =
    Arg::option("env", "NAME", Kind::Text, "A variable that the validators get, as it is now")
        .many()
        .needs(&["validator"]);
