//! Owns what a Turn needs of the machine it runs on: its ledger, its private store, its locks, its name.
//!
//! Knows nothing of what is done with them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::read_link,
    path::{Path, PathBuf},
};

use super::{
    guard::{self, Guarding, Presence},
    host::Hosts,
    lock::{DriverLock, Guardian, Told},
    snapshot::Keep,
    tree::{self, Tree},
    tries,
    workspace::Trees,
};
use crate::{
    authority::{
        Authority, View,
        clock::{Clock as _, SystemClock},
        last_terms,
        profile::Profile,
    },
    error::{Code, Error, Result},
    kernel::{self, Ask, Facts, READ_ROUNDS, Read, Sight},
    model::{
        Actor, Assurance, Cause, Digest, Door, Expected, Goal, Label, MachineId, Operation, OperationId,
        Provenance, Receipt, Todo, Turn, TurnId, TurnState, Validator, Workspace,
    },
    private::{Body, PrivateStore},
    process::{self, Keeper, Launcher, Leaf, Token},
};

/// The variables of its environment that LoopX passes on to a host.
pub const PASSED_ON: [&str; 5] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"];

/// This machine, as far as a Turn is concerned.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its name in the ledger.
    pub machine_id: MachineId,
    /// Where the driver locks lie.
    pub locks: PathBuf,
    /// Where its work trees lie.
    pub trees: Trees,
    /// Where guardians keep what hosts say, until it is kept elsewhere.
    pub spool: PathBuf,
    /// How attempts are guarded; none where the binary has no guardian, and the process group has to do.
    pub guarding: Option<Guarding>,
    /// How long snapshots of work trees are kept.
    pub keep: Keep,
    /// What is passed on of the environment.
    pub env: BTreeMap<OsString, OsString>,
    boot_id: Option<Label>,
    pid_namespace: Option<Label>,
}

impl Machine {
    /// Describes this machine for a profile; of `env` only what is passed on to hosts is kept.
    ///
    /// With a `launcher`, attempts are guarded. Errors: `not_ready` where the machine has lost its name.
    pub fn of(
        profile: &Profile,
        launcher: Option<Launcher>,
        env: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self> {
        let place = profile.place();
        let mut machine =
            Self::new(profile.machine_id()?.parse()?, place.locks(), Trees::at(place.trees()), env)?;
        let home = place.dir().parent().and_then(Path::parent);
        machine.spool = place.spool();
        machine.guarding = launcher.zip(home).map(|(launcher, home)| Guarding {
            launcher,
            home: home.to_owned(),
            profile: place.name().to_owned(),
        });
        machine.env.extend(home.map(|home| (OsString::from("LOOPX_HOME"), home.as_os_str().to_owned())));
        machine.env.insert("LOOPX_PROFILE".into(), place.name().into());
        Ok(machine)
    }

    /// Below what validators run here; without a launcher nothing ends them with this process.
    pub(super) fn keeper(&self) -> Keeper {
        Keeper::of(self.guarding.as_ref().map(|guarding| &guarding.launcher))
    }

    /// Describes this machine by its parts; guardians keep what hosts say beside the locks.
    pub fn new(
        machine_id: MachineId,
        locks: PathBuf,
        trees: Trees,
        env: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self> {
        let kept = |(name, _): &(OsString, OsString)| PASSED_ON.iter().any(|one| name == one);
        let boot_id = SystemClock::new().read()?.boot_id;
        let namespace = read_link("/proc/self/ns/pid").ok();
        Ok(Self {
            machine_id,
            spool: locks.with_file_name("spool"),
            locks,
            trees,
            keep: Keep::default(),
            guarding: None,
            env: env.into_iter().filter(kept).collect(),
            boot_id: boot_id.parse().ok(),
            pid_namespace: namespace.and_then(|link| link.to_string_lossy().parse().ok()),
        })
    }

    /// Where the snapshots of work trees lie: beside the locks, in the profile.
    pub fn snapshots(&self) -> PathBuf {
        self.locks.with_file_name("snapshots")
    }

    /// The name of this boot, where the platform has one.
    pub fn boot_id(&self) -> Option<&Label> {
        self.boot_id.as_ref()
    }

    /// The name of the pid namespace, where the platform has one.
    pub fn pid_namespace(&self) -> Option<&Label> {
        self.pid_namespace.as_ref()
    }
}

/// What a driver, an owner's verb and a recovery work with.
#[derive(Debug)]
pub struct Site<'a> {
    /// The facts.
    pub authority: &'a mut Authority,
    /// The bodies.
    pub private: &'a mut PrivateStore,
    /// The machine.
    pub machine: &'a Machine,
    /// What makes the host that a recovery starts again.
    pub hosts: &'a dyn Hosts,
}

/// A Turn with all that stands around it, as one read saw it.
#[derive(Debug, Clone)]
pub struct Around {
    /// The Turn.
    pub turn: Turn,
    /// Its Todo; none for a Turn that works on none.
    pub todo: Option<Todo>,
    /// Its Goal.
    pub goal: Goal,
    /// What keeps it where it is.
    pub causes: BTreeSet<Cause>,
    /// What leads out of there, the first thing first.
    pub asks: Vec<Ask>,
    pub(super) facts: Facts,
}

impl Around {
    /// What proves the Turn's result, in order.
    pub fn validators(&self) -> &[Validator] {
        self.todo.as_ref().map_or(&self.goal.validators, |todo| kernel::validators(&self.goal, todo))
    }

