//! Owns the tests of looking at lines: every kind is found in any text, near misses are not, and no excerpt shows a value.

use proptest::{prelude::*, sample::select};

use super::{super::forms::BEGINNINGS, *};

/// The kinds that are found, in their order.
fn kinds(line: &str) -> Vec<&'static str> {
    inspect(line).iter().map(|leaked| leaked.kind.as_str()).collect()
}

/// A random run of the characters that an alphabet has, letters of both cases and digits first.
fn run(of: fn(u8) -> bool, length: usize) -> impl Strategy<Value = String> {
    let all: Vec<char> =
        (b'0'..=b'z').filter(|byte| byte.is_ascii_alphanumeric() && of(*byte)).map(char::from).collect();
    let run = prop::collection::vec(select(all), length).prop_map(|chars| chars.into_iter().collect());
    run.prop_filter("what chance makes", |run: &String| {
        let has = |test: fn(&u8) -> bool| run.as_bytes().iter().any(&test);
        let distinct: std::collections::BTreeSet<u8> = run.bytes().collect();
        distinct.len() >= 9
            && (has(u8::is_ascii_digit)
                || has(u8::is_ascii_lowercase) == has(u8::is_ascii_uppercase)
                || run.len() == 16)
    })
    // What is simpler is no longer what chance makes.
    .no_shrink()
}

/// Text of no kind, whose end is no part of what follows.
fn prose() -> impl Strategy<Value = String> {
    "([a-z]{1,9}[ ,.;!?] ){0,8}[( \"'`\\[]?"
}

