//! Owns the tests of the screen: a table of what must match, a table of what must not, and properties.

use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::{Credential, Private, inspect, is_hostile, screen};

/// `#` becomes a run of 40 mixed characters, so that no file of ours holds a whole credential.
fn fill(text: &str) -> String {
    text.replace('#', "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0")
}

#[test]
fn every_kind_of_credential_is_refused() {
    let table = [
        ("key AKIA2E3F4G5H6I7J8K9L here", Credential::Cloud),
        ("\"ASIAQ1W2E3R4T5Y6U7I8\"", Credential::Cloud), // loopx:allow cloud
        ("AIza#", Credential::Cloud),
        ("ya29.#", Credential::Cloud),
        ("GOCSPX-#", Credential::Cloud),
        ("ghp_#", Credential::Forge),
        ("(ghs_#)", Credential::Forge),
        ("github_pat_11#_#", Credential::Forge),
        ("export T=glpat-a1B2c3D4e5F6g7H8i9J0", Credential::Forge),
        ("xoxb-1234567890-abcdef", Credential::Chat),
        ("https://hooks.slack.com/services/T0A1B2C3/B4D5E6F7/#", Credential::Chat),
        ("sk_live_#", Credential::Payment),
        ("rk_test_#", Credential::Payment),
        ("npm_#", Credential::Registry),
        ("pypi-##", Credential::Registry),
        ("sk-ant-api03-#", Credential::Model),
        ("sk-proj-#", Credential::Model),
        ("set sk-# now", Credential::Model),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.#", Credential::WebToken),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", Credential::PrivateKey), // loopx:allow private_key
        ("-----BEGIN OPENSSH PRIVATE KEY-----", Credential::PrivateKey),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----", Credential::PrivateKey),
        ("Authorization: Bearer #", Credential::Authorization),
        ("curl -H 'bearer a1B2c3D4e5F6g7H8'", Credential::Authorization),
        ("Authorization: Basic dXNlcjpwYXNz", Credential::Authorization),
        ("postgres://user:pass@db.example.com/x", Credential::UrlPassword),
        ("see https://a:b@c", Credential::UrlPassword),
        ("password=tr0ub4dor3", Credential::Assignment), // loopx:allow assignment
        ("DB_PASSWORD = \"c0rrectHorse\"", Credential::Assignment), // loopx:allow assignment
        ("{\"client_secret\": \"#\"}", Credential::Assignment),
        ("aws_secret_access_key=#/+a", Credential::Assignment),
        ("api-key: a1B2c3D4e5F6g7H8", Credential::Assignment),
        ("token := 'a1B2c3D4e5F6g7H8'", Credential::Assignment),
        ("{\\\"secret\\\":\\\"#\\\"}", Credential::Assignment),
    ];
    for (text, kind) in table {
        assert_eq!(screen(&fill(text)).map_err(|refused| refused.kind), Err(kind), "{text}");
    }
}

#[test]
fn a_credential_cannot_hide_behind_invisible_characters() {
    let (head, tail) = ("gh", "p_#");
    for hidden in ["\u{200b}", "\u{200d}", "\u{202e}", "\u{ad}", "\u{1b}[31m", "\0", "\u{feff}", "\u{e0041}"]
    {
        let text = fill(&format!("{head}{hidden}{tail}"));
        assert_eq!(screen(&text).map_err(|refused| refused.kind), Err(Credential::Forge), "{hidden:?}");
    }
}