    /// The other Turn whose end this one waits for.
    pub fn waits_for(&self) -> Option<&Turn> {
        kernel::waits_for(&self.facts, &self.turn, &self.causes).ok().flatten()
    }

    /// The command that leads on from where the Turn is held, or stands unresolved; where it only waits, the one that shows
    /// what for.
    pub fn onward(&self) -> Option<String> {
        let shown = || self.waits_for().map(|other| format!("turn show {}", other.turn_id));
        self.asks.first().map(|ask| ask.command.clone()).or_else(shown)
    }

    /// Whether the ownership of the Turn has run out.
    pub fn has_expired(&self) -> bool {
        let own = self.todo.as_ref().and_then(|todo| todo.ownership.as_ref());
        own.filter(|own| own.turn_id == self.turn.turn_id).is_none_or(|own| self.facts.is_expired(own))
    }

    /// How long the Turn's ownership lasts without renewal, and how much of that is left, in milliseconds; none where no
    /// time runs.
    pub(super) fn time_left_ms(&self) -> Option<(u64, u64)> {
        let own = self.todo.as_ref().and_then(|todo| todo.ownership.as_ref());
        let own = own.filter(|own| own.turn_id == self.turn.turn_id && !own.frozen)?;
        let left_ms = own.expires_at.as_ms().saturating_sub(self.facts.now().as_ms());
        Some((own.ttl_ms.as_ms(), u64::try_from(left_ms).unwrap_or(0)))
    }

    /// The agent that executes, as the actor of its driver's steps.
    pub fn executor(&self) -> Actor {
        Actor::Agent(self.turn.agent_id.clone(), self.turn.endpoint.clone())
    }

    /// An operation of the Turn's driver.
    pub(super) fn step<C>(&self, operation_id: OperationId, command: C) -> Operation<C> {
        operation(operation_id, self.executor(), Door::Driver, &self.turn, command)
    }

    /// An operation of LoopX itself.
    pub(super) fn proof<C>(&self, operation_id: OperationId, command: C) -> Operation<C> {
        operation(operation_id, Actor::System, Door::Driver, &self.turn, command)
    }
}

fn operation<C>(
    operation_id: OperationId,
    actor: Actor,
    door: Door,
    turn: &Turn,
    command: C,
) -> Operation<C> {
    Operation {
        operation_id,
        actor,
        provenance: Provenance { door, assurance: Assurance::Stated, contained: None },
        goal_id: turn.goal_id.clone(),
        command,
        expected: Expected::default(),
    }
}

impl Site<'_> {
    /// Reads a Turn and all that stands around it.
    ///
    /// Errors: `not_found`, `store_*`.
    pub fn around(&mut self, turn_id: TurnId) -> Result<Around> {
        let mut around = read_around(self.authority, turn_id)?;
        around.asks = match around.turn.state {
            TurnState::Held { .. } => {
                let beside = kernel::waits_for(&around.facts, &around.turn, &around.causes)?;
                let tried = tries::tried(self.private, &Vec::from_iter(beside.cloned()))?;
                let (driver, machine_id) =
                    (|id| DriverLock::seen(&self.machine.locks, id), &self.machine.machine_id);
                let sight = Sight { machine_id: Some(machine_id), driver: &driver, tried: &tried };
                let asks = kernel::held_asks(&around.facts, &around.turn, &sight)?;
                asks.into_iter().map(|(_, ask)| ask).collect()
            }
            TurnState::Stopped { .. } => kernel::end_asks(&around.facts, &around.turn)?,
            TurnState::Unresolved { .. } => {
                let tried = tries::tried(self.private, std::slice::from_ref(&around.turn))?;
                let told = kernel::may_be_told(&around.turn, Some(&self.machine.machine_id), &tried);
                vec![kernel::unresolved_ask(&around.turn, told)]
            }
            _ => Vec::new(), // wildcard: nobody waits for what is at work, or has ended
        };
        Ok(around)
    }

    /// What an operation returned, if it was submitted.
    pub(super) fn receipt(&mut self, operation_id: &OperationId) -> Result<Option<Receipt>> {
        self.authority.receipt(operation_id)
    }

    /// Where a Turn works on this machine.
    pub(super) fn folder(&mut self, turn: &Turn) -> Result<Option<PathBuf>> {
        turn.workspace.as_ref().map_or(Ok(None), |workspace| self.machine.trees.folder(workspace))
    }

    /// What the work tree of a Turn looks like now, the whole of it, whatever folder the Turn works in; none where that
    /// is not known, or has no picture.
    pub(super) fn picture(&mut self, turn: &Turn) -> Result<Option<Tree>> {
        let root = self.tree_root(turn)?;
        Ok(root.and_then(|root| Tree::of(&root, &self.machine.env)))
    }

