//! `check`: which files are looked at, what is said of them, and how it ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;

use crate::desk::{Desk, Ended, has};

/// A credential of each kind, made of parts, so that this repository holds none.
fn corpus() -> Vec<(&'static str, String)> {
    let run = "k3Jd82mXq0Zr7Lw5Ty9Pn4Bv6Hc1Gf8Sa2Ue5Id7";
    let begins = |parts: [&str; 2]| format!("{}{run}", parts.concat());
    let key = format!("-----BEGIN {} KEY-----", "PRIVATE");
    vec![
        ("cloud", format!("{}{}", "AK", "IA2E3F7G5HQI7J8KRL")),
        ("forge", begins(["gh", "p_"])),
        ("forge", begins(["gl", "pat-"])),
        ("chat", begins(["xo", "xb-"])),
        ("payment", begins(["sk", "_live_"])),
        ("registry", begins(["np", "m_"])),
        ("registry", format!("{}{run}{run}", ["py", "pi-"].concat())),
        ("model", begins(["sk", "-ant-api03-"])),
        ("model", begins(["sk", "-proj-"])),
        ("web_token", format!("ey{}.ey{}.{run}", "JhbGciOiJIUzI1NiJ9", "JzdWIiOiIxMjM0NTY3ODkwIn0")),
        ("private_key", key),
        ("authorization", format!("Authorization: {} {run}", "Bearer")),
        ("url_password", format!("postgres://svc:{}@db.acme.io/x", "n3lls3cret")),
        ("assignment", format!("DB_PASSWORD={}", "n3lls3cret")),
        ("assignment", format!("client_secret: \"{run}\"")),
        ("private_path", format!("/{}/{}/notes.txt", "home", "ann")),
        ("private_path", format!("/{}/{}/notes.txt", "Users", "ann")),
        ("private_path", format!("C:\\{}\\{}\\x", "Users", "ann")),
        ("private_path", format!("/mnt/c/{}/{}/x", "Users", "ann")),
        ("private_path", format!("\\\\{}\\share\\x", "nas01")),
        ("private_host", format!("http://{}.7.8.9:80/", "10")),
        ("private_host", format!("ssh {}.168.7.9", "192")),
        ("private_host", format!("https://{}.internal/", "wiki.acme")),
    ]
}

/// The findings of a call that found some: file, line, column, kind.
fn found(ended: &Ended) -> Vec<(String, u64, u64, String)> {
    assert_eq!((ended.exit, ended.code().as_str()), (1, "check_failed"), "{ended:?}");
    let items = ended.json()["error"]["details"]["items"].as_array().unwrap().clone();
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let number = |item: &Value, name: &str| item[name].as_u64().unwrap();
    let row =
        |item: &Value| (text(item, "file"), number(item, "line"), number(item, "column"), text(item, "kind"));
    items.iter().map(row).collect()
}

fn files(ended: &Ended) -> Vec<String> {
    found(ended).into_iter().map(|(file, ..)| file).collect()
}

fn git(desk: &Desk, words: &[&str]) {
    assert!(desk.command("git").args(words).output().unwrap().status.success(), "{words:?}");
}

