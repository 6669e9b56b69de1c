//! Owns what a repair must do: keep what holds, take out the rest into a file, and let nothing of it come back.

use std::collections::BTreeMap;

use rusqlite::{Connection, params_from_iter, types::Value as Sql};
use serde_json::Value;

use super::{
    super::{Asked, FlawKind, Repair},
    Kept,
    audit::{change, file, flaw, played, with_own},
    play::refused,
    world::{World, agent, text, user},
};
use crate::{
    error::{Code, Result},
    kernel::{BatchItem, ClaimCommand, Command, Facts, GoalCommand, NewTodo, Read},
    model::*,
};

const G: &str = "(1<<32)";

fn asked(id: &str, actor: Actor, assurance: Assurance) -> Asked {
    let provenance = Provenance { door: Door::Library, assurance, contained: None };
    Asked { operation_id: text(id), actor, provenance }
}

fn folder(world: &World) -> std::path::PathBuf {
    let Kept::Sqlite(home) = &world.ledger else { panic!("no file") };
    home.profile.place().dir().to_owned()
}

fn repair_as(world: &mut World, asked: &Asked) -> Result<Repair> {
    let folder = folder(world);
    world.authority.repair(asked, &folder, &mut |_| {})
}

fn repair(world: &mut World) -> Repair {
    repair_as(world, &asked("mend", user(), Assurance::Proven)).unwrap()
}

fn length(world: &World) -> u64 {
    let seq: i64 = file(world).query_row("SELECT head_seq FROM goals", [], |row| row.get(0)).unwrap();
    u64::try_from(seq).unwrap()
}

fn incarnation(world: &mut World) -> IncarnationId {
    world.authority.read(|view| Ok(view.meta()?.unwrap().incarnation)).unwrap()
}

/// The operation of each event.
fn operations(world: &mut World) -> Vec<OperationId> {
    world.envelopes().into_iter().map(|envelope| envelope.operation_id).collect()
}

#[test]
fn fault_b12_a_repair_keeps_what_holds_and_lets_nothing_else_come_back() {
    let last = length(&played());
    for seq in [1, 2, last / 2, last - 1, last] {
        for damage in
            ["UPDATE events SET hash=zeroblob(32)", "DELETE FROM events", "UPDATE events SET payload=x'00'"]
        {
            let mut world = played();
            let wrote = operations(&mut world);
            let parent = incarnation(&mut world);
            change(&world, &format!("{damage} WHERE id={G}+{seq}"));
            // when it is repaired
            let done = repair(&mut world);
            // then whole operations before the record are kept, and the rows are what they come to
            let [mended] = done.mended.as_slice() else { panic!("{:?}", done.mended) };
            let kept = usize::try_from(mended.cut.kept).unwrap();
            assert!(mended.cut.kept < seq && mended.flaw.seq == Some(seq), "{damage} {seq}: {mended:?}");
            assert!(kept == 0 || wrote[kept - 1] != wrote[kept], "half an operation is kept");
            assert_eq!(flaw(&world.ledger), None, "{damage} {seq}");
            assert_ne!(incarnation(&mut world), parent);
            // and what was cut is not done again under its id
            for id in &wrote[kept..] {
                let mut again = world.operation(user(), Command::Goal(GoalCommand::Stop));
                again.operation_id = id.clone();
                assert_eq!(refused(world.authority.submit(again)), "operation_conflict", "{id}");
                assert_eq!(refused(world.authority.receipt(id)), "operation_conflict", "{id}");
            }
            let receipt = done.receipt.unwrap();
            assert!(!receipt.is_replayed() && receipt.actor() == &user());
            // and it is done once
            let again = repair(&mut world);
            assert!(again.receipt.unwrap().is_replayed() && again.mended.is_empty());
        }
    }
}

#[test]
fn an_operation_of_which_an_event_is_lost_is_cut_whole() {
    let mut world = played();
    let add = |title: &str| BatchItem::Add {
        new: Box::new(NewTodo::titled(text(title), TodoKind::Advance)),
        after_items: [].into(),
    };
    let before = length(&world);
    world.user(Command::Batch(vec![add("x"), add("y"), add("z")])).unwrap();
    assert!(length(&world) >= before + 3);
    change(&world, &format!("UPDATE events SET hash=zeroblob(32) WHERE id={G}+{}", before + 2));
    let done = repair(&mut world);
    assert_eq!(done.mended[0].cut.kept, before);
    assert_eq!(flaw(&world.ledger), None);
    assert!(!world.ledger.rows().todos.contains_key(&text("g.5")));
}

