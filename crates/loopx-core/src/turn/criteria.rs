//! Owns running the checks of a Goal's criteria, before it is closed as achieved.
//!
//! Knows nothing of who closes it. A check is a validator like any other: it only counts when it passed here.

use std::path::Path;

use super::validate;
use crate::{
    error::{Code, Error, Result},
    model::{Goal, ShortText, VerdictOutcome},
    process::{Keeper, Launcher, Token},
};

/// What the check of one criterion said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The criterion, counted from 1.
    pub criterion: u8,
    /// The check, in short.
    pub check: ShortText,
    /// Why it does not count; none when it passed.
    pub failure: Option<String>,
}

/// Runs the check of every criterion that nothing settles yet and that has one, in order; they end when this process
/// does.
///
/// No transaction is open meanwhile. Errors: `internal`.
pub fn check_criteria(goal: &Goal, folder: &Path, launcher: &Launcher) -> Result<Vec<Checked>> {
    let token = Token::parse(&format!("closing.{}", goal.instance))?;
    let mut keeper = Keeper::of(Some(launcher));
    let mut all = Vec::new();
    for (place, criterion) in goal.acceptance.iter().enumerate() {
        let Some(check) = criterion.check.as_ref().filter(|_| criterion.state.is_open()) else { continue };
        let found = validate::run(&mut keeper, std::slice::from_ref(check), folder, &token, &mut |_| false);
        let verdict = found.ok_or_else(|| Error::from(Code::Internal))?.verdict(None);
        let name = verdict.validator.as_ref().map_or_else(|| "check".to_owned(), ToString::to_string);
        let why =
            || verdict.note.as_ref().map_or_else(|| format!("{name} did not pass"), ToString::to_string);
        all.push(Checked {
            criterion: u8::try_from(place + 1).map_err(|e| Error::from(Code::Internal).internal(e))?,
            check: name.parse()?,
            failure: (verdict.outcome != VerdictOutcome::Passed).then(why),
        });
    }
    Ok(all)
}
