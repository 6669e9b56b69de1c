//! Owns what an audit of a ledger takes beside the least it can: reading and hashing the same records, and storing the
//! same rows once more.
//!
//! Knows no rule. Words: `home=`, `run=`, `rounds=`, `copy=` (a file that is made and removed).

use std::{fs, path::PathBuf};

use loopx_core::authority::Authority;
use rusqlite::{Connection, OpenFlags, params_from_iter, types::Value as Cell};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::stage::{Outcome, Words, answer, now_ns};

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (rounds, copy): (usize, PathBuf) = (words.get("rounds")?, words.get("copy")?);
    let path = words.ledger_path()?;
    let mut authority = words.authority()?;
    let tables = {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&path, flags)?;
        Tables::of(&conn)?
    };
    let mut took: [Vec<u64>; 4] = Default::default();
    let mut events = 0;
    // The first round fills caches, and does not count.
    for round in 0..=rounds {
        let began_ns = now_ns();
        events = audited(&mut authority, true)?;
        let chained_ns = now_ns();
        let hashed = hashed(&path)?;
        let hashed_ns = now_ns();
        audited(&mut authority, false)?;
        let folded_ns = now_ns();
        tables.stored(&copy)?;
        let stored_ns = now_ns();
        if hashed < events {
            return Err(format!("{hashed} records were hashed, and {events} audited").into());
        }
        if round > 0 {
            let all =
                [chained_ns - began_ns, hashed_ns - chained_ns, folded_ns - hashed_ns, stored_ns - folded_ns];
            took.iter_mut().zip(all).for_each(|(took, ns)| took.push(ns));
        }
    }
    let [chain, hash, fold, insert]: [Value; 4] = took.map(|took| json!(took));
    answer(&json!({
        "events": events, "rows": tables.count(),
        "chain_ns": chain, "hash_ns": hash, "fold_ns": fold, "insert_ns": insert,
    }))
}

/// Audits the whole ledger; how many events it has.
fn audited(authority: &mut Authority, chain_only: bool) -> Outcome<u64> {
    let audited = authority.audit(None, chain_only, &mut |_| ())?;
    if let Some(flaw) = audited.iter().find_map(|audited| audited.flaw.as_ref()) {
        return Err(flaw.text.clone().into());
    }
    Ok(audited.iter().map(|audited| audited.events).sum())
}

/// Reads every record, and hashes it and the link to the next.
fn hashed(path: &PathBuf) -> Outcome<u64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    let mut statement = conn.prepare("SELECT id, payload, hash FROM events ORDER BY id")?;
    let mut rows = statement.query([])?;
    let (mut count, mut last) = (0_u64, [0_u8; 32]);
    while let Some(row) = rows.next()? {
        let (id, payload, hash) =
            (row.get::<_, i64>(0)?, row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?);
        let mut link = Sha256::new();
        link.update(last);
        link.update(id.to_le_bytes());
        link.update(Sha256::digest(payload));
        last = link.finalize().into();
        std::hint::black_box(hash == last);
        count += 1;
    }
    Ok(count)
}

/// All tables of a ledger, with their indexes and their rows.
struct Tables {
    ddl: Vec<String>,
    rows: Vec<(String, Vec<Vec<Cell>>)>,
}

impl Tables {
    fn of(conn: &Connection) -> Outcome<Self> {
        let of = |sql: &str| -> Outcome<Vec<String>> {
            let mut statement = conn.prepare(sql)?;
            let found = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(found)
        };
        let ddl = of("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name")?;
        let names = of("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")?;
        let mut rows = Vec::new();
        for name in names {
            let mut statement = conn.prepare(&format!("SELECT * FROM {name}"))?;
            let width = statement.column_count();
            let all = statement
                .query_map([], |row| (0..width).map(|at| row.get(at)).collect::<Result<Vec<Cell>, _>>())?
                .collect::<Result<_, _>>()?;
            rows.push((name, all));
        }
        Ok(Self { ddl, rows })
    }

    fn count(&self) -> usize {
        self.rows.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// Stores all rows in a new file, in one durable transaction.
    fn stored(&self, copy: &PathBuf) -> Outcome<()> {
        let conn = Connection::open(copy)?;
        conn.execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; BEGIN",
        )?;
        for sql in &self.ddl {
            conn.execute_batch(sql)?;
        }
        for (name, rows) in &self.rows {
            let Some(width) = rows.first().map(Vec::len) else { continue };
            let places = vec!["?"; width].join(",");
            let mut statement = conn.prepare(&format!("INSERT INTO {name} VALUES({places})"))?;
            for row in rows {
                statement.execute(params_from_iter(row))?;
            }
        }
        conn.execute_batch("COMMIT")?;
        drop(conn);
        Ok(fs::remove_file(copy)?)
    }
}
