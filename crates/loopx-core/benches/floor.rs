//! Owns the floor of a read: a program that opens a ledger's file and reads one row by its key.
//!
//! Knows nothing of LoopX but the name of a table. Arguments: the file, and the row's id.

use std::{
    error::Error,
    io::{self, Write as _},
};

use rusqlite::{Connection, OpenFlags};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(path), Some(id)) = (words.next(), words.next()) else {
        return Err("floor FILE ID".into());
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    let title: String =
        conn.query_row("SELECT title FROM todos WHERE id=?1", [id.parse::<i64>()?], |row| row.get(0))?;
    writeln!(io::stdout(), "{title}")?;
    Ok(())
}
