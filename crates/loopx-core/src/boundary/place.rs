//! Owns what names a place on somebody's machine or network, and taking it out of a text.
//!
//! Knows nothing of credentials. Only private places count: a system path such as `/usr/bin/env`, a relative path, a
//! route, a loopback or public address tells nothing about the owner.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

/// What a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A path of a machine.
    Path,
    /// An address or a name of a network.
    Host,
}

impl Place {
    const fn placeholder(self) -> &'static str {
        match self {
            Self::Path => "[path]",
            Self::Host => "[host]",
        }
    }
}

/// A place that stands in a text: what of the text it is, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) kind: Place,
    pub(super) at: Range<usize>,
}

/// Roots that are private by themselves.
const ROOTS: &[&str] = &["root", "tmp", "var/tmp", "var/folders", "private/tmp", "private/var", "run/user"];
/// Roots below which the next part is somebody's name.
const HOMES: &[&str] = &["home", "Users", "var/home", "export/home", "usr/home", "mnt", "media", "Volumes"];
/// Folders of a Windows drive that are private.
const DRIVE_ROOTS: &[&str] = &["users", "documents and settings", "temp", "tmp", "windows\\temp"];
/// The ends of names that only a private network resolves.
const HOST_ENDS: &[&str] =
    &[".local", ".internal", ".lan", ".corp", ".intranet", ".localdomain", ".home.arpa"];

/// How far a quoted path is looked for its closing quote.
const QUOTE_MAX_BYTES: usize = 512;

/// How often a text is gone through again. Two were never seen to be needed outside of random texts.
const PASSES_MAX: usize = 16;

/// Replaces every private place and counts them.
pub(super) fn redact(text: &str) -> (String, usize) {
    let (mut text, mut count) = redact_once(text);
    let mut fresh = count;
    // A replacement is a new neighbour: `fd00::1.local` is no address, but `fd00::` before a `[host]` is.
    for _ in 1..PASSES_MAX {
        if fresh == 0 {
            break;
        }
        (text, fresh) = redact_once(&text);
        count += fresh;
    }
    (text, count)
}

fn redact_once(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // Judged by what has been written, not by what was read: so a second pass judges the same.
        let before = Before::of(&out);
        let skipped = if let Some((length, kind)) = here(&before, rest) {
            out.push_str(kind.placeholder());
            count += 1;
            length
        } else {
            let length = passed(first, rest);
            out.push_str(rest.get(..length).unwrap_or_default());
            length
        };
        rest = rest.get(skipped..).unwrap_or_default();
    }
    (out, count)
}

/// All places of a text, in their order; none overlaps the next.
pub(super) fn spots(text: &str) -> Vec<Spot> {
    let (mut spots, mut at) = (Vec::new(), 0);
    while let Some((done, rest)) = text.split_at_checked(at) {
        let Some(first) = rest.chars().next() else { break };
        at += match here(&Before::of(done), rest) {
            Some((length, kind)) => {
                spots.push(Spot { kind, at: at..at + length });
                // A place is never empty; were one, the scan would still end.
                length.max(first.len_utf8())
            }
            None => passed(first, rest),
        };
    }
    spots
}

/// The place that begins here, and its length.
fn here(before: &Before, rest: &str) -> Option<(usize, Place)> {
    if !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '\\' | ':')) {
        return None;
    }
    path(before, rest).map(|length| (length, Place::Path)).or_else(|| {
        let length = address(before, rest).or_else(|| host(before, rest));
        length.map(|length| (length, Place::Host))
    })
}

/// How much is passed over where no place begins. A word that named no place names none from its middle either, unless
/// a hyphen divides it.
fn passed(first: char, rest: &str) -> usize {
    let word = rest.find(|c| !is_name(c) || c == '-').unwrap_or(rest.len());
    word.max(first.len_utf8())
}

/// What stands before the place that is looked at.
struct Before {
    last: Option<char>,
    last_but_one: Option<char>,
}

impl Before {
    fn of(out: &str) -> Self {
        let mut back = out.chars().rev();
        Self { last: back.next(), last_but_one: back.next() }
    }

    fn is(&self, test: impl Fn(char) -> bool) -> bool {
        self.last.is_some_and(test)
    }
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn name_run(rest: &str) -> &str {
    rest.get(..rest.find(|c| !is_name(c)).unwrap_or(rest.len())).unwrap_or_default()
}

fn path(before: &Before, rest: &str) -> Option<usize> {
    let inside = before.is(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '\\' | '~' | '}'));
    if inside {
        return None;
    }
    let scheme = rest.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://"));
    if scheme || is_private_posix(before, rest) || is_private_drive(rest) || is_share(rest) {
        return Some(path_length(before, rest));
    }
    None
}

fn is_private_posix(before: &Before, rest: &str) -> bool {
    let inner = rest.trim_start_matches('/');
    let slashes = rest.len() - inner.len();
    // Two slashes after a colon begin the host of a URL.
    if slashes == 0 || (slashes == 2 && before.last == Some(':')) {
        return false;
    }
    let below = |root: &&str| inner.strip_prefix(*root);
    let is_end = |after: &str| after.chars().next().is_none_or(|c| !is_name(c));
    let is_below = |after: &str| {
        let name = after.trim_start_matches('/');
        name.len() < after.len() && name.chars().next().is_some_and(is_path_char)
    };
    ROOTS.iter().filter_map(below).any(is_end) || HOMES.iter().filter_map(below).any(is_below)
}

