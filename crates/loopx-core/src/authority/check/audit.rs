//! Owns what an audit must find: nothing in a history as it was written, and the first of whatever was changed.

use rusqlite::{Connection, params};

use super::{
    super::{Asked, Authority, Flaw, FlawKind, conformance::Room as _},
    Kept,
    world::{World, text, validator},
};
use crate::{kernel::Command, kernel::TodoCommand, model::*};

/// What an audit of everything finds.
pub(super) fn flaw(ledger: &Kept) -> Option<Flaw> {
    let mut authority = Authority::new(ledger.open());
    let audited = authority.audit(None, false, &mut |_| {}).unwrap();
    let flaws: Vec<_> = audited.into_iter().filter_map(|audited| audited.flaw).collect();
    assert!(flaws.len() < 2, "{flaws:?}");
    flaws.into_iter().next()
}

/// A ledger in a file in which something of every sort happened: `g.1` is done, `g.2` waits for `g.3`, which a gate
/// blocks, and `g.4` is owned.
pub(super) fn played() -> World {
    let mut world = World::over(Kept::sqlite());
    world.start(|goal| goal.validators = vec![validator()]);
    let one = world.todo("one", |new| new.detail = Some(text("at length")));
    let two = world.todo("two", |_| {});
    let three = world.todo("three", |_| {});
    let four = world.todo("four", |new| new.depends_on = [one.clone()].into());
    let link = TodoCommand::Link { todo_id: two, depends_on: three.clone() };
    world.user(Command::Todo(link)).unwrap();
    let owned = world.claim("a", &one).unwrap();
    world.done("a", &owned).unwrap();
    world.gate(GateKind::Approval, &three);
    world.evidence(super::world::user(), Some(&one), None);
    world.limit(Some("a"), Some(9)).unwrap();
    world.claim("b", &four).unwrap();
    world
}

/// The file of a ledger, to change what lies in it.
pub(super) fn file(world: &World) -> Connection {
    let Kept::Sqlite(home) = &world.ledger else { panic!("no file") };
    Connection::open(home.profile.place().authority_db()).unwrap()
}

/// Changes something that is there.
pub(super) fn change(world: &World, sql: &str) {
    assert_eq!(file(world).execute(sql, params![]).unwrap(), 1, "{sql}");
}

#[test]
fn a_history_as_it_was_written_has_no_flaw() {
    assert_eq!(flaw(&played().ledger), None);
}

/// The Goal's number in the file.
const G: &str = "(1<<32)";

#[test]
fn fault_b12_a_changed_record_is_named_by_its_number_wherever_it_lies() {
    let last = {
        let mut world = played();
        world.envelopes().len()
    };
    for seq in [1, last / 2, last] {
        for (what, sql, bad) in [
            (
                "a byte of the payload",
                "UPDATE events SET payload=CAST(replace(CAST(payload AS TEXT), '\"at\":', '\"at\": ') AS BLOB)",
                seq,
            ),
            ("its hash", "UPDATE events SET hash=zeroblob(32)", seq),
            ("a hash that was cut short", "UPDATE events SET hash=x'00'", seq),
            ("the record", "DELETE FROM events", seq),
        ] {
            let world = played();
            change(&world, &format!("{sql} WHERE id={G}+{seq}"));
            let flaw = flaw(&world.ledger).unwrap_or_else(|| panic!("{what} of {seq} passed"));
            assert_eq!(
                (flaw.kind, flaw.seq),
                (FlawKind::Chain, Some(bad as u64)),
                "{what} of {seq}: {flaw:?}"
            );
        }
    }
}

#[test]
fn a_changed_head_is_found_at_the_end_of_the_chain() {
    let mut world = played();
    let last = world.envelopes().len() as u64;
    for (sql, seq) in [
        ("UPDATE goals SET head_hash=zeroblob(32)", last),
        ("UPDATE goals SET head_seq=head_seq+1", last + 1),
        ("UPDATE goals SET head_seq=head_seq-2", last - 2),
    ] {
        let world = played();
        change(&world, sql);
        let flaw = flaw(&world.ledger).unwrap();
        assert_eq!((flaw.kind, flaw.seq), (FlawKind::Chain, Some(seq)), "{sql}: {flaw:?}");
    }
}

/// A ledger with so many events of its own.
pub(super) fn with_own(n: u64) -> World {
    let mut world = played();
    for turns in 1..=n {
        let limit = Some(Limit::of_turns(u32::try_from(turns).unwrap() + 99, Duration::from_mins(60)));
        let provenance = Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None };
        let operation_id = text(&format!("limit-{turns}"));
        let asked = Asked { operation_id, actor: super::world::user(), provenance };
        world.authority.set_limit(&asked, limit).unwrap();
    }
    world
}

