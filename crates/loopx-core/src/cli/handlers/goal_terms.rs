//! Owns how arguments become the terms of a Goal: acceptance, boundary, validators, sources.

use super::{desk::Desk, given};
use crate::{
    cli::{Args, Context},
    error::{Code, Error, Result},
    kernel::{GoalChange, GoalCommand, NewGoal},
    model::{Boundary, BoundaryChange, Criterion, CriterionState, ShortText, Text, Unvalidated},
};

/// The Goal that `goal start` asks for.
pub(super) fn new_goal(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
    objective: Text,
) -> Result<NewGoal> {
    let unvalidated: Unvalidated = given::word(args.needed("unvalidated")?)?;
    Ok(NewGoal {
        acceptance: checked(context, args, desk, criteria(given::all(args, "acceptance")?))?,
        non_goals: given::all(args, "non-goal")?,
        boundary: Boundary {
            write_scopes: given::all(args, "scope")?,
            needs_approval: given::set(args, "needs-approval")?,
            exclusive_workspace: args.switch("exclusive-workspace"),
        },
        stop_conditions: given::all(args, "stop-condition")?,
        validators: given::validators(context, args, desk)?,
        authority_sources: given::all(args, "source")?,
        unvalidated,
        ..NewGoal::wanting(objective)
    })
}

/// Open criteria of these texts.
pub(super) fn criteria(texts: Vec<ShortText>) -> Vec<Criterion> {
    texts.into_iter().map(|text| Criterion { text, check: None, state: CriterionState::Open }).collect()
}

/// Gives criteria the checks of `--check N=COMMAND`.
fn checked(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
    mut criteria: Vec<Criterion>,
) -> Result<Vec<Criterion>> {
    let count = criteria.len();
    for (number, argv) in args.numbered_argvs("check") {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let criterion = place.and_then(|place| criteria.get_mut(place)).ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("there is no criterion {number}; the Goal has {count}"))
                .hint(format!("{} --help", args.path()))
                .detail("argument", "--check")
        })?;
        criterion.check = Some(given::validator(context, args, desk, argv, None)?);
    }
    Ok(criteria)
}

/// What `goal update` asks for.
///
/// Errors: `invalid_argument` for a list that is set and emptied.
pub(super) fn change(context: &Context<'_, '_>, args: &Args, desk: &Desk) -> Result<GoalCommand> {
    let mut change = terms(context, args, desk)?;
    if let Some(number) = args.number("criterion") {
        let criterion = u8::try_from(number).map_err(|e| Error::from(Code::Internal).internal(e))?;
        change.waive = vec![(criterion, given::needed(args, "waive")?)];
    }
    Ok(GoalCommand::Update(Box::new(change)))
}

/// What is given, and nothing of the row: whoever else changes it meanwhile loses nothing, and a repetition asks for the
/// same.
fn terms(context: &Context<'_, '_>, args: &Args, desk: &Desk) -> Result<GoalChange> {
    let cleared: Vec<&str> = args.texts("clear").collect();
    if let Some(both) = cleared.iter().find(|list| !args.values(list).is_empty()) {
        return Err(Error::new(Code::InvalidArgument, format!("`--{both}` is given and cleared"))
            .hint("goal update --help")
            .detail("argument", "--clear"));
    }
    let touched = |id: &str| !args.values(id).is_empty() || cleared.contains(&id);
    let texts = |id: &str| -> Result<Option<Vec<ShortText>>> {
        touched(id).then(|| given::all(args, id)).transpose()
    };
    let acceptance =
        touched("acceptance").then(|| given::all(args, "acceptance").map(criteria)).transpose()?;
    let check = |(number, argv)| {
        // What is no such number is no criterion either.
        let criterion = u8::try_from(number).unwrap_or(0);
        Ok((criterion, given::validator(context, args, desk, argv, None)?))
    };
    let validators = touched("validator").then(|| given::validators(context, args, desk)).transpose()?;
    Ok(GoalChange {
        objective: given::parsed(args, "objective")?,
        acceptance,
        checks: args.numbered_argvs("check").map(check).collect::<Result<_>>()?,
        non_goals: texts("non-goal")?,
        boundary: boundary(args, &touched)?,
        stop_conditions: texts("stop-condition")?,
        validators,
        authority_sources: texts("source")?,
        workspace: None,
        waive: Vec::new(),
    })
}

/// What is given of a boundary; none when nothing of it is.
fn boundary(args: &Args, touched: &dyn Fn(&str) -> bool) -> Result<Option<BoundaryChange>> {
    let change = BoundaryChange {
        write_scopes: touched("scope").then(|| given::all(args, "scope")).transpose()?,
        needs_approval: touched("needs-approval").then(|| given::set(args, "needs-approval")).transpose()?,
        exclusive_workspace: args.text("exclusive-workspace").map(|word| word == "yes"),
    };
    Ok(Some(change).filter(|change| *change != BoundaryChange::default()))
}
