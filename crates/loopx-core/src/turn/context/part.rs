//! Owns the parts of a packet: what changes alone, and is sent alone.
//!
//! Knows nothing of what a part says. A part is one field of the envelope, so that it is put in its place without being
//! understood.

/// One field of the envelope that may have another content under the same revisions.
///
/// What is not here says whose packet it is, and another one of that is another packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The Todo.
    Todo,
    /// What to do.
    EffectiveAction,
    /// The same in words.
    RecommendedAction,
    /// The Goal and its limits.
    Boundary,
    /// The gates that block.
    Gates,
    /// What to read first.
    RequiredReads,
    /// The bounds of the run.
    ExecutionPolicy,
    /// Who will judge.
    Validators,
    /// What the budget leaves.
    QuotaLeft,
    /// The signature.
    ActionSignature,
}

impl Part {
    /// How many there are.
    pub(super) const COUNT: usize = 10;

    /// All of them, in the order of the envelope, and of a basis.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Todo,
        Self::EffectiveAction,
        Self::RecommendedAction,
        Self::Boundary,
        Self::Gates,
        Self::RequiredReads,
        Self::ExecutionPolicy,
        Self::Validators,
        Self::QuotaLeft,
        Self::ActionSignature,
    ];

    /// The field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::EffectiveAction => "effective_action",
            Self::RecommendedAction => "recommended_action",
            Self::Boundary => "boundary",
            Self::Gates => "gates",
            Self::RequiredReads => "required_reads",
            Self::ExecutionPolicy => "execution_policy",
            Self::Validators => "validators",
            Self::QuotaLeft => "quota_left",
            Self::ActionSignature => "action_signature",
        }
    }
}
