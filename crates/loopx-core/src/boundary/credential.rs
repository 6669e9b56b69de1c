//! Owns what a credential looks like.
//!
//! Knows nothing of what is done about one. The forms are those their issuers publish; a random-looking word alone is
//! no credential, for git hashes, digests and ids look just so.

use std::{fmt, ops::Range};

use super::forms::{BEGINNINGS, Form, alnum, dotted, is_first, word};

/// The kinds of credential the screen knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// An access key of a cloud or platform.
    Cloud,
    /// A token of a code forge.
    Forge,
    /// A token or webhook of a chat service.
    Chat,
    /// A key of a payment service.
    Payment,
    /// A token of a package registry.
    Registry,
    /// A key of a model provider.
    Model,
    /// A signed web token.
    WebToken,
    /// A private key in text form.
    PrivateKey,
    /// The value of an authorization header.
    Authorization,
    /// A password inside a URL.
    UrlPassword,
    /// A random-looking value given to a name such as `password` or `secret`.
    Assignment,
}

impl Credential {
    /// The kind as one stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Forge => "forge",
            Self::Chat => "chat",
            Self::Payment => "payment",
            Self::Registry => "registry",
            Self::Model => "model",
            Self::WebToken => "web_token",
            Self::PrivateKey => "private_key",
            Self::Authorization => "authorization",
            Self::UrlPassword => "url_password",
            Self::Assignment => "assignment",
        }
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names whose values are passwords: chosen by people, so short ones count.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd"];
/// Names whose values are machine-made. Compared after separators are taken out.
const SECRETS: &[&str] = &[
    "secret",
    "secretkey",
    "token",
    "apikey",
    "accesskey",
    "accesskeyid",
    "accountkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "credential",
    "credentials",
];

/// How far one look goes; longer words are judged by their beginning, so that no text makes the scan quadratic.
const LOOK_MAX_BYTES: usize = 256;

/// A credential that stands in a text: what of the text it is, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) kind: Credential,
    pub(super) place: Range<usize>,
}

/// The first kind of credential found in a text.
pub(super) fn find(text: &str) -> Option<Credential> {
    spots(text).next().map(|spot| spot.kind)
}

/// All credentials of a text, in their order; none overlaps the next.
pub(super) fn spots(text: &str) -> impl Iterator<Item = Spot> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let spot = next(text.as_bytes(), from)?;
        from = spot.place.end;
        Some(spot)
    })
}

fn next(bytes: &[u8], from: usize) -> Option<Spot> {
    let mut previous = from.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        let here = bytes.get(at..).unwrap_or_default();
        let found = match byte {
            b'-' => private_key(here),
            b':' if here.starts_with(b"://") => url_password(here),
            b'P' => putty_key(here),
            _ => None,
        };
        let found = found.or_else(|| match byte {
            b'=' | b':' => assignment(bytes.get(..at).unwrap_or_default(), here),
            _ if alnum(previous) => None,
            b'e' => web_token(here),
            b'b' | b'B' => bearer(here),
            b'0'..=b'9' => bot_token(here),
            _ => None,
        });
        let found =
            found.or_else(|| if is_first(*byte) && !alnum(previous) { beginning(here) } else { None });
        if let Some(Found { kind, from, length }) = found {
            return Some(Spot { kind, place: at + from..at + from + length });
        }
        previous = *byte;
    }
    None
}

/// What a matcher found, from where it looked.
struct Found {
    kind: Credential,
    from: usize,
    length: usize,
}

impl Found {
    /// Of a value that was judged by its beginning: all of it, however long it is.
    fn whole(kind: Credential, from: usize, rest: &[u8], of: impl Fn(u8) -> bool) -> Self {
        Self { kind, from, length: rest.iter().take_while(|byte| of(**byte)).count() }
    }
}

