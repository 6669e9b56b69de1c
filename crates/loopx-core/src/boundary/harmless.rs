//! Owns what has the form of something private and tells nothing: what is the same on every machine, and what examples
//! write in the place of a value.
//!
//! Knows nothing of where it stands beyond its line. A text that becomes a fact is screened without this: there, too
//! much costs a word; in a scan of many files, it costs the reader's trust.

use std::net::IpAddr;

use super::{credential::Credential, forms::BEGINNINGS};

/// Words that say of a value that it is none, wherever in it they stand. Long enough to stand in no random value.
const TELLING: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "notreal",
    "not-real",
    "xxxxxx",
];
/// The same, where they are words of their own.
const TELLING_WORDS: &[&str] =
    &["your", "fake", "dummy", "sample", "insert", "replace", "test", "testing", "mock", "demo"];
/// Passwords that everybody writes who shows the form of a URL.
const PASSWORDS: &[&str] = &[
    "pass",
    "passwd",
    "password",
    "secret",
    "test",
    "user",
    "guest",
    "admin",
    "root",
    "token",
    "hunter2",
    "pword",
    "mypass",
    "mypassword",
    "passw0rd",
    "userpass",
    "pass1",
    "pass2",
    "pwd1",
];
/// Names that stand for anybody, or that many machines of a kind share.
const NAMES: &[&str] = &[
    "user",
    "username",
    "user1",
    "you",
    "yourname",
    "your-name",
    "your_name",
    "yourusername",
    "name",
    "me",
    "myname",
    "myuser",
    "someone",
    "somebody",
    "someuser",
    "anyone",
    "example",
    "foo",
    "foobar",
    "bar",
    "baz",
    "test",
    "testuser",
    "dev",
    "runner",
    "runneradmin",
    "vscode",
    "ubuntu",
    "ec2-user",
    "vagrant",
    "circleci",
    "travis",
    "jenkins",
    "node",
    "app",
    "git",
    "default",
    "public",
    "shared",
    "all",
    "alice",
    "bob",
    "john",
    "jane",
    "johndoe",
    "jdoe",
    "john.doe",
];
/// Machines of nobody's.
const MACHINES: &[&str] = &[
    "server",
    "servername",
    "server1",
    "myserver",
    "host",
    "hostname",
    "machine",
    "computer",
    "localhost",
    "unc",
    "example",
    "foo",
    "bar",
    "remote",
];
/// Addresses that routers, containers, emulators and clouds have everywhere, and the networks' own.
const ADDRESSES: &[&str] = &[
    "10.0.0.0",
    "10.0.0.1",
    "10.0.2.2",
    "10.0.2.15",
    "10.255.255.255",
    "10.96.0.1",
    "10.244.0.0",
    "100.64.0.0",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.0",
    "172.17.0.1",
    "172.31.255.255",
    "192.168.0.0",
    "192.168.0.1",
    "192.168.1.0",
    "192.168.1.1",
    "192.168.99.100",
    "192.168.122.1",
    "192.168.255.255",
];
/// Names that a product gives in every network it runs in.
const HOSTS: &[&str] = &[
    "host.docker.internal",
    "gateway.docker.internal",
    "kubernetes.docker.internal",
    "host.containers.internal",
    "host.lima.internal",
    "metadata.google.internal",
];
const CLUSTER: &str = ".cluster.local";
/// Names under which nobody has a machine.
const RESERVED: &[&str] =
    &["example", "example.com", "example.org", "example.net", "test", "invalid", "localhost"];

/// Whether the credential between `before` and `after` is a made-up one.
pub(super) fn is_credential(kind: Credential, before: &str, value: &str, after: &str) -> bool {
    // What a form begins with says nothing of the value.
    let value = BEGINNINGS.iter().find_map(|form| value.strip_prefix(form.begins)).unwrap_or(value);
    let lower = value.to_ascii_lowercase();
    let is_word = |word: &&str| {
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        lower.match_indices(*word).any(|(at, _)| {
            let (start, end) = (lower.get(..at), lower.get(at + word.len()..));
            ends(start.and_then(|start| start.chars().next_back()))
                && ends(end.and_then(|end| end.chars().next()))
        })
    };
    let told = TELLING.iter().any(|word| lower.contains(word)) || TELLING_WORDS.iter().any(is_word);
    match kind {
        Credential::PrivateKey => is_mentioned(value),
        Credential::UrlPassword => told || is_url_password(before, &lower, after),
        Credential::Authorization => {
            told || counts(value) || basic(value).is_some_and(|pair| is_shown(&pair))
        }
        Credential::Assignment
        | Credential::Chat
        | Credential::Cloud
        | Credential::Forge
        | Credential::Model
        | Credential::Payment
        | Credential::Registry
        | Credential::WebToken => told || counts(value),
    }
}

/// Whether the first line of a key stands alone in a quoted text: whoever looks for keys writes it, too.
fn is_mentioned(value: &str) -> bool {
    let after = value.trim_start_matches('-').split_once("-----").map(|(_, after)| after);
    // In a quoted text, the quote that ends it may be quoted itself.
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '\\' && c != ' ';
    after.is_some_and(|after| after.strip_prefix('\\').unwrap_or(after).starts_with(is_end))
}

