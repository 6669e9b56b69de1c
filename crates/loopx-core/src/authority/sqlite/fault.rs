//! Owns the mapping from what SQLite reports to the typed error set.
//!
//! Knows nothing of what was being done: SQL, paths and SQLite's own words go to the internal text.

use rusqlite::ffi::{self, ErrorCode};

use crate::error::{Code, Error};

/// Types an error of SQLite; `name` is the file's name in messages, as `the ledger`.
pub(crate) fn typed(e: &rusqlite::Error, name: &str) -> Error {
    let code = code(e);
    let what = match code {
        Code::StoreBusy => "is busy",
        Code::StoreCorrupt => "is damaged",
        Code::StoreUnreadable => "cannot be read or written by this user",
        Code::DiskFull => "finds no space left",
        Code::StoreUnavailable => "cannot be reached",
        _ => "broke an internal rule",
    };
    Error::new(code, format!("{name} {what}")).internal(e)
}

fn code(e: &rusqlite::Error) -> Code {
    use rusqlite::Error as E;
    match e {
        E::SqliteFailure(failure, _) => sqlite_code(*failure),
        E::SqlInputError { error, .. } => sqlite_code(*error),
        // A value that does not fit its column's type was not written by us.
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..) => Code::StoreCorrupt,
        _ => Code::Internal,
    }
}

fn sqlite_code(failure: ffi::Error) -> Code {
    match failure.extended_code {
        // The wal-index is grown by writing to it, and that fails first on a full memory filesystem.
        ffi::SQLITE_IOERR_SHMSIZE => return Code::DiskFull,
        // The last: the file was moved or deleted below an open connection.
        ffi::SQLITE_IOERR_CORRUPTFS | ffi::SQLITE_IOERR_DATA | ffi::SQLITE_READONLY_DBMOVED => {
            return Code::StoreCorrupt;
        }
        ffi::SQLITE_IOERR_ACCESS | ffi::SQLITE_IOERR_AUTH => return Code::StoreUnreadable,
        _ => {}
    }
    match failure.code {
        ErrorCode::DiskFull => Code::DiskFull,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Code::StoreCorrupt,
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => Code::StoreUnreadable,
        // The locking protocol gives up when many processes race for the log's locks; that passes.
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Code::StoreBusy
        }
        ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory | ErrorCode::NoLargeFileSupport => {
            Code::StoreUnavailable
        }
        _ => Code::Internal,
    }
}

/// Whether waiting can help.
pub(super) fn is_busy(e: &rusqlite::Error) -> bool {
    code(e) == Code::StoreBusy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_code_and_shows_no_path() {
        let rows = [
            (ffi::SQLITE_FULL, Code::DiskFull),
            (ffi::SQLITE_IOERR_SHMSIZE, Code::DiskFull),
            (ffi::SQLITE_CORRUPT, Code::StoreCorrupt),
            (ffi::SQLITE_CORRUPT_INDEX, Code::StoreCorrupt),
            (ffi::SQLITE_NOTADB, Code::StoreCorrupt),
            (ffi::SQLITE_READONLY_DBMOVED, Code::StoreCorrupt),
            (ffi::SQLITE_READONLY, Code::StoreUnreadable),
            (ffi::SQLITE_READONLY_DIRECTORY, Code::StoreUnreadable),
            (ffi::SQLITE_READONLY_CANTLOCK, Code::StoreUnreadable),
            (ffi::SQLITE_CANTOPEN, Code::StoreUnreadable),
            (ffi::SQLITE_PERM, Code::StoreUnreadable),
            (ffi::SQLITE_BUSY, Code::StoreBusy),
            (ffi::SQLITE_BUSY_RECOVERY, Code::StoreBusy),
            (ffi::SQLITE_BUSY_SNAPSHOT, Code::StoreBusy),
            (ffi::SQLITE_LOCKED, Code::StoreBusy),
            (ffi::SQLITE_PROTOCOL, Code::StoreBusy),
            (ffi::SQLITE_IOERR, Code::StoreUnavailable),
            (ffi::SQLITE_IOERR_FSYNC, Code::StoreUnavailable),
            (ffi::SQLITE_NOMEM, Code::StoreUnavailable),
            (ffi::SQLITE_CONSTRAINT, Code::Internal),
            (ffi::SQLITE_ERROR, Code::Internal),
            (ffi::SQLITE_MISUSE, Code::Internal),
        ];
        for (number, code) in rows {
            let e =
                rusqlite::Error::SqliteFailure(ffi::Error::new(number), Some("/secret/path: SELECT".into()));
            let typed = typed(&e, "the ledger");
            assert_eq!(typed.code(), code, "{number}");
            assert!(!typed.message().contains("secret"));
            assert!(typed.internal_text().unwrap().contains("secret"));
        }
        assert_eq!(code(&rusqlite::Error::InvalidQuery), Code::Internal);
        assert_eq!(code(&rusqlite::Error::IntegralValueOutOfRange(0, 1)), Code::StoreCorrupt);
    }
}