fn is_private_drive(rest: &str) -> bool {
    let mut chars = rest.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let inner = chars.as_str();
    let folder = inner.trim_start_matches(['\\', '/']);
    drive
        && folder.len() < inner.len()
        && DRIVE_ROOTS.iter().any(|root| {
            let start = folder.get(..root.len()).map(|start| start.replace('/', "\\"));
            let after = folder.get(root.len()..).and_then(|after| after.chars().next());
            start.is_some_and(|start| start.eq_ignore_ascii_case(root)) && after.is_none_or(|c| !is_name(c))
        })
}

/// A Windows share, `\\machine\folder`, each backslash once, or twice as in a quoted text.
fn is_share(rest: &str) -> bool {
    let inner = rest.trim_start_matches('\\');
    let separator = match rest.len() - inner.len() {
        2 => "\\",
        4 => "\\\\",
        _ => return false,
    };
    // The share of a subsystem ends its name with a dollar sign.
    let machine = name_run(inner);
    let after = inner.get(machine.len()..).unwrap_or_default();
    let folder = after.strip_prefix('$').unwrap_or(after).strip_prefix(separator);
    machine.len() >= 3 && folder.is_some_and(|folder| folder.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn is_path_char(c: char) -> bool {
    !c.is_whitespace()
        && !matches!(
            c,
            '"' | '\''
                | '`'
                | '<'
                | '>'
                | '|'
                | ','
                | ';'
                | ':'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '*'
                | '?'
        )
}

fn path_length(before: &Before, rest: &str) -> usize {
    if let Some(quote) = before.last.filter(|c| matches!(c, '"' | '\'' | '`')) {
        let near = rest.char_indices().take_while(|(at, c)| *at <= QUOTE_MAX_BYTES && *c != '\n');
        if let Some((end, _)) = near.skip(1).find(|(_, c)| *c == quote) {
            return end;
        }
    }
    // The colon of a scheme or a drive belongs to the path; a later one begins a line number.
    let colon = |at: &usize| rest.as_bytes().get(*at) == Some(&b':') && !rest.starts_with('/');
    let start = [1, 4].into_iter().find(colon).map_or(0, |at| at + 1);
    let mut escaped = false;
    let body = rest.get(start..).unwrap_or_default();
    let end = body.find(|c| {
        let inside = is_path_char(c) || (escaped && c == ' ');
        escaped = c == '\\';
        !inside
    });
    let body = body.get(..end.unwrap_or(body.len())).unwrap_or_default();
    start + body.trim_end_matches(['.', '!', ' ']).len()
}

fn address(before: &Before, rest: &str) -> Option<usize> {
    let is_v6 = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.');
    let hex = |c: Option<char>| c.is_some_and(|c| c.is_ascii_hexdigit() || c == ':');
    if before.is(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
        return None;
    }
    let within_v6 = before.last == Some(':') && hex(before.last_but_one);
    // From within, a long run of colons would be read again at each of them.
    let whole = if within_v6 { "" } else { rest };
    let run = whole.get(..whole.find(|c| !is_v6(c)).unwrap_or(whole.len()))?;
    let word_goes_on = rest.get(run.len()..)?.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let run = run.trim_end_matches('.');
    if run.matches(':').count() >= 2 && !word_goes_on {
        let exact = [run, run.strip_suffix(':').unwrap_or(run)];
        let found = exact.iter().find(|text| text.parse().is_ok_and(is_private));
        if let Some(text) = found {
            let zone = rest.get(text.len()..).and_then(|after| after.strip_prefix('%'));
            return Some(text.len() + zone.map_or(0, |zone| 1 + name_run(zone).len()));
        }
    }
    let digits = rest.get(..rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len()))?;
    let goes_on = rest.get(digits.len()..)?.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let text = digits.trim_end_matches('.');
    let private = text.parse::<Ipv4Addr>().is_ok_and(|address| is_private(IpAddr::V4(address)));
    (private && !goes_on).then_some(text.len())
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private() || v4.is_link_local() || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local() || mapped(v6),
    }
}

fn mapped(v6: Ipv6Addr) -> bool {
    v6.to_ipv4_mapped().is_some_and(|v4| is_private(IpAddr::V4(v4)))
}

fn host(before: &Before, rest: &str) -> Option<usize> {
    if before.is(|c| c.is_alphanumeric() || is_name(c)) {
        return None;
    }
    let run = name_run(rest);
    let called = rest.get(run.len()..)?.starts_with('(');
    let name = run.trim_end_matches('.');
    let lower = name.to_ascii_lowercase();
    let private = HOST_ENDS.iter().filter_map(|end| lower.strip_suffix(end)).any(|label| {
        label.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !label.contains("..")
            && !label.ends_with('.')
    });
    (private && !called).then_some(name.len())
}