    /// The digest of all that lies in the work tree of a Turn, to tell that nothing changed.
    pub(super) fn whole(&mut self, turn: &Turn) -> Result<Option<Digest>> {
        let root = self.tree_root(turn)?;
        Ok(root.and_then(|root| tree::whole(&root, &self.machine.env)))
    }

    pub(super) fn tree_root(&mut self, turn: &Turn) -> Result<Option<PathBuf>> {
        let tree = turn.workspace.as_ref().map(Workspace::tree);
        tree.map_or(Ok(None), |tree| self.machine.trees.folder(&tree))
    }

    /// A body that belongs to a Turn, made now.
    pub(super) fn body(
        kind: crate::private::Kind,
        id: String,
        turn_id: TurnId,
        bytes: Vec<u8>,
    ) -> Result<Body> {
        let created_at_ms = SystemClock::new().read()?.wall_ms;
        Ok(Body { kind, id, owner_turn: Some(turn_id.to_string()), created_at_ms, bytes })
    }
}

fn read_around(authority: &mut Authority, turn_id: TurnId) -> Result<Around> {
    let terms = authority.present()?;
    authority.read(|view: &mut dyn View| {
        let mut facts = Facts::new(terms.clone());
        for _ in 0..=READ_ROUNDS {
            let missing = kernel::turn_around(turn_id, &facts);
            view.load(&missing, &mut facts)?;
        }
        let turn = facts.turn(&turn_id)?.cloned().ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no Turn {turn_id}")).hint("turn list")
        })?;
        let goal = facts.goal(&turn.goal_id)?.cloned().ok_or_else(|| Error::from(Code::Internal))?;
        let todo = match turn.todo_id() {
            Some(todo_id) => facts.todo(todo_id)?.cloned(),
            None => None,
        };
        let causes = kernel::turn_causes(&facts, &turn)?;
        Ok(Around { turn, todo, goal, causes, asks: Vec::new(), facts })
    })
}

/// The mark of the process tree of an attempt.
pub(super) fn attempt_token(turn_id: TurnId, number: u8) -> Result<Token> {
    Token::parse(&format!("{turn_id}.{number}"))
}

/// The mark of the validators of a Turn.
pub(super) fn validator_token(turn_id: TurnId) -> Result<Token> {
    Token::parse(&format!("{turn_id}.v"))
}

/// Ends what carries a mark, or is in a leaf; whether the tree is proved empty then.
pub(super) fn sweep(token: &Token, leaf: Option<&Leaf>) -> Result<bool> {
    const GRACE_MS: u64 = 2000;
    if leaf.is_none() && process::alive_by_token(token)?.is_empty() {
        return Ok(true);
    }
    Ok(process::end_by_token(token, leaf, GRACE_MS)?.survivors.is_empty())
}

/// What is known of what an attempt started, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Emptied {
    /// Some of it lives, or may: its guardian does, or nothing can be seen of it from here.
    Alive,
    /// Nothing of it is seen. Who killed its guardian may have left its tree before.
    Unseen,
    /// None of it lives.
    Proved,
}

/// Ends what an attempt has left, once its guardian is gone; what is known of it then.
///
/// Proof is a guardian's own word, that nothing began, or that the control group is empty which held all of it and which
/// nothing was seen to leave: what its user may make, a program of his may leave that sets out to.
pub(super) fn emptied(machine: &Machine, turn_id: TurnId, attempt: u8) -> Result<Emptied> {
    let token = attempt_token(turn_id, attempt)?;
    let lock = match guard::find(machine, turn_id, attempt, true, true)? {
        Presence::Alive(_) => return Ok(Emptied::Alive),
        Presence::Gone(lock) => lock,
    };
    let Some(lock) = lock else {
        return Ok(match sweep(&token, None)? {
            false => Emptied::Alive,
            true if guard::is_cut_off(machine, turn_id, attempt) => Emptied::Unseen,
            true => Emptied::Proved,
        });
    };
    let guardian = lock.noted();
    let has_begun = guardian.as_ref().is_none_or(|guardian| guardian.has_told(Told::Began));
    if !sweep(&token, lock.leaf().as_ref())? {
        return Ok(Emptied::Alive);
    }
    let is_told = guardian.as_ref().is_some_and(|guardian| guardian.has_told(Told::Emptied))
        || guard::is_told_empty(machine, turn_id, attempt);
    if !has_begun {
        lock.close();
        return Ok(Emptied::Proved);
    }
    guard::trace(machine, turn_id, attempt);
    let held = |guardian: Guardian| guardian.has_told(Told::Confined) && !guardian.has_told(Told::Escaped);
    Ok(if is_told || guardian.is_some_and(held) { Emptied::Proved } else { Emptied::Unseen })
}

/// A Turn as a view has it.
pub(super) fn turn(view: &mut dyn View, turn_id: TurnId) -> Result<Option<Turn>> {
    let mut facts = Facts::new(last_terms(view)?);
    view.load(&[Read::Turn(turn_id)].into(), &mut facts)?;
    Ok(facts.turn(&turn_id)?.cloned())
}
