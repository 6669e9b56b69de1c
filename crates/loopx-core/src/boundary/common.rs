//! Owns what has the form of something private and tells nothing: what is the same on every machine, and what examples
//! write in the place of a value.
//!
//! Knows nothing of where it stands beyond its line. A text that becomes a fact is screened without this: there, too
//! much costs a word; in a scan of many files, it costs the reader's trust.

use std::net::IpAddr;

use super::credential::Credential;

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
const TELLING_WORDS: &[&str] = &[
    "your", "my", "fake", "dummy", "sample", "insert", "replace", "test", "testing", "mock", "foo", "bar",
    "demo",
];
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
    let lower = value.to_ascii_lowercase();
    let is_word = |word: &&str| {
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        lower.match_indices(*word).any(|(at, _)| {
            let (start, end) = (lower.get(..at), lower.get(at + word.len()..));
            ends(start.and_then(|start| start.chars().next_back()))
                && ends(end.and_then(|end| end.chars().next()))
        })
    };
    let told =
        TELLING.iter().any(|word| lower.contains(word)) || TELLING_WORDS.iter().any(|word| is_word(word));
    match kind {
        // The key is what follows; there is no telling.
        Credential::PrivateKey => false,
        Credential::UrlPassword => told || is_url_password(before, &lower, after),
        Credential::Assignment
        | Credential::Authorization
        | Credential::Chat
        | Credential::Cloud
        | Credential::Forge
        | Credential::Model
        | Credential::Payment
        | Credential::Registry
        | Credential::WebToken => told || counts(value),
    }
}

fn is_url_password(before: &str, password: &str, after: &str) -> bool {
    let user = before.trim_end_matches(':').rsplit(['/', ':']).next().unwrap_or_default();
    let rest = after.trim_start_matches('@');
    let end =
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))).unwrap_or(rest.len());
    let host = rest.get(..end).unwrap_or_default().to_ascii_lowercase();
    let is_reserved =
        |end: &&str| host.strip_suffix(*end).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    password.len() < 4
        || password.eq_ignore_ascii_case(user)
        || PASSWORDS.contains(&password)
        || RESERVED.iter().any(is_reserved)
}

/// Whether a value counts up, as `12345678`, `abcdefgh` and `a1b2c3d4` do.
fn counts(value: &str) -> bool {
    let steps = |width: usize| {
        let mut run = 0;
        let pairs = value.bytes().zip(value.bytes().skip(width));
        pairs
            .map(|(one, next)| {
                let is_step =
                    one.to_ascii_lowercase() + 1 == next.to_ascii_lowercase() || (one, next) == (b'9', b'0');
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
    if lower.starts_with("file://") && !lower.starts_with("file:///") {
        return parts.get(1).is_none_or(|machine| MACHINES.contains(machine) || is_template(machine));
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

/// Whether an address or a name is one that every network has.
pub(super) fn is_host(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if HOSTS.contains(&lower.as_str()) || lower.ends_with(CLUSTER) || ADDRESSES.contains(&lower.as_str()) {
        return true;
    }
    match lower.split('%').next().unwrap_or_default().parse() {
        // The network itself.
        Ok(IpAddr::V6(address)) => address.segments().iter().skip(1).all(|segment| *segment == 0),
        Ok(IpAddr::V4(_)) => false,
        Err(_) => {
            lower.split('.').next().is_some_and(|label| MACHINES.contains(&label) || is_template(label))
        }
    }
}