#[test]
fn private_places_are_redacted_in_place_and_counted() {
    let table = [
        ("wrote /home/ann/x.rs:10:3.", "wrote [path]:10:3."), // loopx:allow private_path
        ("/root", "[path]"),
        ("in /root/.ssh, then", "in [path], then"),
        ("at /Users/ann/My.txt", "at [path]"), // loopx:allow private_path
        ("\"/Users/Ann Lee/My Notes/a.txt\" is", "\"[path]\" is"), // loopx:allow private_path
        (r"/Users/Ann\ Lee/a.txt is", "[path] is"), // loopx:allow private_path
        ("cd /tmp && ls /tmp/x-1/y", "cd [path] && ls [path]"),
        ("TMPDIR=/var/folders/ab/c", "TMPDIR=[path]"),
        ("//home/ann/x", "[path]"), // loopx:allow private_path
        (r"C:\Users\ann\x.txt, D:\Temp\y", "[path], [path]"), // loopx:allow private_path
        ("C:/Users/ann", "[path]"), // loopx:allow private_path
        (r"c:\\users\\ann\\x", "[path]"), // loopx:allow private_path
        (r"\\nas01\share\x", "[path]"), // loopx:allow private_path
        ("file:///home/ann/x", "[path]"), // loopx:allow private_path
        ("FILE://nas/x y", "[path] y"), // loopx:allow private_path
        ("http://10.1.2.3:8080/a", "http://[host]:8080/a"), // loopx:allow private_host
        ("192.168.1.7/24, 172.16.0.1. 169.254.1.1", "[host]/24, [host]. [host]"), // loopx:allow private_host
        ("range 10.0.0.1-10.0.0.9", "range [host]-[host]"), // loopx:allow private_host
        ("100.64.0.1 and ip-10.0.0.5", "[host] and ip-[host]"), // loopx:allow private_host
        ("[fd12:3456::1]:80", "[[host]]:80"), // loopx:allow private_host
        ("fe80::1%eth0: up", "[host]: up"), // loopx:allow private_host
        ("::ffff:10.0.0.1", "[host]"), // loopx:allow private_host
        ("ssh ann@build-7.corp.internal", "ssh ann@[host]"), // loopx:allow private_host
        ("http://printer.local/", "http://[host]/"), // loopx:allow private_host
        ("db.lan:5432 and NAS.LOCAL.", "[host]:5432 and [host]."), // loopx:allow private_host
    ];
    for (text, expected) in table {
        let screened = screen(text).unwrap();
        assert_eq!(screened.text, expected, "{text}");
        assert_eq!(
            screened.redactions,
            expected.matches("[path]").count() + expected.matches("[host]").count()
        );
    }
}

#[test]
fn what_tells_nothing_passes_unchanged() {
    let table = [
        "",
        "Fixed the failing check; 3 of 4 tests pass now.",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "trn_01h455vb4pex5vsknk084sn02q and demo.7",
        "src/home/user/mod.rs, ./tmp/x, ../root/y, a/tmp",
        "/usr/bin/env, /etc/passwd, /dev/null, /proc/self",
        "GET /api/v1/events and /homepage, /rooted, /tmpl, /home",
        "https://example.com/home/ann/tmp and https://root/x",
        "127.0.0.1:8766, 0.0.0.0, 8.8.8.8, 172.32.0.1, 100.128.0.1, ::1, 2001:db8::1",
        "version 10.2.3 and v10.0.0.1, 1.10.0.0.1, at 10:30:00",
        "std::fd::OwnedFd, a::b::c, fe::x",
        "error.internal(text), .env.local, localhost, settings.local.json",
        "the password is wrong; password: required; secret: [u8; 32]",
        "password=$PASSWORD1 token=${TOKEN_12345678901} secret={{ vault1.secret1 }}",
        "let token = parse_token(input1)?; pwd=/srv/app1/data",
        "bearer of bad news, bearer authentication-scheme",
        "https://user@example.com/ and postgres://user:***@db/x and http://h:80/a@b",
        "task-sk-learn, risk-analysis, sk-short, npm_config_cache, pypi-mirror",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "-----BEGIN CERTIFICATE-----, -----BEGIN PUBLIC KEY-----",
        "eyJ is how base64 of {\" begins",
        "tokens: 1234567, max_tokens=200000, token_count: 12",
        "שלום, 你好, नमस्ते, Grüße, 👩‍👩‍👧 and می‌خواهم",
        r"\d+\w\s and \\d\\w",
    ];
    for text in table {
        let screened = screen(text).unwrap_or_else(|refused| panic!("{text}: {refused:?}"));
        assert_eq!((screened.text.as_str(), screened.redactions), (text, 0));
        assert_eq!(inspect(text), [], "{text}");
    }
}

