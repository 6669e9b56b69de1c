//! Owns finding and ending a tree by its token alone, after the process that started it has died.
//!
//! Knows nothing of Turns or attempts; recovery passes the token it has on record.

use crate::error::{Code, Error, Result};

use super::{
    clock::{boot_ms, pause},
    leaf::Leaf,
    spec::{Containment, Process, Token},
    tree::{Ending, Stage, Tree},
};

/// What ending by a token came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// What carried the token, or descended from a carrier, at the first look.
    pub found: Vec<Process>,
    /// What is still alive; empty means the tree is proved empty. The caller itself, if it carries the token.
    pub survivors: Vec<Process>,
}

/// Names every living process that carries the token or descends from one that does.
///
/// `unsupported_platform` where the process table cannot be read: then nothing is known.
pub fn alive_by_token(token: &Token) -> Result<Vec<Process>> {
    let mut tree = Tree::carrying(token, None);
    let alive = tree.survey_settled();
    seen(&mut tree).map(|()| alive)
}

/// Ends whatever carries the token or is in the leaf: TERM, `grace_ms`, KILL, until two looks in a row find nobody. Then
/// the leaf is removed.
///
/// `unsupported_platform` where the process table cannot be read: then nothing is proved.
pub fn end_by_token(token: &Token, leaf: Option<&Leaf>, grace_ms: u64) -> Result<Swept> {
    let mut tree = Tree::carrying(token, leaf.cloned());
    let mut ending = Ending::new(boot_ms(), grace_ms);
    let survivors = loop {
        match ending.step(&mut tree, boot_ms()) {
            Stage::Again(at_ms) => pause(at_ms.saturating_sub(boot_ms())),
            Stage::Over(survivors) => break survivors,
        }
    };
    seen(&mut tree)?;
    if survivors.is_empty() {
        tree.clear();
    }
    Ok(Swept { found: ending.into_found(), survivors })
}

/// Whether the tree could be seen at all.
fn seen(tree: &mut Tree) -> Result<()> {
    match tree.containment() {
        Containment::Group => Err(blind()),
        Containment::Leaf | Containment::Adopted | Containment::Token | Containment::Children => Ok(()),
    }
}

fn blind() -> Error {
    Error::new(Code::UnsupportedPlatform, "the process table cannot be read, so no tree can be proved empty")
}
