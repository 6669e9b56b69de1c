//! Owns the one flag table: every command, argument, value, example and exit code.
//!
//! From it come the parser, the help, the man page, the completions and the reference page. Knows nothing of
//! how any of them is made, and nothing of what a command does.

mod agent;
mod attention;
mod effect;
mod evidence;
mod flags;
mod gate;
mod goal;
mod inspect;
mod loops;
mod peer;
mod proposal;
mod quota;
mod reward;
mod shape;
mod shell;
mod start;
mod todo;
mod todo_owned;
mod todo_plan;
mod trust;
mod turn;
mod vault;

pub use self::shape::{Access, Arg, Command, Example, Group, Kind, Place, example};
pub(super) use self::{
    flags::GLOBAL,
    shape::{ASKS_USER, CLOSED, DECISIONS, WAITS},
};

/// The commands of the kernel: what `loopx-core` and the minimal preset offer.
pub const CORE: &[Command] = &[
    start::TRY,
    start::INIT,
    start::STATUS,
    start::NEXT,
    start::WHY,
    inspect::FIND,
    goal::GOAL,
    todo::TODO,
    gate::GATE,
    attention::ATTENTION,
    agent::AGENT,
    evidence::EVIDENCE,
    reward::REWARD,
    proposal::PROPOSAL,
    peer::PEER,
    peer::HANDOFF,
    turn::TURN,
    loops::LOOP,
    start::HEARTBEAT,
    quota::QUOTA,
    inspect::CHECK,
    inspect::METRICS,
    effect::EFFECT,
    inspect::DOCTOR,
    inspect::LOG,
    trust::AUDIT,
    trust::VERIFY_FILE,
    vault::BACKUP,
    vault::RESTORE,
    vault::MIGRATE,
    vault::GC,
    shell::CONFIG,
    shell::TOKEN,
    shell::COMPLETIONS,
    shell::MAN,
];
