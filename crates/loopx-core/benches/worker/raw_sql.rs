//! Owns the comparator of a claim: statements written by hand that store the same rows in one durable transaction.
//!
//! Knows no rule, hashes nothing and encodes nothing: it copies the bodies of one real claim. So it is the floor
//! of what any ledger with these tables can do, not another ledger. Words: as `claims`, without `last=`.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, config::DbConfig, params};
use serde_json::json;

use super::stage::{GOAL, Operations, Outcome, Words, answer, cpu_ns, now_ns, share};

/// The rows of one claim, as the ledger holds them.
struct Sample {
    goal: i64,
    todo_body: String,
    turn_body: String,
    receipt_body: String,
    payload: Vec<u8>,
    hash: Vec<u8>,
    free_at: i64,
    bucket: i64,
    boot_id: String,
    head_seq: i64,
    now_ms: i64,
}

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (from, warm, count): (u32, u32, u32) = (words.get("from")?, words.get("warm")?, words.get("count")?);
    let mut authority = words.authority()?;
    let mut operations = Operations::new()?;
    // The first claims are real ones, as the other worker's are: then both go on from the same ledger.
    for number in from..from + warm {
        authority.submit(operations.claim(number, number)?)?;
    }
    drop(authority);
    let conn = open(&words.ledger_path()?)?;
    let sample = Sample::of(&conn, from + warm - 1)?;
    let mut took_ns = Vec::new();
    let (started_ns, started_cpu_ns) = (now_ns(), cpu_ns());
    let mut ended_ns = started_ns;
    for number in from + warm..from + warm + count {
        let began_ns = ended_ns;
        sample.claim(&conn, number)?;
        ended_ns = now_ns();
        took_ns.push(ended_ns - began_ns);
    }
    let cpu_ns = cpu_ns() - started_cpu_ns;
    took_ns.sort_unstable();
    answer(&json!({
        "ops": took_ns.len(),
        "wall_ns": ended_ns - started_ns,
        "cpu_ns": cpu_ns,
        "p50_ns": share(&took_ns, 50),
        "p99_ns": share(&took_ns, 99),
    }))
}

/// Opens the file as the ledger opens it.
fn open(path: &Path) -> Outcome<Connection> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch("PRAGMA temp_store=MEMORY; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF")?;
    Ok(conn)
}

fn row_id(goal: i64, number: i64) -> i64 {
    (goal << 32) | number
}

impl Sample {
    /// Reads what the claim of a Todo, the last write of this file, has stored.
    fn of(conn: &Connection, number: u32) -> Outcome<Self> {
        let (goal, head_seq, hash) =
            conn.query_row("SELECT goal, head_seq, head_hash FROM goals WHERE slug=?1", [GOAL], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let todo = row_id(goal, number.into());
        let (todo_body, free_at) =
            conn.query_row("SELECT body, free_at FROM todos WHERE id=?1", [todo], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let turn_body = conn.query_row("SELECT body FROM turns WHERE todo=?1", [todo], |row| row.get(0))?;
        let payload =
            conn.query_row("SELECT payload FROM events WHERE id=?1", [row_id(goal, head_seq)], |row| {
                row.get(0)
            })?;
        let receipt_body = conn.query_row(
            "SELECT body FROM receipts WHERE body LIKE ?1",
            [format!("%\"seq\":{head_seq},%")],
            |row| row.get(0),
        )?;
        let bucket =
            conn.query_row("SELECT max(bucket) FROM meters WHERE goal=?1", [goal], |row| row.get(0))?;
        let (boot_id, now_ms) =
            conn.query_row("SELECT boot_id, now_ms FROM meta", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            goal,
            todo_body,
            turn_body,
            receipt_body,
            payload,
            hash,
            free_at,
            bucket,
            boot_id,
            head_seq,
            now_ms,
        })
    }

    /// Stores what a claim of a Todo by the agent of its number stores.
    fn claim(&self, conn: &Connection, number: u32) -> rusqlite::Result<()> {
        let run =
            |sql: &str, values: &[&dyn rusqlite::ToSql]| conn.prepare_cached(sql)?.execute(values).map(drop);
        let (goal, agent) = (self.goal, format!("a{number}"));
        let todo = row_id(goal, number.into());
        // As long as a real one, and as real ones in the order of their making.
        let turn_id = format!("\u{1}raw{number:012}");
        run("BEGIN IMMEDIATE", &[])?;
        let seq: i64 = conn
            .prepare_cached("SELECT head_seq FROM goals WHERE goal=?1")?
            .query_row([goal], |row| row.get(0))?;
        let seq = seq.max(self.head_seq) + 1;
        run(
            "UPDATE todos SET free_at=?2, bucket='owned', body=?3 WHERE id=?1",
            params![todo, self.free_at, self.todo_body],
        )?;
        run("UPDATE counts SET n=n+1 WHERE goal=?1 AND bucket='owned'", params![goal])?;
        run("UPDATE counts SET n=n-1 WHERE goal=?1 AND bucket='open'", params![goal])?;
        run(
            "INSERT INTO turns(turn_id, goal, agent, todo, live, body) VALUES(?1, ?2, ?3, ?4, 1, ?5)",
            params![turn_id.as_bytes(), goal, agent, todo, self.turn_body],
        )?;
        let meter = "INSERT INTO meters(goal, agent, bucket, slots) VALUES(?1, ?2, ?3, 1)
             ON CONFLICT(goal, agent, bucket) DO UPDATE SET slots=slots+1";
        run(meter, params![goal, "", self.bucket])?;
        run(meter, params![goal, agent, self.bucket])?;
        run("UPDATE goals SET head_seq=?2, head_hash=?3 WHERE goal=?1", params![goal, seq, self.hash])?;
        run(
            "INSERT INTO events(id, payload, hash) VALUES(?1, ?2, ?3)",
            params![row_id(goal, seq), self.payload, self.hash],
        )?;
        run(
            "INSERT INTO receipts(operation_id, body) VALUES(?1, ?2)",
            params![format!("raw-operation-{number:09}"), self.receipt_body],
        )?;
        run(
            "UPDATE meta SET boot_id=?1, boot_ms=boot_ms+1, now_ms=?2 WHERE one=1",
            params![self.boot_id, self.now_ms],
        )?;
        run("COMMIT", &[])
    }
}
