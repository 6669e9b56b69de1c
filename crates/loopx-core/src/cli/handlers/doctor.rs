//! Owns the handler of `doctor`: what is looked at, what is found, and what mends it.
//!
//! Changes nothing without a flag that says so.

mod repair;
mod rows;

use std::{
    collections::BTreeSet,
    fmt, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::json;

use super::{
    caller::caller,
    desk::{self, Desk},
    reader::Reader,
    schema, status,
    submit::{operation_id, with_proof_hint},
};
use crate::{
    authority::{
        Asked, EventFilter, Head, View,
        clock::{Clock as _, SystemClock},
        own_chain,
        profile::{HostFilesystem, Place, Profile, filesystem},
        sqlite::{LEDGER, Reader as LedgerReader, library_version},
        verify,
    },
    cli::{Args, Block, Context, Document, Format, Project, Rendered},
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms, abandon_command},
    model::json_value,
    model::{Assurance, Goal, TurnState},
    private::PrivateStore,
    projection::{Attention, Which},
    registry::Composition,
};

/// How many events of a Goal's chain are checked, the newest ones.
const EVENTS_MAX: u64 = 10_000;
/// How many events are read at once.
const STEP: usize = 256;
/// How far the ledger's time and the wall clock may be apart, in milliseconds.
const APART_MS: u64 = 60_000;
/// The permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;
/// How many work trees, and Todos in one, are looked at.
const TREES_MAX: usize = 1000;
/// How many Goals are looked at.
const GOALS_MAX: usize = 1000;

/// What mends a chain; what it would do is said first.
const REPAIR: &str = "doctor --repair --dry-run";

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    Good,
    Doubtful,
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
struct Finding {
    check: &'static str,
    standing: Standing,
    text: String,
    /// The command that mends it, without the program's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The schema of a database, beside those of this release.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Schema>,
}

/// The schema of a database.
#[derive(Debug, Clone, Copy, Serialize)]
struct Schema {
    /// What the file has.
    found: i32,
    /// The oldest that this release reads.
    reads_from: i32,
    /// The newest that it reads, and the one it writes.
    writes: i32,
}

impl Schema {
    fn of(found: i32, (reads_from, writes): (i32, i32)) -> Self {
        Self { found, reads_from, writes }
    }
}

/// `schema 2; this release reads 1 to 2 and writes 2`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, reads_from, writes } = self;
        if reads_from == writes {
            return write!(f, "schema {found}; this release reads and writes {writes}");
        }
        write!(f, "schema {found}; this release reads {reads_from} to {writes} and writes {writes}")
    }
}

impl Finding {
    fn new(check: &'static str, standing: Standing, text: impl Into<String>) -> Self {
        Self { check, standing, text: text.into(), command: None, schema: None }
    }

    fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self::new(check, Standing::Good, text)
    }

    /// What an error says of what was looked at.
    fn bad(check: &'static str, error: &Error) -> Self {
        let mut text = format!("{}: {}", error.code(), error.message());
        let command = match error.hint_args() {
            // Whoever is sent here is told here.
            Some("doctor") => {
                // What lies there is in the way, and nothing is lost yet.
                if error.code() == Code::StoreUnreadable {
                    if !text.contains("move it away") {
                        text.push_str(": move it away");
                    }
                    return Self::new(check, Standing::Bad, text);
                }
                text.push_str(
                    "; `restore` puts a backup in its place; or move the profile's folder away to begin anew",
                );
                None
            }
            args => args.map(str::to_owned),
        };
        Self { command, ..Self::new(check, Standing::Bad, text) }
    }

    fn schema(mut self, schema: Schema) -> Self {
        self.text = format!("{}; {schema}", self.text);
        self.schema = Some(schema);
        if schema.found == schema.writes {
            return self;
        }
        Self { standing: self.standing.max(Standing::Doubtful), ..self.command("migrate") }
    }

    fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

