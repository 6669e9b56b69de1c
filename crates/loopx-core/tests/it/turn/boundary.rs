//! What a Turn writes outside the scopes it declared: listed, and its end, whoever drove it and whatever died meanwhile.

use std::fs;

use serde_json::Value;

use super::place::{Answer, Place, answer, until};

/// A Goal that lists `src`, and a host that writes beside it.
fn scoped(host: &str) -> Place {
    let place = Place::new("exit 0").with_git();
    place.call("proven:ana", &["goal", "update", "g", "--scope", "src", "--scope", "docs"]).ok();
    place.call("user:ana", &["todo", "update", "g.1", "--scope", "src"]).ok();
    place.host(host);
    place.call("user:ana", &["goal", "start", "Another", "--id", "other", "--workspace", "."]).ok();
    for words in [["agent", "add", "b", "--goal", "other"], ["todo", "add", "beside", "--goal", "other"]] {
        assert!(place.plain("user:ana", &words).output().unwrap().status.success());
    }
    place
}

fn claim_beside(place: &Place) -> String {
    let claim = place.plain("agent:b", &["todo", "claim", "other.1", "--json"]).output().unwrap();
    let claim: Value = serde_json::from_slice(&claim.stdout).unwrap();
    claim["own_id"].as_str().unwrap_or_else(|| panic!("{claim}")).to_owned()
}

fn leave_beside(place: &Place, own: &str) {
    let left = place.plain("agent:b", &["todo", "release", "other.1", "--own", own]).output().unwrap();
    assert!(left.status.success(), "{}", String::from_utf8_lossy(&left.stderr));
}

const STRAYS: &str = "echo . >> ../began; while [ ! -f ../go ]; do sleep 0.02; done; mkdir -p docs src; touch docs/stray src/a";

/// What is listed outside its scopes, and whether as another's.
fn listed(place: &Place) -> (Vec<String>, bool) {
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    let candidate = &shown.json["turn"]["candidate"];
    let outside = candidate["outside"].as_array().cloned().unwrap_or_default();
    let outside = outside.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect();
    (outside, candidate["shared"].as_bool().unwrap_or(false))
}

#[test]
fn a_path_outside_the_scopes_fails_the_turn_where_nobody_else_was_in_the_tree() {
    let place = scoped(STRAYS);
    fs::write(place.root().join("go"), "").unwrap();
    let failed = place.call("user:ana", &place.run("r1"));
    assert_eq!((failed.exit, failed.code()), (Some(1), "validation_failed"), "{}", failed.json);
    assert!(failed.text("/error/message").contains("boundary_violation"), "{}", failed.json);
    assert_eq!(listed(&place), (vec!["docs/stray".to_owned()], false));
}

#[test]
fn a_path_that_may_be_anothers_is_listed_as_shared_and_does_not_count() {
    for when in ["all along", "before it began", "came and went"] {
        let place = scoped(STRAYS);
        let first = (when != "came and went").then(|| claim_beside(&place));
        let run = place.start("user:ana", &place.run("r1"), &[]);
        until("the host began", || place.root().join("began").exists());
        match (when, first) {
            ("before it began", Some(own)) => leave_beside(&place, &own),
            ("came and went", _) => leave_beside(&place, &claim_beside(&place)),
            _ => {}
        }
        fs::write(place.root().join("go"), "").unwrap();
        let done = answer(&run.wait_with_output().unwrap());
        assert_eq!(done.exit, Some(0), "{when}: {}", done.json);
        assert_eq!(listed(&place), (vec!["docs/stray".to_owned()], true), "{when}");
        let shown = place.plain("user:ana", &["turn", "show", &place.turn_id()]).output().unwrap();
        assert!(String::from_utf8(shown.stdout).unwrap().contains("outside its scopes, shared"));
        assert_eq!(place.turns()[0]["state"], "settled", "{when}");
    }
}

#[test]
fn regress_what_an_earlier_attempt_left_outside_the_scopes_counts_as_well() {
    let place = scoped("if [ ! -f ../once ]; then touch ../once; mkdir docs; touch docs/stray; exit 9; fi");
    let failed = place.call("user:ana", &place.run("r1"));
    assert_eq!((failed.exit, failed.code()), (Some(1), "validation_failed"), "{}", failed.json);
    assert_eq!(listed(&place), (vec!["docs/stray".to_owned()], false));
    assert_eq!(place.runs(), 2);
}

/// That a result was refused for this path, and for nothing else.
fn is_refused(place: &Place, failed: &Answer, path: &str, what: &str) {
    assert_eq!((failed.exit, failed.code()), (Some(1), "validation_failed"), "{what}: {}", failed.json);
    let message = failed.text("/error/message");
    assert!(message.contains("boundary_violation") && message.contains(path), "{what}: {message}");
    assert_eq!(listed(place), (vec![path.to_owned()], false), "{what}");
    assert_eq!(place.todo_state(), "open", "{what}");
}

#[test]
fn what_a_host_commits_is_as_outside_as_what_it_leaves_lying() {
    let commit = "mkdir -p docs src; touch docs/stray src/a; git add docs src; \
                  git -c user.name=a -c user.email=a@b commit -qm host";
    let place = scoped(commit);
    let failed = place.call("user:ana", &place.run("r1"));
    is_refused(&place, &failed, "docs/stray", "committed");
    // Within its scopes it may commit as it likes, and a file that was changed before is not its.
    let place = scoped(
        "mkdir -p src; touch src/a; git add src tracked; git -c user.name=a -c user.email=a@b commit -qm host",
    );
    place.call("user:ana", &place.run("r1")).ok();
    assert_eq!(place.todo_state(), "done");
}

