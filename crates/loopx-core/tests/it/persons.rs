//! What is a person's alone, where no ledger decides it: every verb of that sort, by every caller that is none.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use crate::desk::{Desk, files};

/// The verbs that ask for a person and look at no actor of the kernel's table.
const VERBS: [&[&str]; 5] = [
    &["gc"],
    &["gc", "--dry-run"],
    &["backup"],
    &["config", "set", "list.page", "7"],
    &["restore", "kept.db"],
];

#[test]
fn a_verb_of_a_person_refuses_every_caller_that_is_none_and_reads_the_token_it_is_given() {
    let desk = Desk::with_work();
    let kept = desk.folder().join("kept.db");
    desk.ok(&["backup", kept.to_str().unwrap()]);
    desk.proven(&["token", "issue", "--actor", "agent:coder", "--out", "coder.token"]);
    desk.proven(&["token", "issue", "--actor", "user:bob", "--out", "bob.token"]);
    let revoked = desk.proven(&["token", "issue", "--actor", "user:ana", "--out", "old.token"]);
    desk.proven(&["token", "revoke", revoked["token"]["token_id"].as_str().unwrap()]);
    std::fs::write(desk.folder().join("bogus.token"), "tok_nonsense\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(desk.folder().join("bogus.token"), mode).unwrap();
    let secret = std::fs::read_to_string(desk.folder().join("coder.token")).unwrap();
    let before: Vec<_> = files(&desk.path("home")).into_keys().collect();
    let file = |name: &'static str| ["--token-file", name];
    let bad: [(&[&str], &str, i32); 6] = [
        (&file("coder.token"), "user_only", 6),
        (&file("bob.token"), "unauthenticated", 6),
        (&file("old.token"), "unauthenticated", 6),
        (&file("bogus.token"), "unauthenticated", 6),
        (&file("none.token"), "not_found", 2),
        (&["--as", "agent:coder"], "user_only", 6),
    ];
    for verb in VERBS {
        for (caller, code, exit) in bad {
            desk.refused(&[verb, caller].concat(), code, exit);
        }
    }
    // given nobody, and given an agent's token in the environment
    let desk = desk.var("LOOPX_ACTOR", "");
    for verb in VERBS {
        desk.refused(verb, "missing_actor", 2);
        desk.refused(&[verb, &file("coder.token")].concat(), "user_only", 6);
    }
    let desk = desk.var("LOOPX_TOKEN", secret.trim());
    for verb in VERBS {
        desk.refused(verb, "user_only", 6);
    }
    let desk = desk.var("LOOPX_TOKEN", "tok_nonsense");
    for verb in VERBS {
        desk.refused(verb, "unauthenticated", 6);
    }
    let after: Vec<_> = files(&desk.path("home")).into_keys().collect();
    assert_eq!(before, after, "nothing was made");
    // a person's token is proof enough, and so is a stated person where that is not asked for
    let desk = desk.var("LOOPX_TOKEN", "");
    desk.proven(&["gc"]);
    desk.proven(&["config", "set", "list.page", "7"]);
    desk.ok(&["backup", "--as", "user:ana"]);
}