/// `doctor`.
pub(in crate::cli) fn doctor(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    if args.switch("accept-clock") {
        return accept_clock(context, args);
    }
    if args.switch("repair") {
        return repair::repair(context, args);
    }
    let mut findings = vec![build(context)];
    findings.push(components());
    look(context, args, &mut findings)?;
    let bad = findings.iter().filter(|finding| finding.standing == Standing::Bad).count();
    let error = || {
        let shown = json_value(&findings).unwrap_or_default();
        Error::new(Code::CheckFailed, format!("{bad} of {} checks failed", findings.len()))
            .detail("findings", shown)
    };
    if bad > 0 && context.look.format == Format::Json {
        return Err(error());
    }
    let word = |standing| match standing {
        Standing::Good => "good",
        Standing::Doubtful => "look",
        Standing::Bad => "BAD",
    };
    let rows = findings.iter().map(|finding| {
        vec![finding.check.to_owned(), word(finding.standing).to_owned(), finding.text.clone()]
    });
    let mut document = Document::new().log(&["CHECK", "IS", "FOUND"], rows.collect());
    let reader = Reader::anew(context, args);
    let helps = findings.iter().filter_map(|finding| Some((finding.check, finding.command.as_ref()?)));
    let helps: Vec<_> = helps
        .flat_map(|(check, args)| [format!("{check}:"), format!("    {}", reader.command(args))])
        .collect();
    if !helps.is_empty() {
        document = document.with(Block::Heading(2, "What helps".to_owned())).code(helps);
    }
    let rendered = Rendered::new(schema::DOCTOR, &json!({"findings": findings}), document)?;
    Ok(if bad > 0 { rendered.exit(Code::CheckFailed.class().exit()) } else { rendered })
}

/// Which build this is.
fn build(context: &Context<'_, '_>) -> Finding {
    let commands: usize = context.preset.commands.iter().map(|table| table.len()).sum();
    let text = format!(
        "{} {}, {commands} commands, {} verbs, SQLite {}",
        context.program,
        env!("CARGO_PKG_VERSION"),
        context.preset.handlers.iter().map(|table| table.len()).sum::<usize>(),
        library_version()
    );
    Finding::good("build", text)
}

/// What is linked: hosts, ledgers, and the packages they came with.
fn components() -> Finding {
    match Composition::linked() {
        Ok(composition) => {
            let listed: Vec<_> = composition.components().iter().map(ToString::to_string).collect();
            Finding::good("composition", listed.join("; "))
        }
        Err(error) => Finding::bad("composition", &error),
    }
}

/// Looks at folder, profile, ledger and chains, as far as each lets the next be looked at.
fn look(context: &mut Context<'_, '_>, args: &Args, findings: &mut Vec<Finding>) -> Result<()> {
    let (_, project, env) = desk::around(context, args)?;
    let place = Place::resolve(&env)?;
    let opened = Profile::open(&place, &env, &HostFilesystem);
    findings.push(folder(context, args, project, opened.as_ref().err()));
    let profile = match opened {
        Ok(profile) => profile,
        Err(error) => {
            let finding = Finding::bad("profile", &error);
            let is_bound =
                findings.iter().any(|seen| seen.check == "folder" && seen.standing == Standing::Bad);
            // A new profile would not have what the folder is bound to.
            findings.push(if is_bound { Finding { command: None, ..finding } } else { finding });
            return Ok(());
        }
    };
    findings.push(Finding::good("profile", format!("{}, {}", place.name(), profile.profile_id())));
    findings.push(permissions(&place));
    findings.push(match profile.filesystem() {
        filesystem::Kind::Local => Finding::good("filesystem", "local"),
        filesystem::Kind::Doubtful => Finding::new(
            "filesystem",
            Standing::Doubtful,
            "another program answers for it; locks may not hold",
        ),
        filesystem::Kind::Network(name) => Finding::new(
            "filesystem",
            Standing::Doubtful,
            format!("{name}, allowed by a flag; locks may not hold"),
        ),
    });
    let run_dir = profile.known_run_dir();
    findings.push(if run_dir.is_dir() {
        Finding::good("doorbell", "its folder is there")
    } else {
        Finding::new("doorbell", Standing::Doubtful, "its folder is gone; the next write makes it again")
    });
    findings.push(locks(&place));
    let kept = [place.trees(), place.snapshots(), place.spool(), place.backups()];
    findings.push(files([place.dir(), &place.locks(), run_dir], &kept, &place.trees()));
    findings.push(private(&place));
    let mut desk = match Desk::open(context, args) {
        Ok(desk) => desk,
        Err(error) => {
            findings.push(Finding::bad("ledger", &error));
            return Ok(());
        }
    };
    findings.push(tokens(&desk));
    let schema =
        LedgerReader::open(&place.authority_db(), &LEDGER).and_then(|mut reader| reader.schema_version());
    let seen = schema.and_then(|found| {
        let more = desk.look(|view, terms| ledger(view, terms))?;
        Ok((Schema::of(found, (LEDGER.oldest, LEDGER.newest)), more))
    });
    match seen {
        Ok((schema, more)) => {
            findings.extend(more.into_iter().map(|finding| match finding.check {
                "ledger" => finding.schema(schema),
                _ => finding,
            }));
            if findings.iter().all(|finding| finding.check != "chain") {
                findings.push(rows::rows(&mut desk));
            }
            findings.push(turns(&mut desk));
            findings.push(trees(&mut desk));
        }
        Err(error) => findings.push(Finding::bad("ledger", &error)),
    }
    Ok(())
}