#[test]
fn a_host_that_hides_its_tree_from_git_is_refused() {
    let elsewhere = "cp -r . ../copy; rm -rf ../copy/.git; git config core.worktree \"$(realpath ../copy)\"";
    for hide in [
        "git config core.bare true",
        "rm -rf .git",
        "echo junk > .git/HEAD",
        "echo junk > .git/index",
        "echo '[' >> .git/config",
        elsewhere,
    ] {
        let place = scoped(&format!("{hide}; mkdir -p docs src; touch docs/stray src/a"));
        let failed = place.call("user:ana", &place.run("r1"));
        assert_eq!((failed.exit, failed.code()), (Some(1), "validation_failed"), "{hide}: {}", failed.json);
        assert!(failed.text("/error/message").contains("boundary_violation"), "{hide}: {}", failed.json);
        assert_eq!(place.todo_state(), "open", "{hide}");
    }
}

#[test]
fn an_attached_result_is_held_to_the_scopes_it_was_claimed_with() {
    let place = scoped("");
    let own = place.own("agent:a");
    fs::create_dir_all(place.tree().join("docs")).unwrap();
    fs::write(place.tree().join("docs/stray"), "").unwrap();
    let failed = place.call("agent:a", &["todo", "done", "g.1", "--own", &own, "--op-id", "d1"]);
    is_refused(&place, &failed, "docs/stray", "attached");
    let again = place.call("agent:a", &["todo", "done", "g.1", "--own", &own, "--op-id", "d1"]);
    is_refused(&place, &again, "docs/stray", "given again");
    // What lies there when the Todo is claimed is nobody's, and of the next Turn too.
    let own = place.own("agent:a");
    fs::create_dir_all(place.tree().join("src")).unwrap();
    fs::write(place.tree().join("src/a"), "").unwrap();
    let next = place.call("agent:a", &["todo", "progress", "g.1", "--own", &own, "--continue"]).ok();
    let own = next.text("/own_id").to_owned();
    fs::write(place.tree().join("docs/more"), "").unwrap();
    let failed = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    is_refused(&place, &failed, "docs/more", "the next Turn");
}

#[test]
fn a_claim_given_again_keeps_what_the_first_one_found() {
    let place = scoped("");
    let claim = ["todo", "claim", "g.1", "--op-id", "c1"];
    let own = place.call("agent:a", &claim).ok().text("/own_id").to_owned();
    fs::create_dir_all(place.tree().join("docs")).unwrap();
    fs::write(place.tree().join("docs/stray"), "").unwrap();
    assert_eq!(place.call("agent:a", &claim).ok().text("/own_id"), own);
    let failed = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    is_refused(&place, &failed, "docs/stray", "claimed twice");
}

#[cfg(all(feature = "failpoints", feature = "tier"))]
#[test]
fn where_the_picture_of_before_was_lost_anything_may_lie_outside() {
    let place = scoped("mkdir -p docs src; touch docs/stray src/a");
    let killed =
        place.call_with("user:ana", &place.run("r1"), &[("LOOPX_FAILPOINT", "turn.host_ended=kill")]);
    assert_eq!(killed.exit, None, "{}", killed.json);
    for name in ["private.db", "private.db-wal", "private.db-shm"] {
        // Only the first is always there.
        let _ = fs::remove_file(place.root().join("home/profiles/default").join(name));
    }
    is_refused(&place, &place.call("user:ana", &place.run("r1")), ".", "lost");
    // A tree that never had a picture is no such case.
    let place = Place::new("exit 0");
    place.call("proven:ana", &["goal", "update", "g", "--scope", "src"]).ok();
    place.host("mkdir -p docs src; touch docs/stray src/a; git init -q; git add src");
    place.call("user:ana", &place.run("r1")).ok();
    assert_eq!((listed(&place), place.todo_state()), ((Vec::new(), false), "done".to_owned()));
}

#[cfg(all(feature = "failpoints", feature = "tier"))]
#[test]
fn what_was_written_outside_before_a_driver_died_counts_for_whoever_goes_on() {
    // killed at each point between the host's start and its candidate, which ends the Turn; the same verb, or a recovery, goes on
    for point in ["turn.dispatched", "turn.host_ended", "turn.spooled"] {
        for way in ["again", "resume"] {
            let what = format!("{point}, {way}");
            let place = scoped("mkdir -p docs src; touch docs/stray src/a");
            let spec = format!("{point}=kill");
            let killed = place.call_with("user:ana", &place.run("r1"), &[("LOOPX_FAILPOINT", &spec)]);
            assert_eq!(killed.exit, None, "{what}: {}", killed.json);
            let turn_id = place.turn_id();
            let failed = if way == "again" {
                place.call("user:ana", &place.run("r1"))
            } else {
                place.call("user:ana", &["turn", "recover", &turn_id, "--resume"])
            };
            is_refused(&place, &failed, "docs/stray", &what);
            assert_eq!(place.turns().len(), 1, "{what}");
        }
    }
}