fn is_url_password(before: &str, password: &str, after: &str) -> bool {
    let user = before.trim_end_matches(':').rsplit(['/', ':']).next().unwrap_or_default();
    let rest = after.trim_start_matches('@');
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[')));
    let host = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_ascii_lowercase();
    let is_reserved =
        |end: &&str| host.strip_suffix(*end).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    // Without a host, it is none of a URL.
    host.is_empty()
        || password.eq_ignore_ascii_case(user)
        || is_word(password)
        || RESERVED.iter().any(is_reserved)
}

/// Whether a password is one that is written to show the form.
fn is_word(password: &str) -> bool {
    // A `%` takes the two digits of a character with it.
    let words = password
        .split('%')
        .enumerate()
        .map(|(n, part)| part.get(if n > 0 { 2 } else { 0 }..).unwrap_or(part));
    let mut words = words
        .flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty());
    password.len() < 4 || words.all(|word| PASSWORDS.contains(&word))
}

/// Whether a user and his password are such.
fn is_shown(pair: &str) -> bool {
    pair.to_ascii_lowercase()
        .split_once(':')
        .is_none_or(|(user, password)| is_word(password) || user == password)
}

/// What stands in base64 behind a basic authorization; none where that is no text.
fn basic(value: &str) -> Option<String> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0_u32);
    for byte in value.trim_end_matches('=').bytes() {
        held = ((held << 6) | digit(byte)?) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok().filter(|text| text.contains(':'))
}

/// Whether a value counts up, as `12345678`, `abcdefgh` and `a1b2c3d4` do.
fn counts(value: &str) -> bool {
    let steps = |width: usize| {
        let mut run = 0;
        let pairs = value.bytes().zip(value.bytes().skip(width));
        pairs
            .map(|(one, next)| {
                let is_step = one.to_ascii_lowercase().wrapping_add(1) == next.to_ascii_lowercase()
                    || (one, next) == (b'9', b'0');
                run = if is_step { run + 1 } else { 0 };
                run
            })
            .any(|run| run >= COUNTING_STEPS)
    };
    steps(1) || steps(2)
}

/// After how many steps a value counts up and is no chance.
const COUNTING_STEPS: usize = 6;

/// Whether a path leads to what every machine has, or to nobody's home.
pub(super) fn is_path(value: &str) -> bool {
    let path = value.replace('\\', "/");
    let lower = path.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
    let share = value.starts_with("\\\\") && !value.contains('$');
    if share {
        return parts.first().is_none_or(|machine| MACHINES.contains(machine));
    }
    if let Some(named) = lower.strip_prefix("file://").filter(|named| !named.starts_with('/')) {
        let machine = parts.get(1).copied().unwrap_or_default();
        let is_drive = machine.ends_with(':');
        if !is_drive {
            return !named.contains('/') || MACHINES.contains(&machine) || is_template(machine);
        }
    }
    // Whose home it is says the part after one of these.
    let home = parts.iter().position(|part| matches!(*part, "home" | "users" | "documents and settings"));
    match home.and_then(|at| parts.get(at + 1)) {
        Some(name) => NAMES.contains(name) || name.len() < 2 || is_template(name),
        None => !matches!(parts.first(), Some(&"media" | &"volumes")) || parts.len() < 3,
    }
}

/// A variable, a pattern or an ellipsis stands where the name would.
fn is_template(name: &str) -> bool {
    name.starts_with(['$', '<', '{', '[', '%', '*', '.', ':', '…', '#'])
}

/// Whether an address or a name between `before` and `after` is one that every network has, or none at all.
pub(super) fn is_host(before: &str, value: &str, after: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if HOSTS.contains(&lower.as_str()) || lower.ends_with(CLUSTER) || ADDRESSES.contains(&lower.as_str()) {
        return true;
    }
    match lower.split('%').next().unwrap_or_default().parse() {
        // The network itself.
        Ok(IpAddr::V6(address)) => address.segments().iter().skip(1).all(|segment| *segment == 0),
        Ok(IpAddr::V4(_)) => is_number(before.chars().rev()) || is_number(after.chars()),
        Err(_) => {
            let label = lower.split('.').next().unwrap_or_default();
            MACHINES.contains(&label) || is_template(label) || !is_name(before, &lower, after)
        }
    }
}

/// Whether the neighbour of an address is a decimal number: then it is one of many numbers that were joined to save room.
fn is_number(mut beside: impl Iterator<Item = char>) -> bool {
    if !beside.next().is_some_and(|c| matches!(c, ',' | '-')) {
        return false;
    }
    let run: String = beside.take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    matches!(run.matches('.').count(), 1 | 2) && run.contains(|c: char| c.is_ascii_digit())
}

/// Whether what ends like a name of a private network is one. Programs have members that are called `local` and
/// `internal`, too, so there it takes more: its place in a URL or an address, quotes around it, a port, or a part that
/// no member is called.
fn is_name(before: &str, name: &str, after: &str) -> bool {
    let is_member = [".local", ".internal"].iter().any(|end| name.ends_with(end));
    let last = before.chars().next_back();
    let is_quoted = last.is_some_and(|c| matches!(c, '"' | '\'' | '`') && after.starts_with(c));
    let has_port = after.strip_prefix(':').is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
    let is_machine = |label: &str| {
        label.contains('-')
            || (label.starts_with(|c: char| c.is_ascii_lowercase())
                && label.ends_with(|c: char| c.is_ascii_digit()))
    };
    !is_member
        || before.ends_with("//")
        || last == Some('@')
        || is_quoted
        || has_port
        || name.split('.').any(is_machine)
}
