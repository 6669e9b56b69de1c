//! Owns the check that every statement of the ledger is a search in an index, whatever a table holds.
//!
//! Knows no statement: the list is that of `sql!`, without which nothing reaches the file.

use rusqlite::Connection;

use super::{state::Listed, tables::SCHEMA};

/// The statements that look at every row, by how they begin, and why they may: each is asked by a person for a text
/// or a few letters, and no verb of an agent asks it.
const WHOLE: [(&str, &str); 5] = [
    ("SELECT turn_id FROM turns WHERE substr(turn_id", "an id by letters of its random part"),
    ("SELECT gate_id FROM gates WHERE substr(gate_id", "an id by letters of its random part"),
    ("SELECT evidence_id FROM evidence WHERE substr(evidence_id", "an id by letters of its random part"),
    ("SELECT id FROM nouns WHERE kind=?1 AND substr(id", "an id by letters of its random part"),
    ("SELECT g.goal, g.slug, b.body FROM goals g", "a text in every Goal's objective"),
];

/// How SQLite would go about a statement, a line a step.
fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement =
        conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let none = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(none), |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

/// An empty file of the newest schema.
fn newest() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(SCHEMA.ddl).unwrap();
    SCHEMA.steps.iter().for_each(|step| conn.execute_batch(step).unwrap());
    conn
}

#[test]
fn every_statement_is_a_search_in_an_index() {
    let conn = newest();
    let mut listed: Vec<&str> = inventory::iter::<Listed>.into_iter().map(|listed| listed.0).collect();
    listed.sort_unstable();
    listed.dedup();
    assert!(listed.len() > 50, "the list is not that of the ledger: {}", listed.len());
    let mut whole = Vec::new();
    for sql in listed {
        let steps = plan(&conn, sql);
        let scans = steps.iter().any(|step| step.starts_with("SCAN") || step.contains("AUTOMATIC"));
        match WHOLE.iter().position(|(begins, _)| sql.starts_with(begins)) {
            Some(place) => whole.push((place, scans)),
            None => assert!(!scans, "{sql}\n{steps:#?}"),
        }
        // A page comes in the order of its index: what is sorted first was read to its end.
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        // Live Turns lie in the order of their agents; they are few.
        let few = sql.contains("INDEXED BY turn_live");
        assert!(!sorts || few || !sql.contains("LIMIT"), "{sql}\n{steps:#?}");
    }
    whole.sort_unstable();
    assert_eq!(
        whole,
        [(0, true), (1, true), (2, true), (3, true), (4, true)],
        "an exception is none any more"
    );
}

#[test]
fn a_statement_without_an_index_is_seen() {
    let conn = newest();
    let steps = plan(&conn, "SELECT id FROM todos WHERE title=?1");
    assert!(steps.iter().any(|step| step.starts_with("SCAN")), "{steps:?}");
}
