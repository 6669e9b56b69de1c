//! Owns the rows around the shell: `config`, `token`, `completions`, `man`.

use super::{
    flags::{CURSOR, DRY_RUN, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const KEY: Arg = Arg::positional("key", "KEY", Kind::Text, "The key, as `config get` lists it");

const GET: Command = Command::verb("get", Access::Reads, "Prints settings and where they come from.")
    .args(&[Arg::maybe("key", "KEY", Kind::Text, "The key; else all of them")])
    .examples(&[
        example("config get", "all settings"),
        example("config get ownership.ttl --json", "one, for a program"),
    ]);

const SET: Command = Command::verb("set", Access::Writes, "Changes a setting of the profile.")
    .args(&[
        KEY,
        Arg::positional(
            "to",
            "VALUE",
            Kind::Text,
            "The value, with its unit; `default` takes the setting out",
        ),
        DRY_RUN,
    ])
    .examples(&[
        example("config set ownership.ttl 2h", "longer ownerships"),
        example("config set ownership.ttl default", "as it was"),
    ])
    .codes(&[Code::DiskFull, Code::StoreUnavailable, Code::UserOnly, Code::Unauthenticated]);

const EXPLAIN: Command =
    Command::verb("explain", Access::Reads, "Says what a setting bounds, and where its value comes from.")
        .args(&[KEY])
        .examples(&[example("config explain turn.deadline", "what it is for")]);

pub(super) const CONFIG: Command =
    Command::noun("config", Group::Shell, "Settings of the profile.").verbs(&[GET, SET, EXPLAIN]);

const ISSUE: Command = Command::verb("issue", Access::Writes, "Makes a token that proves who acts.")
    .long(&["It is shown once, or written to a file that only you can read."])
    .args(&[
        Arg::option("actor", "ACTOR", Kind::Actor, "Whom it names").required(),
        Arg::option("expires", "WHEN", Kind::When, "When it ends: a time, or a duration from now"),
        Arg::option("out", "PATH", Kind::Path, "Write it to this new file instead of printing it"),
        DRY_RUN,
    ])
    .examples(&[example("token issue --actor agent:coder@shell --out coder.token", "for an agent")])
    .codes(&[Code::UserOnly, Code::Unauthenticated]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists tokens, never their secret.")
    .aliases(&["ls"])
    .args(&[LIMIT, CURSOR])
    .examples(&[example("token list", "who can prove what")]);

const REVOKE: Command = Command::verb("revoke", Access::Writes, "Ends a token.")
    .args(&[Arg::positional(
        "id",
        "TOKEN",
        Kind::Id,
        "The token: `tok_…`, or its short form in lists; whole with --json",
    )])
    .examples(&[example("token revoke 0v7k3", "at once")])
    .codes(&[Code::UserOnly, Code::Unauthenticated]);

pub(super) const TOKEN: Command =
    Command::noun("token", Group::Shell, "Proofs of who acts.").verbs(&[ISSUE, LIST, REVOKE]);

pub(super) const COMPLETIONS: Command =
    Command::lone("completions", Group::Shell, Access::Pure, "Prints the completions for a shell.")
        .args(&[Arg::positional("shell", "SHELL", Kind::Choice(&["bash", "zsh", "fish"]), "The shell")])
        .examples(&[
            example("completions bash", "to be sourced by ~/.bashrc"),
            example("completions fish", "for ~/.config/fish/completions"),
        ]);

pub(super) const MAN: Command =
    Command::lone("man", Group::Shell, Access::Pure, "Prints a manual page, in roff.")
        .args(&[Arg::maybe("command", "COMMAND", Kind::Text, "The command; else the page about all").many()])
        .examples(&[
            example("man", "pipe it to `man -l -`"),
            example("man todo add", "the page of one command"),
        ]);