fn beginning(here: &[u8]) -> Option<Found> {
    let fitting = |form: &&Form| here.starts_with(form.begins.as_bytes());
    BEGINNINGS.iter().filter(fitting).find_map(|form| {
        let rest = here.get(form.begins.len()..)?;
        let run = run(rest, form.of);
        let fits = if form.is_exact { run.len() == form.least } else { run.len() >= form.least };
        let is_random = is_mixed(run) || (form.is_exact && distinct(run) >= 8);
        (fits && distinct(run) >= 5 && is_random).then(|| {
            let tail = Found::whole(form.kind, 0, rest, form.of);
            Found { length: form.begins.len() + tail.length, ..tail }
        })
    })
}

fn private_key(here: &[u8]) -> Option<Found> {
    let line = run(here.strip_prefix(b"-----BEGIN ")?, |b| matches!(b, b'A'..=b'Z' | b'0'..=b'9' | b' '));
    let is_private = line.windows(11).any(|part| part == b"PRIVATE KEY");
    // Where a key stands in one line, all that follows is the key.
    is_private.then(|| {
        let line = Found::whole(Credential::PrivateKey, 0, here, |b| b != b'\n');
        let body = here.get(..line.length).unwrap_or_default();
        let end = body.windows(PEM_END.len()).position(|part| part == PEM_END);
        Found { length: end.map_or(line.length, |end| end + PEM_END.len()), ..line }
    })
}

/// How the last line of a key begins.
const PEM_END: &[u8] = b"-----END ";

/// A key file says which version of its form it has.
fn putty_key(here: &[u8]) -> Option<Found> {
    let begins = matches!(here.strip_prefix(b"PuTTY-User-Key-File-"), Some([b'0'..=b'9', b':', ..]));
    begins.then(|| Found::whole(Credential::PrivateKey, 0, here, |b| b != b'\n'))
}

fn web_token(here: &[u8]) -> Option<Found> {
    // Both parts are objects, and an object that begins with a quoted name begins so in base64.
    let segment = |rest| {
        let part = run_up_to(rest, word, 4096);
        (part.len() >= 10 && part.starts_with(b"eyJ")).then_some(part.len())
    };
    let header = segment(here)?;
    let rest = here.get(header..)?.strip_prefix(b".")?;
    let body = segment(rest)?;
    let signature = run(rest.get(body..)?.strip_prefix(b".")?, word);
    let all = |b| word(b) || b == b'.';
    (signature.len() >= 10).then(|| Found::whole(Credential::WebToken, 0, here, all))
}

fn bearer(here: &[u8]) -> Option<Found> {
    let rest = here.get(6..)?;
    if !here.get(..6)?.eq_ignore_ascii_case(b"bearer") || !rest.starts_with(b" ") {
        return None;
    }
    let value = rest.trim_ascii_start();
    let from = here.len() - value.len();
    random(run(value, dotted), 16, 8).then(|| Found::whole(Credential::Authorization, from, value, dotted))
}

/// The token of a chat bot: its number, a colon, and 35 characters.
fn bot_token(here: &[u8]) -> Option<Found> {
    let number = run(here, |b| b.is_ascii_digit()).len();
    let secret = run(here.get(number..)?.strip_prefix(b":")?, word);
    let fits = (8..=10).contains(&number) && secret.len() == 35 && secret.starts_with(b"AA");
    let all = |b| word(b) || b == b':';
    (fits && is_mixed(secret)).then(|| Found::whole(Credential::Chat, 0, here, all))
}

fn url_password(here: &[u8]) -> Option<Found> {
    let authority = run(here.strip_prefix(b"://")?, |b| {
        !b.is_ascii_whitespace()
            && !matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b')')
    });
    let at = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority.iter().take(at).position(|b| *b == b':')?;
    let password = authority.get(colon + 1..at)?;
    let is_told = !password.is_empty() && !is_placeholder(password);
    is_told.then(|| Found { kind: Credential::UrlPassword, from: 3 + colon + 1, length: password.len() })
}