#[test]
fn a_torn_end_and_a_record_too_many_are_cut_too() {
    for (sql, far) in
        [("UPDATE goals SET head_seq=head_seq+3", 0), ("UPDATE goals SET head_hash=zeroblob(32)", 1)]
    {
        let mut world = played();
        let last = length(&world);
        change(&world, sql);
        let done = repair(&mut world);
        assert!(done.mended[0].cut.kept <= last - far, "{sql}: {:?}", done.mended);
        assert_eq!(flaw(&world.ledger), None, "{sql}");
    }
}

#[test]
fn rows_that_are_not_what_the_chain_comes_to_are_made_anew_and_nothing_is_cut() {
    for sql in [
        format!("UPDATE todos SET body='no' WHERE id={G}+3"),
        format!("DELETE FROM todos WHERE id={G}+4"),
        "UPDATE meters SET slots=slots+5 WHERE agent='b'".to_owned(),
        format!("DELETE FROM deps WHERE todo={G}+2"),
        "DELETE FROM goal_bodies".to_owned(),
    ] {
        let mut world = played();
        let last = length(&world);
        let whole = world.ledger.rows();
        change(&world, &sql);
        let done = repair(&mut world);
        assert_eq!((done.mended[0].cut.kept, done.mended[0].cut.had), (last, last), "{sql}");
        assert_eq!(flaw(&world.ledger), None, "{sql}");
        let rows = world.ledger.rows();
        assert_eq!((rows.goals, rows.texts, rows.gates), (whole.goals, whole.texts, whole.gates), "{sql}");
    }
}

#[test]
fn no_ownership_of_an_earlier_life_opens_a_door_after_a_repair() {
    let mut world = played();
    // given an ownership that is kept, of the life before, and one that is cut
    let (kept, cut) = (world.todo("kept", |_| {}), world.todo("cut", |_| {}));
    let mine = world.claim("a", &kept).unwrap();
    let first = world.ledger.rows().turns.into_values().find(|turn| turn.agent_id == text("b")).unwrap();
    world.stop(first.turn_id).unwrap();
    let gone = world.claim("b", &cut).unwrap();
    let last = length(&world);
    change(&world, &format!("DELETE FROM events WHERE id={G}+{last}"));
    repair(&mut world);
    // then the first is of an unresolved Turn, and the second of none
    assert_eq!(world.turn_state(&mine), "unresolved");
    assert!(!world.ledger.rows().turns.contains_key(&gone.turn_id.unwrap()));
    for (name, owned, todo_id, code) in
        [("a", &mine, &kept, "ownership_expired"), ("b", &gone, &cut, "ownership_superseded")]
    {
        let own_id = owned.own_id;
        let doors = [
            ClaimCommand::Renew { todo_id: todo_id.clone(), own_id },
            ClaimCommand::Release { todo_id: todo_id.clone(), own_id },
        ];
        for door in doors {
            let operation = world.operation(agent(name), Command::Claim(door.clone()));
            assert_eq!(refused(world.authority.submit(operation)), code, "{door:?}");
        }
    }
    assert_eq!(flaw(&world.ledger), None);
}

/// Every row of every table of a Goal and its events, as they lie.
fn dump(file: &Connection) -> BTreeMap<&'static str, Vec<String>> {
    let mut all = BTreeMap::new();
    for table in [
        "goals",
        "goal_bodies",
        "agents",
        "todos",
        "texts",
        "deps",
        "turns",
        "gates",
        "gate_todos",
        "evidence",
        "nouns",
        "meters",
        "counts",
        "events",
    ] {
        let mut statement = file.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let rows = statement
            .query_map([], |row| {
                let cells: Vec<Sql> = (0..columns).map(|at| row.get(at).unwrap()).collect();
                Ok(format!("{cells:?}"))
            })
            .unwrap();
        let mut rows: Vec<String> = rows.map(rusqlite::Result::unwrap).collect();
        rows.sort();
        all.insert(table, rows);
    }
    all
}