fn alnum_of(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

/// A credential of each kind that has no fixed beginning, with what stands before and after it in its line.
fn formless() -> impl Strategy<Value = (&'static str, String, String, String)> {
    let value = run(alnum_of, 24).prop_map(|run| run + "7a");
    (0..9_u8, value, run(alnum_of, 20)).prop_map(|(which, value, other)| {
        let parts = |kind, before: &str, value: String, after: &str| {
            (kind, before.to_owned(), value, after.to_owned())
        };
        match which {
            0 => parts("authorization", "Authorization: Bearer ", value, ""),
            1 => parts("authorization", "authorization = \"token ", value, "\""),
            2 => parts("url_password", "postgres://svc:", value, "@db.acme.io/x"),
            3 => parts("assignment", "DB_PASSWORD=", value, ""),
            4 => parts("assignment", "{\"client_secret\": \"", value, "\"}"),
            5 => parts("assignment", "AccountKey=", format!("{value}/+=="), ";"),
            6 => parts("web_token", "", format!("eyJ{value}.eyJ{other}.{value}{other}"), ""),
            7 => parts("private_key", "", format!("-----BEGIN RSA {} KEY-----\\n{value}", "PRIVATE"), ""),
            _ => parts("chat", "", format!("2718281828:AA{value}{}", other.get(..7).unwrap_or_default()), ""),
        }
    })
}

fn place() -> impl Strategy<Value = (&'static str, String, String, String)> {
    ("[bcdf]{4}[0-9]", 1..250_u8, 2..250_u8, 0..13_u8).prop_map(|(name, one, two, which)| {
        let path = |before: &str, value: String| ("private_path", before.to_owned(), value, String::new());
        let host = |before: &str, value: String, after: &str| {
            ("private_host", before.to_owned(), value, after.to_owned())
        };
        match which {
            0 => path("", format!("/home/{name}/notes.txt")),
            1 => path("in ", format!("/Users/{name}/Library")),
            2 => path("", format!("C:\\Users\\{name}\\x.txt")),
            3 => path("", format!("D:\\\\Users\\\\{name}\\\\x.txt")),
            4 => path("", format!("\\\\{name}\\share\\x")),
            5 => path("", format!("\\\\\\\\{name}\\\\share\\\\x")),
            6 => path("", format!("\\\\wsl$\\Debian\\home\\{name}\\x")),
            7 => path("", format!("/mnt/c/Users/{name}/x")),
            8 => path("", format!("file:///home/{name}/x")),
            9 => host("", format!("10.{one}.{two}.7"), ""),
            10 => host("http://", format!("192.168.{one}.{two}"), ":80/"),
            11 => host("", format!("fd12:34{one:02x}::{two:x}"), ""),
            _ => host("https://", format!("{name}.corp.internal"), "/x"),
        }
    })
}

/// No excerpt holds a piece of the value that would help anybody.
fn check_hidden(leaks: &[Leaked], value: &str) -> Result<(), TestCaseError> {
    let pieces: Vec<&str> = (0..value.len()).filter_map(|at| value.get(at..at + 8)).collect();
    for leaked in leaks {
        for piece in &pieces {
            prop_assert!(!leaked.excerpt.contains(piece), "{piece} of {value} in {}", leaked.excerpt);
        }
        prop_assert!(leaked.excerpt.chars().count() <= 2 * AROUND_CHARS + 20);
    }
    Ok(())
}

fn check_found(kind: &str, before: &str, value: &str, after: &str) -> Result<(), TestCaseError> {
    let leaks = inspect(&format!("{before}{value}{after}"));
    let at = before.chars().count();
    let found = leaks.iter().find(|leaked| leaked.kind.as_str() == kind && leaked.after_chars == at);
    prop_assert!(found.is_some(), "{kind}: {before}{value}{after} gives {leaks:?}");
    check_hidden(&leaks, value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_token_of_every_form_is_found_in_any_text_and_never_shown(
        (form, value) in select(BEGINNINGS).prop_flat_map(|form| (Just(form), run(form.of, if form.is_exact { form.least } else { form.least.max(20) }))),
        before in prose(),
        after in "([ ,;\"'`)\\]][ a-z,;]{0,60})?",
    ) {
        let value = format!("{}{value}", form.begins);
        check_found(form.kind.as_str(), &before, &value, &after)?;
    }

    #[test]
    fn a_value_that_only_its_place_tells_is_found_in_any_text_and_never_shown(
        (kind, lead, value, tail) in formless(), before in prose(), after in "( [a-z ,;]{0,60})?",
    ) {
        check_found(kind, &format!("{before} {lead}"), &value, &format!("{tail}{after}"))?;
    }

    #[test]
    fn a_private_place_is_found_in_any_text_and_never_shown(
        (kind, lead, value, tail) in place(), before in prose(), after in "( [a-z ,;]{0,60})?",
    ) {
        check_found(kind, &format!("{before} {lead}"), &value, &format!("{tail}{after}"))?;
    }

    #[test]
    fn any_text_is_looked_through_and_nothing_lies_outside_of_it(text in any::<String>()) {
        for leaked in inspect(&text) {
            prop_assert!(leaked.after_chars < text.chars().count());
        }
    }

    #[test]
    fn two_in_one_line_hide_each_other(
        (_, lead, value, tail) in formless(), (_, other_lead, other, other_tail) in place(), gap in " [a-z]{0,9} ",
    ) {
        let leaks = inspect(&format!("x {lead}{value}{tail}{gap}{other_lead}{other}{other_tail}"));
        check_hidden(&leaks, &value)?;
        if !other.starts_with("file:") {
            check_hidden(&leaks, &other)?;
        }
    }
}

#[test]
fn what_examples_write_in_the_place_of_a_value_is_no_finding() {
    let table = [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "api_key = \"your-api-key-goes-here-1\"",
        "password: changeme123",
        "token=test-token-a1b2c3",
        "https://user:password@acme.io/ and https://guest:guest@acme.io",
        "https://user:pass%20pass@acme.io, https://u:p@acme.io, https://ann:x1y2z3@example.com/",
        "base = \"http://127.0.0.1:@PORT@/v1\"",
        "Authorization: Basic dXNlcjpwYXNz",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {",
        "'-----BEGIN OPENSSH PRIVATE KEY-----'.length",
        "starts_with(\"PuTTY-User-Key-File-\")",
    ];
    for text in table {
        assert_eq!(kinds(text), [""; 0], "{text}");
    }
}

#[test]
fn what_every_machine_has_is_no_finding() {
    let table = [
        "/tmp/x, /var/tmp/y, /run/user/1000/z, /root/.ssh, /var/folders/ab/c",
        "/home/user/x, /Users/you/x, /home/$USER/x, /home/<name>/x, /home/{name}/x, /home/runner/work",
        "C:\\Users\\Public\\x, C:\\Users\\%USERNAME%\\x, C:\\Temp\\x, C:/Users/username/x",
        "/mnt/c/Windows, /media/cdrom, /Volumes/Data",
        "\\\\server\\share\\x",
        "file:///etc/hosts, file://heythere and file://C:/dir/file.txt",
        "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 192.168.1.1, 169.254.169.254, fe80::/10, fd00::/8",
        "host.docker.internal:80, http://metadata.google.internal/, api.default.svc.cluster.local",
        "threading.local(), self.local = x; error.internal, &self.0.internal, &[host.internal]",
        "M4.9,30,10.5.7.2,1.67.89 14.72-10.5.1.2,1.87.2",
    ];
    for text in table {
        assert_eq!(kinds(text), [""; 0], "{text}");
    }
}

#[test]
fn what_differs_by_little_from_an_example_is_found() {
    let key = format!("-----BEGIN {} KEY-----", "PRIVATE");
    let table = [
        (format!("{key}\\nMIIEvQIBADAN"), "private_key"),
        (key.clone(), "private_key"),
        (format!("\"{key}\\nMIIEvQIBADAN\\n-----END {} KEY-----\", b", "PRIVATE"), "private_key"),
        (format!("PuTTY-{}-Key-File-3: ssh-ed25519", "User"), "private_key"),
        (format!("https://ann:{}@acme.io", "x1y2z3"), "url_password"),
        (format!("http://{}.local/", "printer"), "private_host"),
        (format!("\"{}.local\"", "printer"), "private_host"),
        (format!("ssh {}.local", "nas-2"), "private_host"),
        (format!("{}.lan is up", "db"), "private_host"),
        (format!("/media/{}/usb/x", "ann"), "private_path"),
        (format!("/Volumes/Data/Users/{}/x", "ann"), "private_path"),
        (format!("Authorization: Basic {}", "YW5uOnczbGxzM2NyZXQ="), "authorization"),
    ];
    for (text, kind) in table {
        assert_eq!(kinds(&text), [kind], "{text}");
    }
}

#[test]
fn a_place_is_counted_in_characters_of_the_line_as_it_stands() {
    let home = format!("/home/{}/x", "ann");
    let table = [
        (home.clone(), 0),
        (format!("Grüße, 你好 {home}"), 10),
        (format!("\u{feff}a {home}"), 3),
        (format!("\u{1b}[31m{home}\u{1b}[0m"), 5),
        (format!("a\u{200b}b\0 {home}"), 5),
    ];
    for (line, after_chars) in table {
        let leaks = inspect(&line);
        assert_eq!(
            leaks.iter().map(|leaked| leaked.after_chars).collect::<Vec<_>>(),
            [after_chars],
            "{line:?}"
        );
    }
    let hidden = format!("/{}/a{}nn/x", "home", '\u{200b}');
    assert_eq!(kinds(&hidden), ["private_path"]);
}

#[test]
fn an_excerpt_shows_the_line_around_and_the_kind_in_its_place() {
    let line =
        format!("  let x = read(\"/home/{}/x\"); // and {}", "ann", "so on, for longer than is shown here");
    let excerpts: Vec<_> = inspect(&line).into_iter().map(|leaked| leaked.excerpt).collect();
    assert_eq!(excerpts, ["let x = read(\"[private_path]\"); // and so on, for longer tha…"]);
}
