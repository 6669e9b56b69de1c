//! `config`, and where a value comes from.

use std::{fs, path::Path};

use super::{Ended, call, call_in};
use crate::cli::Env;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("work/deep")).unwrap();
        Self { folder }
    }

    fn env(&self, more: &[(&str, &str)]) -> Env {
        let home = self.folder.path().join("home").to_string_lossy().into_owned();
        let own = [("LOOPX_HOME", home.as_str()), ("LOOPX_ACTOR", "user:ana")];
        let pairs = own.into_iter().chain(more.iter().copied());
        Env::from_pairs(pairs).in_folder(self.folder.path().join("work/deep"))
    }

    fn call(&self, words: &[&str]) -> Ended {
        call_in(&self.env(&[]), words)
    }

    fn profile(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("home/profiles").join(name).join("profile.toml")
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn setting(&self, env: &[(&str, &str)], words: &[&str]) -> (String, String) {
        let mut all = vec!["--json", "config", "get"];
        all.extend(words);
        let ended = call_in(&self.env(env), &all);
        let setting = &ended.json()["setting"];
        let text = |field: &str| setting[field].as_str().unwrap_or_default().to_owned();
        (text("value"), text("source"))
    }
}

fn pair(value: &str, source: &str) -> (String, String) {
    (value.to_owned(), source.to_owned())
}

#[test]
fn a_value_comes_from_flag_environment_project_profile_default_in_this_order() {
    let place = Place::new();
    assert_eq!(place.setting(&[], &["profile"]), pair("default", "default"));
    Place::write(
        &place.folder.path().join("work/.loopx/project.toml"),
        "profile = \"team\"\ngoal = \"importer\"\n",
    );
    assert_eq!(place.setting(&[], &["profile"]), pair("team", "project"));
    let env = [("LOOPX_PROFILE", "mine")];
    assert_eq!(place.setting(&env, &["profile"]), pair("mine", "environment"));
    assert_eq!(place.setting(&env, &["profile", "--profile", "other"]), pair("other", "flag"));
    assert_eq!(place.setting(&[], &["goal"]), pair("importer", "project"));
    assert_eq!(place.setting(&[], &["goal", "--goal", "b"]), pair("b", "flag"));

    Place::write(&place.profile("team"), "[list]\npage = 20\n");
    assert_eq!(place.setting(&[], &["list.page"]), pair("20", "profile"));
    assert_eq!(place.setting(&env, &["list.page"]), pair("50", "default"));
}

#[test]
fn set_keeps_comments_takes_out_on_default_and_is_private() {
    let place = Place::new();
    let path = place.profile("default");
    Place::write(&path, "# mine\n[ownership]\nttl = \"1h\" # long\n\n[list]\npage = 10\n");
    assert_eq!(place.call(&["config", "set", "ownership.ttl", "2h"]).exit, 0);
    assert_eq!(place.call(&["config", "set", "list.page", "default"]).exit, 0);
    assert_eq!(place.call(&["config", "set", "turn.attempts", "1"]).exit, 0);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("# mine\n[ownership]\nttl = \"2h\" # long\n"), "{text}");
    assert!(!text.contains("page") && text.contains("[turn]\nattempts = 1\n"), "{text}");
    assert_eq!(place.setting(&[], &["turn.attempts"]), pair("1", "profile"));
    let left: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_dry_run_and_a_read_change_nothing() {
    let place = Place::new();
    assert_eq!(place.call(&["config", "set", "ownership.ttl", "2h", "--dry-run"]).exit, 0);
    assert_eq!(place.call(&["config", "get"]).exit, 0);
    assert_eq!(place.call(&["config", "explain", "list.page"]).exit, 0);
    assert!(!place.folder.path().join("home").exists());
}

#[test]
fn unknown_keys_values_and_files_are_typed() {
    let place = Place::new();
    let refused = |words: &[&str]| {
        let mut all = vec!["--json"];
        all.extend(words);
        let ended = place.call(&all);
        let error = &ended.json()["error"];
        (ended.exit, error["code"].as_str().unwrap_or_default().to_owned())
    };
    let usage = |code: &str| (2, code.to_owned());
    assert_eq!(refused(&["config", "get", "ownership.tt"]), usage("invalid_argument"));
    assert_eq!(refused(&["config", "set", "ownership.ttl", "25h"]), usage("invalid_argument"));
    assert_eq!(refused(&["config", "set", "ownership.ttl", ""]), usage("invalid_argument"));
    assert_eq!(refused(&["config", "set", "list.page", "1001"]), usage("invalid_argument"));
    assert_eq!(refused(&["config", "set", "actors.assurance", "none"]), usage("invalid_argument"));
    assert_eq!(refused(&["config", "set", "goal", "a"]), usage("invalid_argument"));
    assert_eq!(refused(&["config", "get", "--profile", "../../etc"]), usage("invalid_id"));
    for (text, code) in [
        ("[ownership]\ntl = \"1h\"\n", "unknown_field"),
        ("[owner]\nttl = \"1h\"\n", "unknown_field"),
        ("ttl = \"1h\"\n", "unknown_field"),
        ("goal = \"a\"\n", "unknown_field"),
        ("[ownership]\nttl = [1]\n", "invalid_argument"),
        ("[ownership]\nttl = \"never\"\n", "invalid_argument"),
        ("[ownership\n", "invalid_argument"),
    ] {
        Place::write(&place.profile("default"), text);
        assert_eq!(refused(&["config", "get"]), usage(code), "{text}");
    }
    Place::write(&place.profile("default"), &"#".repeat(70_000));
    assert_eq!(refused(&["config", "get"]), usage("payload_too_large"));
    fs::remove_file(place.profile("default")).unwrap();
    fs::create_dir(place.profile("default")).unwrap();
    assert_eq!(refused(&["config", "get"]), (7, "store_unreadable".to_owned()));
}

#[test]
fn two_writers_do_not_lose_each_others_setting() {
    let place = Place::new();
    assert_eq!(place.call(&["config", "set", "list.page", "5"]).exit, 0);
    let lock = place.profile("default").with_file_name("locks").join("config.lock");
    let held = fs::File::open(lock).unwrap();
    held.lock().unwrap();
    let ended = place.call(&["config", "set", "list.page", "6", "--json"]);
    assert_eq!((ended.exit, ended.json()["error"]["code"].as_str()), (7, Some("store_busy")));
    drop(held);
    assert_eq!(place.call(&["config", "set", "list.page", "6"]).exit, 0);
}

#[test]
fn without_any_folder_the_defaults_hold_and_a_write_says_why_not() {
    let ended = call(&["config", "get"]);
    assert_eq!(ended.exit, 0);
    insta::assert_snapshot!("config_get", ended.out);
    let relative = Env::from_pairs([("LOOPX_HOME", "relative")]);
    assert_eq!(call_in(&relative, &["config", "get"]).exit, 2);
    let ended = call(&["config", "set", "list.page", "5"]);
    assert_eq!(ended.exit, 2);
    assert!(ended.err.contains("LOOPX_HOME"), "{}", ended.err);
    insta::assert_snapshot!("config_explain", call(&["config", "explain", "ownership.ttl"]).out);
}