/// A value given to a telling name, with `=`, `:`, `:=` or `=>`, quoted or not.
fn assignment(before: &[u8], here: &[u8]) -> Option<Found> {
    // A quote around the name, and a backslash where the whole is quoted once more.
    let quote = |b: &u8| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'\\');
    let quotes = before.iter().rev().take(8).take_while(|b| quote(b)).count();
    let before = before.get(..before.len().saturating_sub(quotes)).unwrap_or_default();
    let name = before.iter().rev().take(64).take_while(|b| word(**b) || **b == b'.');
    let mut name: Vec<u8> = name.filter(|b| alnum(**b)).map(u8::to_ascii_lowercase).collect();
    name.reverse();
    let ends = |names: &[&str]| names.iter().any(|each| name.ends_with(each.as_bytes()));
    let value = here.get(1..)?;
    let value = value.strip_prefix(b"=").or_else(|| value.strip_prefix(b">")).unwrap_or(value);
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\');
    let value = value.get(value.iter().take(LOOK_MAX_BYTES).take_while(|b| blank(b)).count()..)?;
    if name.ends_with(b"authorization") {
        let value = value.strip_prefix(b"Basic ").or_else(|| value.strip_prefix(b"token "))?;
        let whole = || Found::whole(Credential::Authorization, here.len() - value.len(), value, dotted);
        return (run(value, dotted).len() >= 8).then(whole);
    }
    let start = here.len() - value.len();
    let judged = run(value, is_value);
    let told = (ends(PASSWORDS) && random(judged, 8, 5)) || (ends(SECRETS) && random(judged, 16, 8));
    (told && !is_placeholder(judged)).then(|| {
        let whole = Found::whole(Credential::Assignment, start, value, is_value);
        // What is a credential by its own form is named by it.
        let own = beginning(value).or_else(|| web_token(value)).map_or(whole.kind, |own| own.kind);
        Found { kind: own, ..whole }
    })
}

/// Whether a byte can stand in a value that is given to a name.
const fn is_value(b: u8) -> bool {
    !b.is_ascii_whitespace()
        && !matches!(
            b,
            b'"' | b'\'' | b'`' | b',' | b';' | b'(' | b')' | b'&' | b']' | b'}' | b'<' | b'>' | b'\\'
        )
}

/// Whether a run is of the make of a random one: no word, and no name of words.
fn is_mixed(run: &[u8]) -> bool {
    let cases = run.iter().any(u8::is_ascii_uppercase) && run.iter().any(u8::is_ascii_lowercase);
    run.iter().any(u8::is_ascii_digit) || (cases && distinct(run) >= 8)
}

/// Whether a value looks made to be secret: long, of many characters, letters and digits mixed.
fn random(value: &[u8], least: usize, least_distinct: usize) -> bool {
    value.len() >= least
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && distinct(value) >= least_distinct
}

/// A variable, a template, a mask or a file name stands where the secret would.
fn is_placeholder(value: &[u8]) -> bool {
    let is_path = value.starts_with(b"/") && !value.contains(&b'+') && !value.ends_with(b"=");
    is_path
        || matches!(value.first(), Some(b'$' | b'<' | b'{' | b'[' | b'%' | b'*' | b'.'))
        || (value.len() >= 3 && distinct(value) < 2)
}

fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    for byte in value {
        if let Some(slot) = seen.get_mut(usize::from(*byte)) {
            *slot = true;
        }
    }
    seen.iter().filter(|each| **each).count()
}

fn run(rest: &[u8], alphabet: impl Fn(u8) -> bool) -> &[u8] {
    run_up_to(rest, alphabet, LOOK_MAX_BYTES)
}

fn run_up_to(rest: &[u8], alphabet: impl Fn(u8) -> bool, most: usize) -> &[u8] {
    let length = rest.iter().take(most).take_while(|b| alphabet(**b)).count();
    rest.get(..length).unwrap_or_default()
}