fn write(desk: &Desk, name: &str, text: impl AsRef<[u8]>) {
    let path = desk.folder().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A forge's token, which is found wherever it stands.
fn token() -> String {
    corpus().swap_remove(1).1
}

#[test]
fn every_kind_is_found_at_its_place_and_no_value_is_printed() {
    let desk = Desk::empty();
    let corpus = corpus();
    let lines: Vec<_> = corpus.iter().map(|(_, text)| format!("see {text} there\n")).collect();
    write(&desk, "notes", lines.concat());
    let ended = desk.json(&["check"]);
    let found = found(&ended);
    for (n, (kind, text)) in (1..).zip(&corpus) {
        let is_there =
            |(file, line, _, is): &(String, u64, u64, String)| file == "notes" && *line == n && is == kind;
        assert!(found.iter().any(is_there), "{kind}: {text}");
    }
    assert_eq!(found.len(), corpus.len(), "{found:?}");
    assert_eq!(found[1], ("notes".to_owned(), 2, 5, "forge".to_owned()));
    let people = desk.call(&["check"]);
    assert_eq!(people.exit, 1);
    assert!(people.out.contains("notes:2:5") && people.out.contains("see [forge] there"), "{}", people.out);
    for secret in ["k3Jd82mX", "n3lls3cret", "2E3F7G5H", "ann/", "7.8.9", "168.7.9", "wiki.acme", "nas01"] {
        assert!(!ended.out.contains(secret) && !people.out.contains(secret), "{secret}");
    }
}

#[test]
fn what_holds_nothing_private_is_said_with_what_was_left_out() {
    let desk = Desk::empty();
    write(&desk, "a.txt", "nothing\n");
    write(&desk, "b.bin", [b'x', 0, b'y']);
    let clean = desk.ok(&["check"]);
    assert_eq!(clean["schema_version"], "loopx_check_v1");
    assert_eq!((&clean["files"], &clean["binary"], &clean["findings"]), (&1.into(), &1.into(), &0.into()));
    assert_eq!(clean["items"], serde_json::json!([]));
    let large = fs::File::create(desk.folder().join("large.txt")).unwrap();
    large.set_len(65 * 1024 * 1024).unwrap();
    let left_out = desk.ok(&["check"])["left_out"].clone();
    assert_eq!(left_out, serde_json::json!([{"file": "large.txt", "reason": "larger than 64 MiB"}]));
}

#[test]
fn in_a_work_tree_what_a_commit_would_hold_is_read_and_with_all_the_rest() {
    let desk = Desk::empty();
    if !has(&desk, "git") {
        return;
    }
    git(&desk, &["init", "-q"]);
    for name in ["tracked", "untracked", "ignored", "sub/deep"] {
        write(&desk, name, token());
    }
    write(&desk, ".gitignore", "ignored\n");
    git(&desk, &["add", "tracked"]);
    let listed = files(&desk.json(&["check"]));
    assert_eq!(listed, ["sub/deep", "tracked", "untracked"]);
    assert_eq!(files(&desk.json(&["check", "sub"])), ["sub/deep"]);
    assert_eq!(files(&desk.json(&["check", "ignored"])), ["ignored"]);
    write(&desk, ".git/notes", token());
    assert_eq!(files(&desk.json(&["check", "--all"])), ["ignored", "tracked", "untracked", "sub/deep"]);
    desk.refused(&["check", "none"], "not_found", 2);
}

#[test]
fn a_link_is_read_as_what_it_leads_to_and_not_followed() {
    let desk = Desk::empty();
    fs::create_dir(desk.path("outside")).unwrap();
    fs::write(desk.path("outside/secret"), token()).unwrap();
    symlink("../outside", desk.folder().join("up")).unwrap();
    symlink("../outside/secret", desk.folder().join("out")).unwrap();
    assert_eq!(desk.ok(&["check"])["files"], 2);
    symlink(format!("/{}/{}/x", "home", "ann"), desk.folder().join("home")).unwrap();
    assert_eq!(found(&desk.json(&["check"])), [("home".to_owned(), 1, 1, "private_path".to_owned())]);
}

#[test]
fn a_marker_allows_the_kind_it_names_and_no_other() {
    let desk = Desk::empty();
    let token = token();
    let home = format!("/{}/{}/x", "home", "ann");
    write(&desk, "a", format!("{token} # loopx:allow forge\n# loopx:allow private_path\n{home}\n"));
    assert_eq!(desk.ok(&["check"])["allowed"], 2);
    write(&desk, "a", format!("{token} {home} # loopx:allow forge\n{token}\n# loopx:allow\n{token}\n"));
    let places: Vec<_> =
        found(&desk.json(&["check"])).into_iter().map(|(_, line, _, kind)| (line, kind)).collect();
    assert_eq!(places, [(1, "private_path".to_owned()), (2, "forge".to_owned()), (4, "forge".to_owned())]);
}

#[test]
fn encodings_and_ends_of_lines_hide_nothing() {
    let desk = Desk::empty();
    let text = format!("one\r\n\u{2014} {}\r\n", token());
    write(&desk, "crlf", &text);
    for (name, is_little) in [("le", true), ("be", false)] {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let bytes =
            units.flat_map(|unit: u16| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() });
        write(&desk, name, bytes.collect::<Vec<u8>>());
    }
    write(&desk, "broken", [b"\xff\xfd\n\xe2 ".as_slice(), token().as_bytes()].concat());
    let places = found(&desk.json(&["check"]));
    let expected = ["be", "broken", "crlf", "le"].map(|name| (name.to_owned(), 2, 3, "forge".to_owned()));
    assert_eq!(places, expected);
}

#[test]
fn this_repository_holds_nothing_that_must_not_be_public() {
    let desk = Desk::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() || !has(&desk, "git") {
        return;
    }
    let ended = desk.call(&["check", root.to_str().unwrap()]);
    assert_eq!(ended.exit, 0, "{}", ended.out);
}