#[test]
fn what_could_act_on_a_terminal_is_screened_out() {
    let table = [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://e\u{1b}\\y", "xy"),
        ("\u{9b}2Jx\u{90}q\u{9c}y", "xy"),
        ("\u{1b}Pdevice", ""),
        ("\u{1b}Phidden\nseen", "\nseen"),
        ("\u{1b}(0x\u{1b}cy\u{1b}", "xy"),
        ("\u{1b}\u{1b}[31mx", "x"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u{8}\0\u{7f}", "a"),
        ("x\u{202e}cod.exe", "xcod.exe"),
        ("a\u{200d}b", "ab"),
        ("👩\u{200d}👧", "👩\u{200d}👧"),
    ];
    for (text, expected) in table {
        assert_eq!(screen(text).unwrap().text, expected, "{text:?}");
    }
}

#[test]
fn a_private_value_shows_nothing() {
    let value = Private::new("native-handle");
    assert_eq!(format!("{value:?}"), "Private(..)");
    assert_eq!(*value.expose(), "native-handle");
}

#[test]
fn a_hostile_repetition_is_screened_in_linear_time() {
    let pieces = [
        ":",
        "/",
        "\\",
        "sk-",
        "eyJ",
        "\"/tmp",
        "://a:",
        "password=",
        "a:",
        "-----BEGIN ",
        "1.",
        "\u{200d}",
        "\u{1b}]",
        "bearer ",
        "x.local", // loopx:allow private_host
        "'",
        "= ",
    ];
    for piece in pieces {
        let text = piece.repeat(64 * 1024 / piece.len());
        let before = thread_ms();
        let _ = screen(&text);
        let _ = inspect(&text);
        let took_ms = thread_ms() - before;
        assert!(took_ms < 5000, "{piece:?} took {took_ms} ms");
    }
}

/// Processor time of this thread: a busy machine must not fail a test of effort.
fn thread_ms() -> i64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// Texts out of the pieces that the screen looks at, joined without mercy.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "/home/",
        "/tmp",
        "/",
        "//",
        "ann",
        "x",
        "10.0.0.1",
        "fd00::1", // loopx:allow private_host
        "::",
        ":",
        ".local",
        ".",
        "-",
        "_",
        "\"",
        "'",
        " ",
        "\n",
        "\\",
        "C:\\Users\\",
        "file://",
        "[path]",
        "[host]",
        "(",
        ")",
        "]",
        "[",
        "%",
        "://",
        "@",
        "=",
        "password",
        "secret=",
        "a1B2c3D4e5F6g7H8",
        "bearer ",
        "\u{200d}",
        "é",
        "\u{1b}[",
        "\u{1b}]",
        "m",
        "\r",
        "\u{202e}",
        "nas.lan", // loopx:allow private_host
        "~",
        "}",
        ",",
        "127.0.0.1",
        "!",
        "?",
        "…",
        "0",
        "a",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn check_stable(text: &str) -> Result<(), TestCaseError> {
    if let Ok(once) = screen(text) {
        let twice = screen(&once.text);
        prop_assert_eq!(twice.as_ref().map(|twice| (&twice.text, twice.redactions)), Ok((&once.text, 0)));
        prop_assert!(!once.text.contains(is_hostile), "{:?}", once.text);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn screening_any_text_is_stable(text in any::<String>()) {
        check_stable(&text)?;
    }

    #[test]
    fn screening_what_it_looks_for_is_stable(text in pieces()) {
        check_stable(&text)?;
    }

    #[test]
    fn a_home_is_never_left_standing(before in "[b-z ]{0,8}", after in "[ ,;\n\"]?") {
        let screened = screen(&format!("{before} /home/ann/notes.txt{after}")).unwrap(); // loopx:allow private_path
        prop_assert!(!screened.text.contains("ann"));
    }
}
