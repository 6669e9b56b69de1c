//! A ledger of the schema before: what it takes, and what it refuses.

use super::*;
use crate::{authority::sqlite::LEDGER, kernel::RewardCommand};

/// As the release before made it.
const BEFORE: Schema = Schema { newest: 1, steps: &[], ..LEDGER };

/// A home whose ledger has the schema before.
fn home_of_before() -> Disk {
    let disk = Disk::empty();
    let place = roles::profile(disk.dir.path()).unwrap().place().authority_db();
    drop(Writer::open_or_create(&place, &BEFORE).unwrap());
    disk
}

fn judge() -> Wish {
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
    let disk = home_of_before();
    let home = disk.dir.path();
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
