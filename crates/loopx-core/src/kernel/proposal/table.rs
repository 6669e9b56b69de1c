//! Owns which commands may be proposed.

use crate::{
    error::{Code, Error, Result},
    kernel::{self, Input, claim, goal},
};

/// Whether a command may wait for a person's word: one of a person's, that moves this Goal's plan or terms.
///
/// Not what only its own holder gives, nor what needs a machine that runs something, nor a judgement.
///
/// Errors: `invalid_argument`.
pub(super) fn check_proposable(command: &kernel::Command) -> Result<()> {
    let may = match command {
        kernel::Command::Goal(command) => match command {
            goal::Command::Update(_) | goal::Command::Stop | goal::Command::Resume => true,
            goal::Command::Start(_)
            | goal::Command::Close { .. }
            | goal::Command::Reopen
            | goal::Command::Incarnate => false,
        },
        kernel::Command::Claim(command) => match command {
            claim::Command::ForceRelease { .. } => true,
            claim::Command::Claim(_)
            | claim::Command::Renew { .. }
            | claim::Command::Release { .. }
            | claim::Command::Transfer { .. }
            | claim::Command::Next(_) => false,
        },
        kernel::Command::Agent(_)
        | kernel::Command::Quota(_)
        | kernel::Command::Todo(_)
        | kernel::Command::Gate(_)
        | kernel::Command::Evidence(_)
        | kernel::Command::Batch(_) => true,
        kernel::Command::Turn(_)
        | kernel::Command::Attention(_)
        | kernel::Command::Effect(_)
        | kernel::Command::Reward(_)
        | kernel::Command::Proposal(_)
        | kernel::Command::Peer(_)
        | kernel::Command::Handoff(_) => false,
    };
    if may {
        return Ok(());
    }
    let verb = Input::Command(command.clone()).verb().as_str();
    Err(Error::new(Code::InvalidArgument, format!("`{verb}` cannot be proposed")).detail("verb", verb))
}