#[test]
fn fault_b12_the_end_of_the_ledgers_own_chain_that_is_cut_off_is_named_by_its_first_number() {
    assert_eq!(flaw(&with_own(3).ledger), None);
    for cut in 1..=3 {
        let world = with_own(3);
        let sql = format!("DELETE FROM events WHERE id>{} AND id<=3", 3 - cut);
        assert_eq!(file(&world).execute(&sql, params![]).unwrap(), cut);
        let flaw =
            flaw(&world.ledger).unwrap_or_else(|| panic!("{cut} records are gone, and nobody noticed"));
        let bad = Some(4 - cut as u64);
        assert_eq!((flaw.kind, flaw.goal_id.clone(), flaw.seq), (FlawKind::Chain, None, bad), "{flaw:?}");
    }
}

#[test]
fn a_changed_note_of_the_end_of_the_own_chain_is_found_at_its_end() {
    for (sql, seq) in [
        ("UPDATE settings SET body=replace(body, '\"seq\":3', '\"seq\":4') WHERE name='own_head'", 4),
        ("UPDATE settings SET body=replace(body, '\"seq\":3', '\"seq\":1') WHERE name='own_head'", 1),
        ("UPDATE settings SET body='no' WHERE name='own_head'", 3),
    ] {
        let world = with_own(3);
        change(&world, sql);
        let flaw = flaw(&world.ledger).unwrap();
        assert_eq!(
            (flaw.kind, flaw.goal_id.clone(), flaw.seq),
            (FlawKind::Chain, None, Some(seq)),
            "{sql}: {flaw:?}"
        );
    }
}

#[test]
fn a_limit_of_all_goals_that_is_not_the_one_the_own_chain_says_last_is_found() {
    for sql in [
        "DELETE FROM settings WHERE name='limit'",
        "UPDATE settings SET body=replace(body, '102', '9') WHERE name='limit'",
        "UPDATE settings SET body='no' WHERE name='limit'",
    ] {
        let mut world = with_own(3);
        change(&world, sql);
        let flaw = flaw(&world.ledger).unwrap_or_else(|| panic!("{sql}"));
        let found = (flaw.kind, flaw.goal_id.clone(), flaw.row.as_deref());
        assert_eq!(found, (FlawKind::Row, None, Some("limit of all Goals")), "{sql}");
        let chain_only = world.authority.audit(None, true, &mut |_| ()).unwrap();
        assert!(chain_only.iter().all(|audited| audited.flaw.is_none()), "{sql}");
    }
}

#[test]
fn an_own_chain_whose_end_nobody_noted_is_read_as_before_and_the_next_event_notes_it() {
    let mut world = with_own(2);
    change(&world, "DELETE FROM settings WHERE name='own_head'");
    assert_eq!(flaw(&world.ledger), None);
    let provenance = Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None };
    let asked = Asked { operation_id: text("lift"), actor: super::world::user(), provenance };
    world.authority.set_limit(&asked, None).unwrap();
    assert_eq!(flaw(&world.ledger), None);
    change(&world, "DELETE FROM events WHERE id=3");
    assert_eq!(flaw(&world.ledger).unwrap().seq, Some(3));
}