/// What the folder is bound to, and whether that is there.
fn folder(
    context: &Context<'_, '_>,
    args: &Args,
    project: Option<Project>,
    no_profile: Option<&Error>,
) -> Finding {
    let Some(project) = project else {
        let finding = Finding::new("folder", Standing::Doubtful, "not bound");
        let is_fresh = no_profile.is_none_or(|error| error.code() == Code::NotFound);
        return if is_fresh { finding.command("init") } else { finding };
    };
    let goal = project.goal.unwrap_or_else(|| "no Goal".to_owned());
    let profile = project.profile.unwrap_or_else(|| "default".to_owned());
    let checked = Desk::unchecked(context, args).and_then(|mut desk| desk.check_bound(args));
    match checked {
        Err(error) if error.details().contains_key("goal_id") => {
            let text = format!(
                "{}: {}; `--profile` names another profile, LOOPX_HOME another home, `init --rebind` forgets the Goal",
                error.code(),
                error.message()
            );
            Finding::new("folder", Standing::Bad, text).command("init --rebind")
        }
        // What else is wrong is said where it is looked at.
        Ok(()) | Err(_) => Finding::good("folder", format!("bound to {goal} in the profile {profile}")),
    }
}

/// Whether nobody else can enter the profile's folder.
fn permissions(place: &Place) -> Finding {
    match std::fs::metadata(place.dir()) {
        Ok(found) if found.mode() & OTHERS == 0 => {
            Finding::good("permissions", "only you can enter the profile")
        }
        Ok(_) => Finding::new("permissions", Standing::Doubtful, "others can enter the profile's folder"),
        Err(_) => Finding::new("permissions", Standing::Bad, "the profile's folder cannot be looked at"),
    }
}

/// Whether the folder of locks is there, and nobody else can enter it.
fn locks(place: &Place) -> Finding {
    let doubt =
        |text: &str| Finding::new("locks", Standing::Doubtful, format!("{text}; the next write mends it"));
    match std::fs::symlink_metadata(place.locks()) {
        Ok(found) if !found.is_dir() => Finding::new(
            "locks",
            Standing::Bad,
            "something other than a folder is in the place of `locks`: move it away",
        ),
        Ok(found) if found.mode() & OTHERS != 0 => doubt("others can enter their folder"),
        Ok(_) => Finding::good("locks", "their folder is there, and only you can enter it"),
        Err(e) if e.kind() == io::ErrorKind::NotFound => doubt("their folder is gone"),
        Err(_) => Finding::new("locks", Standing::Bad, "their folder cannot be looked at"),
    }
}

/// Whether anything else lies in the place of a file of ours: passed by where that costs only time, refused where the
/// file is needed.
fn files(folders: [&Path; 3], kept: &[PathBuf], trees: &Path) -> Finding {
    let mut strange = BTreeSet::new();
    for entry in folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
        let Ok(kind) = entry.path().metadata().map(|found| found.file_type()) else { continue };
        let is_ours = kind.is_dir() && kept.contains(&entry.path());
        if kind.is_file() || kind.is_socket() || is_ours || folders.contains(&&*entry.path()) {
            continue;
        }
        strange.insert(entry.file_name().to_string_lossy().into_owned());
    }
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_there = |path: &&PathBuf| path.symlink_metadata().is_ok() && !path.is_dir();
    let misplaced: Vec<_> = kept.iter().filter(is_there).map(|path| name(path)).collect();
    let entries = std::fs::read_dir(trees).into_iter().flatten().flatten();
    let no_links: BTreeSet<_> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|entry| format!("{}/{}", name(trees), entry.file_name().to_string_lossy()))
        .collect();
    let wrong = [
        ("a regular file", strange.into_iter().collect()),
        ("a folder", misplaced),
        ("a link to a work tree", no_links.into_iter().collect()),
    ];
    let said: Vec<_> = wrong
        .iter()
        .filter(|(_, names): &&(_, Vec<String>)| !names.is_empty())
        .map(|(what, names)| {
            format!("something other than {what} is in the place of one: {}", names.join(", "))
        })
        .collect();
    if said.is_empty() {
        return Finding::good("files", "each is a regular one");
    }
    Finding::new("files", Standing::Doubtful, format!("{}; move it away", said.join("; ")))
}