/// A value of the archive as a column.
fn column(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Number(number) => Sql::Integer(number.as_i64().unwrap()),
        Value::String(text) => Sql::Text(text.clone()),
        Value::Object(bytes) => Sql::Blob(unhex(bytes["hex"].as_str().unwrap())),
        other => panic!("{other}"),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn what_a_repair_took_out_is_kept_by_its_owner_alone_and_can_be_put_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = played();
    let middle = length(&world) / 2;
    change(&world, &format!("UPDATE events SET payload=x'ff00' WHERE id={G}+{middle}"));
    let before = dump(&file(&world));
    let done = repair(&mut world);
    let path = folder(&world).join(&done.archive);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // when its lines are put back in the place of what is there now
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["schema_version"], "loopx_repair_archive_v1");
    assert_eq!(lines.last().unwrap()["end"]["lines"], lines.len() - 1);
    let file = file(&world);
    for table in before.keys().filter(|table| **table != "events") {
        file.execute_batch(&format!("DELETE FROM {table}")).unwrap();
    }
    let kept = done.mended[0].cut.kept;
    // Of the repair itself too: its event, and the note of where the own chain ends by it.
    file.execute_batch(&format!("DELETE FROM events WHERE id<=(1<<32) OR id>{G}+{kept}")).unwrap();
    file.execute_batch("DELETE FROM settings WHERE name='own_head'").unwrap();
    for line in &lines {
        let (table, columns) = match (&line["row"], &line["event"]) {
            (Value::Object(row), _) => {
                let columns = row["columns"].as_object().unwrap();
                let columns = columns.iter().map(|(name, value)| (name.clone(), column(value))).collect();
                (row["of"].as_str().unwrap().to_owned(), columns)
            }
            (_, Value::Object(event)) => {
                let payload = match &event["payload"] {
                    Value::String(text) => text.clone().into_bytes(),
                    bytes => unhex(bytes["hex"].as_str().unwrap()),
                };
                let id = (1 << 32) + event["seq"].as_i64().unwrap();
                let hash = unhex(event["hash"].as_str().unwrap());
                let columns: Vec<(String, Sql)> = vec![
                    ("id".into(), Sql::Integer(id)),
                    ("payload".into(), Sql::Blob(payload)),
                    ("hash".into(), Sql::Blob(hash)),
                ];
                ("events".to_owned(), columns)
            }
            _ => continue,
        };
        let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO {table}({}) VALUES({marks})", names.join(", "));
        file.execute(&sql, params_from_iter(columns.iter().map(|(_, value)| value))).unwrap();
    }
    // then all of it lies as it lay
    assert_eq!(dump(&file), before);
    assert_eq!(flaw(&world.ledger).unwrap().seq, Some(middle));
}

#[test]
fn a_repair_is_a_proven_persons_and_writes_nothing_where_nothing_is_wrong() {
    let mut world = played();
    let before = dump(&file(&world));
    let done = repair(&mut world);
    assert!(done.receipt.is_none() && done.mended.is_empty());
    assert_eq!(dump(&file(&world)), before);
    change(&world, &format!("UPDATE events SET hash=zeroblob(32) WHERE id={G}+3"));
    let damaged = dump(&file(&world));
    for (actor, assurance, code) in [
        (user(), Assurance::Stated, "unauthenticated"),
        (agent("a"), Assurance::Proven, "user_only"),
        (Actor::System, Assurance::Proven, "user_only"),
    ] {
        assert_eq!(refused(repair_as(&mut world, &asked("x", actor, assurance)).map(drop)), code);
    }
    let plan = world.authority.plan_repair(&mut |_| {}).unwrap();
    assert!(plan.receipt.is_none() && plan.mended[0].flaw.kind == FlawKind::Chain);
    assert_eq!(dump(&file(&world)), damaged);
    assert!(!folder(&world).join(plan.archive).exists());
}

#[test]
fn a_repair_leaves_other_goals_as_they_are_but_for_their_live_turns() {
    let mut world = played();
    let other: GoalId = text("h");
    let mine = std::mem::replace(&mut world.goal, other.clone());
    world.start(|_| {});
    let todo = world.todo("over there", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let rows = world.ledger.rows();
    world.goal = mine;
    change(&world, &format!("UPDATE events SET hash=zeroblob(32) WHERE id={G}+5"));
    repair(&mut world);
    assert_eq!(flaw(&world.ledger), None);
    let now = world.ledger.rows();
    let texts = |rows: &crate::kernel::Rows| rows.todos[&todo].title.clone();
    assert_eq!((&now.goals[&other], texts(&now)), (&rows.goals[&other], texts(&rows)));
    assert_eq!(world.turn_state(&owned), "unresolved");
}

#[test]
fn an_own_chain_whose_end_is_cut_off_is_mended_to_where_it_holds_and_nothing_of_it_comes_back() {
    let mut world = with_own(3);
    let parent = incarnation(&mut world);
    assert_eq!(file(&world).execute("DELETE FROM events WHERE id IN (2, 3)", []).unwrap(), 2);
    let done = repair(&mut world);
    let [mended] = done.mended.as_slice() else { panic!("{:?}", done.mended) };
    assert_eq!((mended.cut.goal_id.clone(), mended.cut.kept, mended.cut.had), (None, 1, 3));
    assert_eq!((mended.flaw.seq, flaw(&world.ledger)), (Some(2), None));
    assert_ne!(incarnation(&mut world), parent);
    assert_eq!(limit(&mut world), Some(100), "the limit is that of what was kept");
    // What was kept is replayed, what was cut is not done again under its id.
    let mut again = |id: &str, turns| {
        let limit = Some(Limit::of_turns(turns, Duration::from_mins(60)));
        world.authority.set_limit(&asked(id, user(), Assurance::Proven), limit)
    };
    assert!(again("limit-1", 100).unwrap().is_replayed());
    for (id, turns) in [("limit-2", 101), ("limit-3", 102)] {
        assert_eq!(refused(again(id, turns)), "operation_conflict", "{id}");
    }
    // The chain goes on from where it holds, and a cut is noticed again.
    again("more", 103).unwrap();
    assert_eq!(flaw(&world.ledger), None);
    change(&world, "DELETE FROM events WHERE id=3");
    assert_eq!(flaw(&world.ledger).unwrap().seq, Some(3));
}

/// How many Turns all Goals together may have.
fn limit(world: &mut World) -> Option<u32> {
    let read = world.authority.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::AuthorityLimit].into(), &mut facts)?;
        Ok(facts.authority_limit())
    });
    read.unwrap().and_then(|limit| limit.turns)
}

