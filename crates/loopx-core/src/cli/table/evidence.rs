//! Owns the rows of `evidence`.

use super::{
    flags::{ALL, CURSOR, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const ADD: Command = Command::verb("add", Access::Writes, "Records what shows a result.")
    .args(&[
        Arg::positional("pointer", "POINTER", Kind::Text, "A URL, a commit, or the path of a file from here"),
        Arg::option("kind", "KIND", Kind::Choice(&["file", "commit", "url", "check", "note"]), "What it points at")
            .required(),
        Arg::option("todo", "TODO", Kind::Id, "The Todo it belongs to"),
        Arg::option("criterion", "N", Kind::Number { min: 1, max: 32 }, "The criterion of the Goal it meets, from 1"),
        Arg::option("digest", "SHA256", Kind::Text, "The SHA-256 of what it points at, 64 hex digits; of a file it is taken, and compared with one that is given"),
        Arg::option("privacy", "WHO", Kind::Choice(&["public", "owner"]), "Who may read it").default("public"),
        Arg::option(
            "verdict",
            "VERDICT",
            Kind::Choice(&["accepted", "rejected", "unchecked"]),
            "What a person says of it; accepted where a person says nothing, else unchecked",
        ),
    ])
    .examples(&[
        example("evidence add reports/import.txt --kind file --todo importer.3", "for a Todo"),
        example("evidence add out.txt --kind check --criterion 1 --verdict accepted", "for a criterion"),
    ])
    .codes(&[Code::GoalClosed, Code::ActorNotAllowed, Code::UserOnly]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists evidence.")
    .aliases(&["ls"])
    .args(&[
        Arg::option("todo", "TODO", Kind::Id, "Only of this Todo"),
        Arg::option(
            "verdict",
            "VERDICT",
            Kind::Choice(&["accepted", "rejected", "unchecked"]),
            "Only with this verdict",
        )
        .many(),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[example("evidence list --todo importer.3", "what shows that it is done")]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one piece of evidence.")
    .args(&[Arg::positional(
        "id",
        "EVIDENCE",
        Kind::Id,
        "The evidence: `evd_…`, or the start that lists show; whole with --json",
    )])
    .examples(&[example("evidence show 0v7k3", "by the start of its id")]);

pub(super) const EVIDENCE: Command =
    Command::noun("evidence", Group::Work, "What shows that a result is true.").verbs(&[ADD, LIST, SHOW]);