/// Whether every Turn is driven, or known to have ended.
fn turns(desk: &mut Desk) -> Finding {
    let status = match status::seen(desk, Which::All { first: None }, None) {
        Ok(status) => status,
        Err(error) => return Finding::bad("turns", &error),
    };
    let kinds = ["driver_gone", "turn_unproved", Code::TurnUnresolved.as_str()];
    let lost = |row: &&Attention| kinds.contains(&row.kind);
    let lost: Vec<_> = status.goals.iter().flat_map(|goal| &goal.attention).filter(lost).collect();
    let Some(first) = lost.first() else { return Finding::good("turns", "none is lost") };
    let more = lost.len() - 1;
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    Finding::new("turns", Standing::Doubtful, format!("{}{more}", first.text)).command(first.command.clone())
}

/// Whether the work trees that are worked in are where they were.
fn trees(desk: &mut Desk) -> Finding {
    let gone = match desk.trees().gone(TREES_MAX) {
        Ok(gone) => gone,
        Err(error) => return Finding::bad("trees", &error),
    };
    let owned = desk.look(|view, _| {
        let mut owned = Vec::new();
        for (tree, name) in &gone {
            owned.extend(view.owned_in(tree, TREES_MAX)?.into_iter().map(|todo| (name.clone(), todo)));
        }
        Ok(owned)
    });
    let owned = match owned {
        Ok(owned) => owned,
        Err(error) => return Finding::bad("trees", &error),
    };
    let first = owned.first().and_then(|(name, todo)| Some((name, &todo.todo_id, todo.ownership.as_ref()?)));
    let Some((name, todo_id, own)) = first else {
        return Finding::good("trees", "each that is worked in is where it was");
    };
    let more = owned.len() - 1;
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let text = format!(
        "`{name}`, where {todo_id} is worked on, is not where it was: move it back, or give {todo_id} up and claim it where the folder is now{more}"
    );
    // What is not known to have ended is a person's to give up.
    let turn_id = own.turn_id;
    let is_unresolved = desk
        .look(|view, terms| {
            let mut facts = Facts::new(terms.clone());
            view.load(&[Read::Turn(turn_id)].into(), &mut facts)?;
            Ok(facts.turn(&turn_id)?.is_some_and(|turn| matches!(turn.state, TurnState::Unresolved { .. })))
        })
        .unwrap_or(false);
    let command = if is_unresolved { abandon_command(turn_id) } else { format!("turn stop {turn_id}") };
    Finding::new("trees", Standing::Doubtful, text).command(command)
}

/// Whether the owner-local store can be read, every page of it.
fn private(place: &Place) -> Finding {
    match PrivateStore::at(&place.private_db()).check() {
        Ok(Some(found)) => Finding::good("private", "readable, and its pages fit each other")
            .schema(Schema::of(found, PrivateStore::SCHEMAS)),
        Ok(None) => Finding::good("private", "nothing was kept in it yet"),
        Err(error) => Finding::bad("private", &error),
    }
}

fn tokens(desk: &Desk) -> Finding {
    let counted = desk.tokens().list().and_then(|tokens| {
        let now = desk::wall()?;
        Ok(tokens.iter().filter(|token| token.state(now) == "valid").count())
    });
    match counted {
        Ok(count) => Finding::good("tokens", format!("{count} valid")),
        Err(error) => Finding::bad("tokens", &error),
    }
}

fn ledger(view: &mut dyn View, terms: &Terms) -> Result<Vec<Finding>> {
    let mut findings =
        vec![Finding::good("ledger", format!("readable; {}, {}", terms.authority_id, terms.incarnation))];
    findings.push(clock(terms)?);
    let goals = view.goals(None, GOALS_MAX + 1)?;
    let mut events = 0;
    for goal in goals.iter().take(GOALS_MAX) {
        match chain(view, goal) {
            Ok(checked) => events += checked,
            Err(error) => {
                let goal_id = &goal.goal_id;
                let text = format!("{goal_id}: {}", error.message());
                findings.push(Finding::new("chain", Standing::Bad, text).command(REPAIR));
            }
        }
    }
    match own_chain(view) {
        Ok((count, _)) => events += count,
        Err(error) => {
            let text = format!("the ledger itself: {}", error.message());
            findings.push(Finding::new("chain", Standing::Bad, text).command(REPAIR));
        }
    }
    let shown = u64::try_from(goals.len().min(GOALS_MAX)).unwrap_or(u64::MAX);
    findings.push(Finding::good(
        "chains",
        format!("{} of {} fit each other", count(events, "event"), count(shown, "Goal")),
    ));
    Ok(findings)
}