#[test]
fn a_limit_of_all_goals_that_the_own_chain_does_not_say_is_mended_to_what_it_says() {
    for (sql, had) in [
        ("UPDATE settings SET body=replace(body, '102', '9') WHERE name='limit'", Some(9)),
        ("DELETE FROM settings WHERE name='limit'", None),
    ] {
        let mut world = with_own(3);
        change(&world, sql);
        assert_eq!(limit(&mut world), had);
        let done = repair(&mut world);
        let [mended] = done.mended.as_slice() else { panic!("{:?}", done.mended) };
        assert_eq!((mended.cut.goal_id.clone(), mended.cut.kept, mended.cut.had), (None, 3, 3));
        assert_eq!((flaw(&world.ledger), limit(&mut world)), (None, Some(102)), "{sql}");
    }
}

#[test]
fn what_a_repair_took_out_of_the_own_chain_can_be_put_back() {
    let mut world = with_own(3);
    change(&world, "UPDATE events SET hash=zeroblob(32) WHERE id=2");
    let own = |world: &World| {
        let file = file(world);
        let sql = "SELECT group_concat(hex(payload) || hex(hash)) FROM (SELECT * FROM events WHERE id<=(1<<32) ORDER BY id)";
        let events: String = file.query_row(sql, [], |row| row.get(0)).unwrap();
        let head = "SELECT body FROM settings WHERE name='own_head'";
        (events, file.query_row(head, [], |row| row.get::<_, String>(0)).unwrap())
    };
    let before = own(&world);
    let done = repair(&mut world);
    assert_eq!((done.mended[0].cut.kept, flaw(&world.ledger)), (1, None));
    let text = std::fs::read_to_string(folder(&world).join(&done.archive)).unwrap();
    let file = file(&world);
    file.execute("DELETE FROM events WHERE id>1 AND id<=(1<<32)", []).unwrap();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(head) = line["own_head"].as_object() {
            let body = format!("{{\"seq\":{},\"hash\":{}}}", head["seq"], head["hash"]);
            file.execute("UPDATE settings SET body=?1 WHERE name='own_head'", [body]).unwrap();
        }
        let Some(event) = line["event"].as_object() else { continue };
        let (payload, hash) = (event["payload"].as_str().unwrap(), unhex(event["hash"].as_str().unwrap()));
        let sql = "INSERT INTO events(id, payload, hash) VALUES(?1, ?2, ?3)";
        file.execute(sql, rusqlite::params![event["seq"].as_i64().unwrap(), payload.as_bytes(), hash])
            .unwrap();
    }
    assert_eq!(own(&world), before);
    assert_eq!(flaw(&world.ledger).unwrap().seq, Some(2));
}

#[test]
fn the_ledgers_own_chain_is_mended_too() {
    let mut world = played();
    // given a repair, and its event in the ledger's own chain
    change(&world, &format!("DELETE FROM events WHERE id={G}+6"));
    repair(&mut world);
    change(&world, "UPDATE events SET hash=zeroblob(32) WHERE id=1");
    assert_eq!(flaw(&world.ledger).unwrap().goal_id, None);
    let again = repair_as(&mut world, &asked("mend-2", user(), Assurance::Proven)).unwrap();
    assert_eq!((again.mended.len(), again.mended[0].cut.kept), (1, 0));
    assert_eq!(flaw(&world.ledger), None);
    let mended = repair_as(&mut world, &asked("mend", user(), Assurance::Proven)).map(drop);
    assert_eq!(mended.unwrap_err().code(), Code::OperationConflict);
}
