//! A ledger of the schema before: what it takes, and what it refuses.

use super::*;
use crate::{authority::sqlite::LEDGER, kernel::RewardCommand};

/// As the release before made it.
pub(super) const BEFORE: Schema = Schema { newest: 1, steps: &[], ..LEDGER };

/// Makes a home's ledger of the schema before.
pub(super) fn make_before(home: &Path) {
    let place = roles::profile(home).unwrap().place().authority_db();
    drop(Writer::open_or_create(&place, &BEFORE).unwrap());
}

/// What needs the newest schema.
pub(super) fn judge() -> Wish {
    Wish::Reward(RewardCommand::Add {
        todo_id: None,
        turn_id: None,
        route: Some("alone".parse().unwrap()),
        polarity: Polarity::Good,
        reason: "well done".parse().unwrap(),
        lesson: None,
    })
}

#[test]
fn fault_c2_a_ledger_of_the_schema_before_is_read_and_written_and_stays_as_it_is() {
    let disk = Disk::empty();
    let home = disk.dir.path();
    make_before(home);
    let mut ledger = founded(home);
    add_agent(&mut ledger, "a");
    add_todos(&mut ledger, "todos", 3);
    ledger.submit(claim("claim", "agent:a", 1)).unwrap();
    let refused = ledger.submit(operation("judge", "user:ana", judge())).unwrap_err();
    assert_eq!(refused.code(), Code::SchemaNeedsMigration, "{refused}");
    assert_eq!(refused.hint_args(), Some("migrate"));
    assert!(ledger.receipt(&"judge".parse().unwrap()).unwrap().is_none(), "a refusal is no receipt");
    drop(ledger);
    // The release before still knows it.
    let place = roles::profile(home).unwrap().place().authority_db();
    assert_eq!(Writer::open(&place, &BEFORE).unwrap().schema_version().unwrap(), 1);
    assert_eq!(todos(home), 3);
}
