//! Owns the table of actors: which kind of actor may use which verb at all.
//!
//! Knows nothing of rows: that an agent owns what it renews is checked where the row is read. Default is deny.

use crate::{
    error::{Code, Error, Result},
    model::{Actor, Assurance, Provenance},
};

/// What a person needs for a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// It is not a person's.
    Never,
    /// A stated name is enough.
    Stated,
    /// A proof is needed.
    Proven,
}

/// Who may use a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// A person.
    pub person: Person,
    /// An agent; what it must own is checked with the row.
    pub agent: bool,
    /// An agent below the guardian of its own Turn.
    pub contained: bool,
    /// LoopX itself.
    pub system: bool,
}

macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident $text:literal: $person:ident $($who:ident)*;)*) => {
        /// Every verb that writes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb { $($(#[$doc])* #[doc = $text] $name,)* }

        impl Verb {
            /// All verbs.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The spelling on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Who may use it.
            pub const fn rights(self) -> Rights {
                match self {
                    $(Self::$name => {
                        #[allow(unused_mut, reason = "verbs that only a person uses add nothing")]
                        let mut rights = Rights { person: Person::$person, agent: false, contained: false, system: false };
                        $(rights.$who = true;)*
                        rights
                    })*
                }
            }
        }
    };
}

verbs! {
    GoalStart "goal start": Stated;
    GoalUpdate "goal update": Proven;
    GoalStop "goal stop": Stated;
    GoalResume "goal resume": Proven;
    GoalClose "goal close": Proven;
    GoalReopen "goal reopen": Proven;
    GoalIncarnate "goal incarnate": Never system;
    AgentAdd "agent add": Stated;
    AgentRetire "agent retire": Proven;
    QuotaSet "quota set": Proven;
    QuotaUsage "quota usage": Proven agent;
    QuotaVoid "quota void": Proven;
    TodoAdd "todo add": Stated agent;
    TodoUpdate "todo update": Stated agent;
    TodoLink "todo link": Stated agent;
    TodoUnlink "todo unlink": Stated agent;
    TodoDefer "todo defer": Stated agent;
    TodoBlock "todo block": Stated agent;
    TodoUnblock "todo unblock": Stated;
    TodoHold "todo hold": Stated;
    TodoUnhold "todo unhold": Stated;
    TodoResolve "todo resolve": Stated agent;
    TodoCancel "todo cancel": Stated agent;
    TodoReopen "todo reopen": Stated;
    TodoComplete "todo complete": Stated;
    TodoWaive "todo done --waive": Proven;
    TodoClaim "todo claim": Never agent;
    TodoRenew "todo renew": Never agent;
    TodoRelease "todo release": Never agent;
    TodoForceRelease "todo release --force": Proven;
    TodoTransfer "todo transfer": Stated agent;
    TurnRun "turn run": Stated agent;
    TurnStop "turn stop": Stated agent;
    TurnAccept "turn accept": Proven;
    TurnAbandon "turn abandon": Proven;
    TurnDispatch "turn dispatch": Never agent;
    TurnCandidate "todo done": Never agent;
    TurnVerdict "turn verdict": Never agent;
    TurnEnd "turn end": Never agent;
    TurnProve "turn recover --prove": Never agent system;
    TurnLose "turn lose": Never agent;
    TurnRecover "turn recover --resume": Never agent system;
    GateOpen "gate open": Stated agent contained;
    GateResolve "gate resolve": Proven;
    GateWithdraw "gate withdraw": Proven agent;
    EvidenceAdd "evidence add": Stated agent contained;
    EffectIntend "effect intend": Stated agent;
    EffectConfirm "effect confirm": Stated agent;
    EffectReconcile "effect reconcile": Stated agent;
    EffectStop "effect stop": Stated agent;
    EffectWriteOff "effect write-off": Proven;
    RewardAdd "reward add": Stated;
    ProposalAdd "proposal add": Never agent contained;
    ProposalConfirm "proposal confirm": Proven;
    ProposalLapse "proposal lapse": Proven;
    ProposalReject "proposal reject": Proven;
    ProposalDefer "proposal defer": Proven;
    ProposalWithdraw "proposal withdraw": Never agent;
    AttentionSeen "attention seen": Stated;
    PeerReturn "peer return": Never agent;
    PeerAdopt "peer adopt": Stated agent;
    PeerReject "peer reject": Stated agent;
    HandoffAccept "handoff accept": Never agent;
    Batch "batch": Stated;
}

/// Refuses an actor whose kind, assurance or place is not enough for a verb.
pub(crate) fn authorize(verb: Verb, actor: &Actor, provenance: &Provenance, strict: bool) -> Result<()> {
    let rights = verb.rights();
    let a_persons = !matches!(rights.person, Person::Never);
    let not_allowed = || {
        Error::new(Code::ActorNotAllowed, format!("{actor} may not use `{}`", verb.as_str()))
            .detail("verb", verb.as_str())
    };
    let user_only = || {
        Error::new(Code::UserOnly, format!("only a person may use `{}`", verb.as_str()))
            .detail("verb", verb.as_str())
    };
    if provenance.contained.is_some() {
        return match actor {
            Actor::Agent(..) if rights.contained => Ok(()),
            Actor::Agent(..) if rights.agent => Err(not_allowed()),
            Actor::Agent(..) | Actor::User(_) | Actor::Host(_) | Actor::System if a_persons => {
                Err(user_only())
            }
            Actor::Agent(..) | Actor::User(_) | Actor::Host(_) | Actor::System => Err(not_allowed()),
        };
    }
    match actor {
        Actor::Agent(..) if rights.agent => Ok(()),
        Actor::Agent(..) if a_persons => Err(user_only()),
        Actor::System if rights.system => Ok(()),
        Actor::User(_) => match (rights.person, provenance.assurance) {
            (Person::Never, _) => Err(not_allowed()),
            (Person::Stated, _) if !strict => Ok(()),
            (Person::Stated | Person::Proven, Assurance::Proven) => Ok(()),
            (Person::Stated | Person::Proven, Assurance::Stated) => Err(Error::new(
                Code::Unauthenticated,
                format!("`{}` needs proof that {actor} asks", verb.as_str()),
            )
            .detail("verb", verb.as_str())),
        },
        Actor::Agent(..) | Actor::Host(_) | Actor::System => Err(not_allowed()),
    }
}