#[test]
fn every_changed_row_column_meter_and_count_is_found() {
    use FlawKind::{Column, Count, Meter, Receipt, Row};
    let body = |table: &str| format!("UPDATE {table} SET body=replace(body, 'ship it', 'ship at')");
    for (sql, kind, row) in [
        (body("goal_bodies"), Row, "goal g"),
        ("DELETE FROM goal_bodies".into(), Row, "goal g"),
        ("UPDATE goal_bodies SET body='{'".into(), Row, "goal g"),
        ("DELETE FROM agents WHERE agent='b'".into(), Row, "agent b"),
        ("UPDATE agents SET body='{}' WHERE agent='b'".into(), Row, "agent b"),
        (format!("UPDATE todos SET body=replace(body, 'two', 'TWO') WHERE id={G}+2"), Row, "todo g.2"),
        (format!("UPDATE todos SET body='no' WHERE id={G}+3"), Row, "todo g.3"),
        (format!("UPDATE todos SET unmet=unmet+1 WHERE id={G}+2"), Row, "todo g.2"),
        (format!("UPDATE todos SET blocking_gates=0 WHERE id={G}+3"), Row, "todo g.3"),
        (format!("DELETE FROM todos WHERE id={G}+4"), Row, "todo g.4"),
        (format!("UPDATE texts SET body=replace(body, 'length', 'lengths') WHERE id={G}+1"), Row, "text g.1"),
        (format!("DELETE FROM texts WHERE id={G}+1"), Row, "text g.1"),
        (
            "UPDATE turns SET body=replace(body, '\"turn_no\":1', '\"turn_no\":2') WHERE live=1".into(),
            Row,
            "turn trn_",
        ),
        ("DELETE FROM gates".into(), Row, "gate gate_"),
        ("UPDATE gates SET body=replace(body, 'open', 'denied')".into(), Row, "gate gate_"),
        ("UPDATE evidence SET body=replace(body, 'notes', 'other')".into(), Row, "evidence evd_"),
        ("UPDATE meters SET slots=slots+1 WHERE agent=''".into(), Meter, "g"),
        ("DELETE FROM meters WHERE agent='b'".into(), Meter, "b"),
        ("UPDATE counts SET n=n+1 WHERE bucket='done'".into(), Count, "done"),
        (format!("UPDATE todos SET title='other' WHERE id={G}+2"), Column, "g.2"),
        (format!("UPDATE todos SET priority=0 WHERE id={G}+2"), Column, "g.2"),
        (format!("UPDATE todos SET free_at=1 WHERE id={G}+4"), Column, "g.4"),
        (format!("UPDATE todos SET ready_at=7 WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET bucket='done' WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET live=0 WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET kind='action' WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET needs='x' WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET excluded='a' WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET reserved_for='a' WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET wake_target='g.1' WHERE id={G}+3"), Column, "g.3"),
        (format!("UPDATE todos SET writes_in='x' WHERE id={G}+4"), Column, "g.4"),
        (format!("DELETE FROM deps WHERE todo={G}+2"), Column, "g.2"),
        (format!("INSERT INTO deps(todo, dep) VALUES({G}+1, {G}+4)"), Column, "g.1"),
        (format!("INSERT INTO texts(id, body) VALUES({G}+9, '{{}}')"), Column, "g.9"),
        ("UPDATE turns SET live=0 WHERE live=1".into(), Column, "trn_"),
        ("UPDATE turns SET agent='a' WHERE live=1".into(), Column, "trn_"),
        ("UPDATE gates SET blocking=0".into(), Column, "gate_"),
        ("UPDATE gates SET approves=1".into(), Column, "gate_"),
        ("DELETE FROM gate_todos".into(), Column, "gate_"),
        ("UPDATE evidence SET todo=NULL".into(), Column, "evd_"),
        ("DELETE FROM receipts WHERE operation_id='op-5'".into(), Receipt, "op-5"),
        (
            "UPDATE receipts SET body=replace(body, '\"seq\":', '\"seq\":7') WHERE operation_id='op-5'"
                .into(),
            Receipt,
            "op-5",
        ),
        ("UPDATE receipts SET body='' WHERE operation_id='op-5'".into(), Receipt, "op-5"),
    ] {
        let world = played();
        change(&world, &sql);
        let flaw = flaw(&world.ledger).unwrap_or_else(|| panic!("{sql} passed"));
        let found = flaw.row.clone().unwrap_or_default();
        assert!(flaw.kind == kind && found.starts_with(row), "{sql}: {flaw:?}");
    }
}

#[test]
fn a_row_that_no_event_made_is_found() {
    let world = played();
    change(&world, "INSERT INTO evidence SELECT zeroblob(16), goal, todo, body FROM evidence");
    let flaw = flaw(&world.ledger).unwrap();
    assert_eq!(flaw.kind, FlawKind::Row, "{flaw:?}");
}

#[test]
fn a_history_that_was_chained_anew_is_found_by_what_it_comes_to() {
    let world = played();
    // given a last event that says something else, with the links and the head that fit it
    let file = file(&world);
    let (id, payload): (i64, Vec<u8>) = file
        .query_row("SELECT id, payload FROM events ORDER BY id DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let before: Vec<u8> =
        file.query_row("SELECT hash FROM events WHERE id=?1", [id - 1], |row| row.get(0)).unwrap();
    let seq = u64::try_from(id & 0xffff_ffff).unwrap();
    let head = super::super::Head { seq: seq - 1, hash: Digest::from_bytes(before.try_into().unwrap()) };
    let forged = String::from_utf8(payload).unwrap().replacen("\"turn_no\":1", "\"turn_no\":8", 1);
    let hash = super::super::chain::next(&head, seq, forged.as_bytes());
    file.execute(
        "UPDATE events SET payload=?2, hash=?3 WHERE id=?1",
        params![id, forged.as_bytes(), hash.as_bytes()],
    )
    .unwrap();
    file.execute("UPDATE goals SET head_hash=?1", params![hash.as_bytes()]).unwrap();
    // then the chain holds, and the rows are not what it comes to
    let mut authority = Authority::new(super::super::conformance::Room::open(&world.ledger));
    let walked = authority.audit(None, true, &mut |_| {}).unwrap();
    assert!(walked.iter().all(|audited| audited.flaw.is_none()));
    let flaw = flaw(&world.ledger).unwrap();
    assert!(flaw.kind == FlawKind::Row && flaw.row.as_deref() == Some("todo g.4"), "{flaw:?}");
}
