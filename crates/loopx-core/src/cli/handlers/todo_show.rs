//! Owns the page of one Todo.

use serde_json::json;

use super::{
    desk::Desk,
    names,
    reader::Reader,
    schema,
    show::{self, Facts},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::Result,
    kernel::return_commands,
    model::{PeerReturn, Timestamp, Wake},
    projection::{self, OwnerRow, TodoPage},
};

/// `todo show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let (page, now) = desk.look(|view, terms| Ok((projection::todo(view, terms, &id)?, terms.now)))?;
    let goal = names::goal_row(&mut desk, id.goal())?;
    let reader = Reader::of(context, args, &desk);
    let document = document(&page, show::unbound(&goal, &page.requires.write_scopes), now, &reader);
    Rendered::new(schema::TODO, &json!({"todo": page}), document)
}

fn document(page: &TodoPage, unbound: Option<&str>, now: Timestamp, reader: &Reader) -> Document {
    let row = &page.row;
    let waits = row.wake.as_ref().map(|wake| match wake {
        Wake::After(at) => show::when(*at, now),
        Wake::TodoDone(id) => format!("until {id} is done"),
        Wake::Gate(id) => format!("until {id} is answered"),
    });
    let requires = &page.requires;
    let facts = Facts::default()
        .add("Todo", &row.todo_id)
        .add("state", show::state(row))
        .maybe("waits", waits)
        .maybe("because", row.reason.as_ref())
        .add("kind", row.kind.as_str())
        .add("priority", row.priority.as_str())
        .maybe("owner", row.owner.as_ref().map(|_| show::owner(row, now)))
        .maybe("reserved for", page.reserved.as_ref().map(|reserved| &reserved.agent_id))
        .list("depends on", &page.depends_on)
        .list("capabilities", &requires.capabilities)
        .list("write scopes", &requires.write_scopes)
        .maybe("which bind", unbound)
        .list("effects", &requires.effects)
        .maybe("publishes", requires.publish.then_some("yes"))
        .list("not for", &page.excluded_agents)
        .list("validators", page.validators.iter().map(|validator| show::typed(&validator.argv)))
        .maybe(
            "every",
            page.monitor.as_ref().map(|m| crate::cli::parse::show_duration_ms(m.every_ms.as_ms())),
        )
        .maybe("reviews", page.reviews.as_ref())
        .maybe("returns to", page.coordinates.as_ref())
        .maybe("last Turn", page.last_end.as_ref().and_then(|end| end.note.as_ref()))
        .maybe(
            "done by",
            page.completion.as_ref().map(|done| format!("{}, {}", done.by, show::when(done.at, now))),
        )
        .maybe("waived", page.completion.as_ref().and_then(|done| done.waived.as_ref()))
        .add("added", format!("{} by {}", show::when(page.made_at_ms, now), page.made_by))
        .add("revision", row.revision);
    let mut document = Document::new().heading(&row.title).with(facts.block());
    if let Some(detail) = &page.detail {
        document = document.verbatim(detail);
    }
    if !page.gates.is_empty() {
        document =
            document.log(show::GATE_HEAD, page.gates.iter().map(|gate| show::gate(gate, now)).collect());
    }
    if !page.effects.is_empty() {
        let rows = page.effects.iter().filter_map(|row| row.get().ok());
        document = document.log(show::EFFECT_HEAD, rows.map(|effect| show::effect(effect, now)).collect());
    }
    if !page.returns.is_empty() {
        let rows: Vec<&PeerReturn> = page.returns.iter().filter_map(|row| row.get().ok()).collect();
        document = document
            .log(show::RETURN_HEAD, rows.iter().map(|given| show::returned(given, now)).collect())
            .code(rows.iter().flat_map(|given| decisions(given, row.owner.as_ref(), reader)).collect());
    }
    if !page.turns.is_empty() {
        document = document.log(show::TURN_HEAD, page.turns.iter().map(|row| show::turn(row, now)).collect());
    }
    document
}

/// What a person says of a return; the owner of its coordinator says it with its token.
fn decisions(given: &PeerReturn, owner: Option<&OwnerRow>, reader: &Reader) -> Vec<String> {
    let [adopt, _] = return_commands(given.return_id).map(|command| names::commanded(&command));
    let owned = owner.map(|owner| {
        let adopt = reader.command(&format!("{adopt} --as agent:{} --own OWN_ID", owner.agent_id));
        format!("{} takes it in: {adopt}", owner.agent_id)
    });
    let no = reader.refusal(&adopt);
    owned.into_iter().chain([format!("a person takes it in: {}", reader.command(&adopt))]).chain(no).collect()
}