fn count(n: impl Into<u64>, noun: &str) -> String {
    match n.into() {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

fn clock(terms: &Terms) -> Result<Finding> {
    if terms.clock_jump {
        let text = "the clock jumped; nothing expires until a person accepts it";
        return Ok(Finding::new("clock", Standing::Doubtful, text).command("doctor --accept-clock"));
    }
    let apart = SystemClock::new().read()?.wall_ms.abs_diff(terms.now.as_ms());
    if apart > APART_MS {
        // Within one boot the boot clock alone counts: there is nothing to accept.
        let text = format!(
            "the ledger's time goes on by this boot's clock; the wall clock is {} apart",
            crate::cli::parse::show_duration_ms(apart / 1000 * 1000)
        );
        return Ok(Finding::new("clock", Standing::Doubtful, text));
    }
    Ok(Finding::good("clock", "steady"))
}

/// Walks the newest events of a Goal's chain up to its head; says how many.
fn chain(view: &mut dyn View, goal: &Goal) -> Result<u64> {
    let Some(head) = view.head(&goal.goal_id)? else { return Ok(0) };
    let first = head.seq.saturating_sub(EVENTS_MAX);
    let mut at = Head::START;
    if first > 0 {
        // The event before the first one tells where the walk starts.
        let before = view.events(&EventFilter { goal: &goal.goal_id, after: first - 1 }, 1)?.pop();
        let before =
            before.ok_or_else(|| Error::new(Code::StoreCorrupt, format!("event {first} is missing")))?;
        at = Head { seq: before.seq, hash: before.hash };
    }
    while at.seq < head.seq {
        let records = view.events(&EventFilter { goal: &goal.goal_id, after: at.seq }, STEP)?;
        if records.is_empty() {
            return Err(Error::new(Code::StoreCorrupt, format!("events after {} are missing", at.seq)));
        }
        at = verify(at, &records)?;
    }
    if at != head {
        return Err(Error::new(
            Code::StoreCorrupt,
            format!("the chain ends at {}, not at {}", at.seq, head.seq),
        ));
    }
    Ok(head.seq - first)
}

/// Lets a person on a terminal prove that they ask.
fn prove(context: &mut Context<'_, '_>, asked: &mut Asked, what: &str) -> Result<()> {
    if asked.provenance.assurance == Assurance::Proven {
        return Ok(());
    }
    let question = format!("{}: {what} as {}?", context.program, asked.actor);
    if context.confirm(&question)? == Some(true) {
        asked.provenance.assurance = Assurance::Proven;
    }
    Ok(())
}

/// `doctor --accept-clock`: a proven person stands by the present time.
fn accept_clock(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let caller = caller(context, args, &mut desk)?;
    if !caller.actor.is_user() || caller.provenance.contained.is_some() {
        return Err(Error::new(Code::UserOnly, "only a person may accept the clock"));
    }
    let mut asked =
        Asked { operation_id: operation_id(args)?, actor: caller.actor, provenance: caller.provenance };
    let id = asked.operation_id.clone();
    let known = desk.authority.receipt(&id)?.is_some();
    let jumped = desk.look(|_, terms| Ok(terms.clock_jump))?;
    if !known && (args.switch("dry-run") || !jumped) {
        let text = if jumped { "would take the present time" } else { "the clock did not jump" };
        let body = json!({"clock_jump": jumped, "accepted": false});
        return Rendered::new(schema::DOCTOR, &body, Document::new().line(text));
    }
    if !known {
        prove(context, &mut asked, "take the present time")?;
    }
    let receipt = desk.authority.accept_clock(&asked);
    let receipt = receipt.map_err(|error| with_proof_hint(context, args, &desk, &asked.actor, error))?;
    let body = json!({"receipt": receipt, "clock_jump": true, "accepted": receipt.is_some()});
    let replayed = receipt.is_some_and(|receipt| receipt.is_replayed());
    Ok(Rendered::new(schema::DOCTOR, &body, Document::new().line("the present time is taken"))?
        .operation(&id, replayed))
}
