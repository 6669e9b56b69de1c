//! Owns the tables of the ledger's file, and what each index is for.
//!
//! Knows no statement. A key of a Todo or an event is one integer, the Goal's number and its own: so each is
//! one tree, read in order, and a Goal's rows lie together.

use super::super::Schema;

/// The ledger's file.
pub(crate) const SCHEMA: Schema = Schema {
    name: "the ledger",
    application_id: 0x4c6f_7058,
    first: 1,
    oldest: 1,
    newest: 2,
    ddl: DDL,
    steps: &[TO_2],
};

/// Heads lie apart from the Goals' bodies: every write moves a head, and few change a body.
const DDL: &str = "
CREATE TABLE meta(
  one INTEGER PRIMARY KEY CHECK(one=1),
  authority_id BLOB NOT NULL, incarnation BLOB NOT NULL,
  boot_id TEXT NOT NULL, boot_ms INTEGER NOT NULL, now_ms INTEGER NOT NULL, clock_jump INTEGER NOT NULL) STRICT;

CREATE TABLE goals(
  goal INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE,
  head_seq INTEGER NOT NULL, head_hash BLOB NOT NULL) STRICT;
CREATE TABLE goal_bodies(goal INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;

CREATE TABLE agents(
  goal INTEGER NOT NULL, agent TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY(goal, agent)) STRICT, WITHOUT ROWID;

CREATE TABLE todos(
  id INTEGER PRIMARY KEY,
  goal INTEGER NOT NULL,
  priority INTEGER, free_at INTEGER, ready_at INTEGER NOT NULL,
  unmet INTEGER NOT NULL, cancelled_deps INTEGER NOT NULL, blocking_gates INTEGER NOT NULL,
  woken_at INTEGER, wake_lost INTEGER NOT NULL,
  bucket TEXT NOT NULL, writes_in TEXT,
  live INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL,
  wake_target TEXT, reserved_for TEXT, excluded TEXT, needs TEXT,
  body TEXT NOT NULL) STRICT;
CREATE INDEX todo_ready ON todos(goal, priority, free_at, ready_at, id, excluded, needs)
  WHERE priority IS NOT NULL AND unmet=0 AND cancelled_deps=0 AND blocking_gates=0;
CREATE INDEX todo_reserved ON todos(reserved_for, goal) WHERE reserved_for IS NOT NULL;
CREATE INDEX todo_wakes ON todos(wake_target) WHERE wake_target IS NOT NULL;
CREATE INDEX todo_writers ON todos(writes_in) WHERE writes_in IS NOT NULL;
CREATE INDEX todo_live ON todos(id, kind) WHERE live=1;
CREATE INDEX todo_buckets ON todos(bucket, id);
CREATE INDEX todo_titles ON todos(id, title);
CREATE TABLE texts(id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;

CREATE TABLE deps(todo INTEGER NOT NULL, dep INTEGER NOT NULL, PRIMARY KEY(todo, dep)) STRICT, WITHOUT ROWID;
CREATE INDEX deps_back ON deps(dep, todo);

CREATE TABLE turns(
  turn_id BLOB PRIMARY KEY, goal INTEGER NOT NULL, agent TEXT NOT NULL, todo INTEGER, live INTEGER NOT NULL,
  body TEXT NOT NULL) STRICT;
CREATE INDEX turn_goals ON turns(goal, turn_id, agent);
CREATE INDEX turn_todos ON turns(todo, turn_id) WHERE todo IS NOT NULL;
CREATE INDEX turn_live ON turns(goal, agent, turn_id) WHERE live=1;

CREATE TABLE gates(
  gate_id BLOB PRIMARY KEY, goal INTEGER NOT NULL, whole INTEGER NOT NULL, blocking INTEGER NOT NULL,
  approves INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE INDEX gate_goals ON gates(goal, gate_id);
CREATE INDEX gate_blocking ON gates(goal, gate_id, whole) WHERE blocking=1;
CREATE INDEX gate_approves ON gates(goal) WHERE approves=1;
CREATE TABLE gate_todos(
  todo INTEGER NOT NULL, gate_id BLOB NOT NULL, PRIMARY KEY(todo, gate_id)) STRICT, WITHOUT ROWID;
CREATE INDEX gate_todos_back ON gate_todos(gate_id, todo);

CREATE TABLE evidence(evidence_id BLOB PRIMARY KEY, goal INTEGER NOT NULL, todo INTEGER, body TEXT NOT NULL) STRICT;
CREATE INDEX evidence_goals ON evidence(goal, evidence_id);
CREATE INDEX evidence_todos ON evidence(todo, evidence_id) WHERE todo IS NOT NULL;

CREATE TABLE meters(
  goal INTEGER NOT NULL, agent TEXT NOT NULL, bucket INTEGER NOT NULL, slots INTEGER NOT NULL,
  PRIMARY KEY(goal, agent, bucket)) STRICT, WITHOUT ROWID;
CREATE TABLE counts(
  goal INTEGER NOT NULL, bucket TEXT NOT NULL, n INTEGER NOT NULL CHECK(n>=0),
  PRIMARY KEY(goal, bucket)) STRICT, WITHOUT ROWID;

CREATE TABLE events(id INTEGER PRIMARY KEY, payload BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE receipts(operation_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// Nouns beside the plan, and what a meter holds beside its slots; all tables of schema 1 stay as they are.
const TO_2: &str = "
CREATE TABLE nouns(
  id BLOB PRIMARY KEY, kind TEXT NOT NULL, goal INTEGER NOT NULL, todo INTEGER, open INTEGER NOT NULL,
  name TEXT, body TEXT NOT NULL) STRICT;
CREATE INDEX noun_goals ON nouns(goal, kind, id);
CREATE INDEX noun_open ON nouns(goal, kind, id) WHERE open=1;
CREATE UNIQUE INDEX noun_names ON nouns(goal, kind, name) WHERE name IS NOT NULL;
CREATE INDEX noun_todos ON nouns(todo, kind, id) WHERE todo IS NOT NULL;

CREATE TABLE amounts(
  goal INTEGER NOT NULL, agent TEXT NOT NULL, bucket INTEGER NOT NULL,
  tokens INTEGER NOT NULL, cost_micros INTEGER NOT NULL, wall_ms INTEGER NOT NULL,
  PRIMARY KEY(goal, agent, bucket)) STRICT, WITHOUT ROWID;
CREATE TABLE settings(name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
";
