//! Tests of where a profile lies and how it comes to be.

use super::*;

fn env(home: &Path) -> Env {
    // A runtime folder of the test's own, so that nothing is left below /tmp.
    let xdg_runtime_dir = home.ancestors().find(|dir| dir.is_dir()).map(Path::to_owned);
    Env { loopx_home: Some(home.to_owned()), xdg_runtime_dir, ..Env::default() }
}

fn new_profile(id: &str) -> NewProfile {
    NewProfile { profile_id: id.to_owned(), created_at_ms: 1_800_000_000_000 }
}

fn create(env: &Env, id: &str) -> (Profile, bool) {
    let place = Place::resolve(env).unwrap();
    Profile::open_or_create(&place, env, &HostFilesystem, &new_profile(id)).unwrap()
}

#[test]
fn the_folder_follows_the_environment() {
    let path = |s: &str| Some(PathBuf::from(s));
    let rows = [
        (Env { loopx_home: path("/l"), home: path("/h"), ..Env::default() }, "/l/profiles/default"),
        (Env { xdg_data_home: path("/x"), home: path("/h"), ..Env::default() }, "/x/loopx/profiles/default"),
        #[cfg(not(target_os = "macos"))]
        (
            Env { xdg_data_home: path("relative"), home: path("/h"), ..Env::default() },
            "/h/.local/share/loopx/profiles/default",
        ),
        (
            Env { loopx_home: path("/l"), profile: Some("work-2".into()), ..Env::default() },
            "/l/profiles/work-2",
        ),
    ];
    for (env, expected) in rows {
        assert_eq!(Place::resolve(&env).unwrap().dir(), Path::new(expected));
    }
    let refused = |env: Env| Place::resolve(&env).unwrap_err().code();
    assert_eq!(refused(Env::default()), Code::InvalidArgument);
    assert_eq!(refused(Env { loopx_home: path("l"), ..Env::default() }), Code::InvalidArgument);
    for bad in ["", " ", "-a", "A", "a/b", "..", "a\0b", &"a".repeat(49)] {
        let env = Env { profile: Some(bad.to_owned()), loopx_home: path("/l"), ..Env::default() };
        assert_eq!(refused(env), Code::InvalidId, "{bad:?}");
    }
}

#[test]
fn a_profile_is_made_once_and_opened_ever_after() {
    let home = tempfile::tempdir().unwrap();
    let env = env(&home.path().join("deep/home"));
    let place = Place::resolve(&env).unwrap();
    let missing = Profile::open(&place, &env, &HostFilesystem).unwrap_err();
    assert_eq!((missing.code(), missing.hint_args()), (Code::NotFound, Some("init")));
    assert!(!place.dir().exists(), "a read made a folder");

    let (first, created) = create(&env, "prf_first0000000000000000");
    assert!(created);
    let (second, again) = create(&env, "prf_other0000000000000000");
    assert!(!again);
    assert_eq!(second.profile_id(), first.profile_id());
    let opened = Profile::open(&place, &env, &HostFilesystem).unwrap();
    assert_eq!(opened.machine_id().unwrap(), first.machine_id().unwrap());
    assert_eq!(opened.record.created_at_ms, 1_800_000_000_000);

    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(place.dir()), 0o700);
    assert_eq!(mode(&place.locks()), 0o700);
    assert_eq!(mode(&place.profile_json()), 0o600);
    let left: Vec<_> = fs::read_dir(place.dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("tmp-")), "{left:?}");
}

#[test]
fn of_many_first_writers_one_makes_the_profile() {
    let home = tempfile::tempdir().unwrap();
    let env = env(home.path());
    let made: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|n| {
                let env = &env;
                scope.spawn(move || create(env, &format!("prf_{n:022}")))
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|(_, created)| *created).count(), 1);
    assert!(made.iter().all(|(profile, _)| profile.profile_id() == made[0].0.profile_id()));
}

#[test]
fn a_profile_file_is_refused_rather_than_guessed_at() {
    let home = tempfile::tempdir().unwrap();
    let env = env(home.path());
    let (profile, _) = create(&env, "prf_first0000000000000000");
    let path = profile.place().profile_json();
    let good = fs::read_to_string(&path).unwrap();
    let code = |text: String| {
        fs::write(&path, text).unwrap();
        Profile::open(profile.place(), &env, &HostFilesystem).unwrap_err().code()
    };
    assert_eq!(code(good.replace("profile_v1", "profile_v2")), Code::UnsupportedVersion);
    assert_eq!(code(good.replacen('{', "{\"extra\":1,", 1)), Code::StoreCorrupt);
    assert_eq!(code(good[..good.len() / 2].to_owned()), Code::StoreCorrupt);
    assert_eq!(code(String::new()), Code::StoreCorrupt);
}

#[test]
fn everybody_reads_the_run_folder_of_the_first_writer() {
    let home = tempfile::tempdir().unwrap();
    let xdg = home.path().join("x");
    fs::create_dir(&xdg).unwrap();
    let first_env = Env { xdg_runtime_dir: Some(xdg.clone()), ..env(home.path()) };
    let (first, _) = create(&first_env, "prf_first0000000000000000");
    // when another process has no runtime folder in its environment
    let plain = Env { xdg_runtime_dir: None, ..env(home.path()) };
    let second = Profile::open(first.place(), &plain, &HostFilesystem).unwrap();
    assert_eq!(second.run_dir().unwrap(), first.run_dir().unwrap());
    assert!(first.run_dir().unwrap().starts_with(&xdg));
    // then a folder that is gone is made again
    fs::remove_dir_all(xdg.join("loopx")).unwrap();
    assert!(second.run_dir().unwrap().is_dir());
    // and when it cannot be, a reader is told and a writer moves it for all
    fs::remove_dir_all(&xdg).unwrap();
    assert_eq!(second.run_dir().unwrap_err().code(), Code::StoreUnavailable);
    let blocked = Env { xdg_runtime_dir: Some(home.path().join("y")), ..plain.clone() };
    fs::create_dir(home.path().join("y")).unwrap();
    let moved = second.run_dir_or_move(&blocked).unwrap();
    assert!(moved.starts_with(home.path().join("y")));
    assert_eq!(first.run_dir().unwrap(), moved);
}
