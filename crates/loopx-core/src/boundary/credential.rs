//! Owns what a credential looks like.
//!
//! Knows nothing of what is done about one. The forms are those their issuers publish; a random-looking word alone is
//! no credential, for git hashes, digests and ids look just so.

use std::fmt;

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

type Alphabet = fn(u8) -> bool;

const fn upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}
const fn alnum(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}
const fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}
const fn dotted(b: u8) -> bool {
    word(b) || matches!(b, b'.' | b'/' | b'+' | b'~' | b'=' | b':')
}

/// Fixed beginnings: the text, what may follow, how much of it at least, the kind.
const BEGINNINGS: &[(&str, Alphabet, usize, Credential)] = &[
    ("AKIA", upper, 16, Credential::Cloud),
    ("ASIA", upper, 16, Credential::Cloud),
    ("ABIA", upper, 16, Credential::Cloud),
    ("ACCA", upper, 16, Credential::Cloud),
    ("AIza", word, 35, Credential::Cloud),
    ("ya29.", dotted, 20, Credential::Cloud),
    ("GOCSPX-", word, 20, Credential::Cloud),
    ("dop_v1_", alnum, 40, Credential::Cloud),
    ("SG.", dotted, 40, Credential::Cloud),
    ("ghp_", alnum, 36, Credential::Forge),
    ("gho_", alnum, 36, Credential::Forge),
    ("ghu_", alnum, 36, Credential::Forge),
    ("ghs_", alnum, 36, Credential::Forge),
    ("ghr_", alnum, 36, Credential::Forge),
    ("github_pat_", word, 22, Credential::Forge),
    ("glpat-", word, 20, Credential::Forge),
    ("gldt-", word, 20, Credential::Forge),
    ("glrt-", word, 20, Credential::Forge),
    ("glptt-", word, 20, Credential::Forge),
    ("glcbt-", word, 20, Credential::Forge),
    ("gloas-", word, 20, Credential::Forge),
    ("xoxb-", word, 10, Credential::Chat),
    ("xoxp-", word, 10, Credential::Chat),
    ("xoxa-", word, 10, Credential::Chat),
    ("xoxr-", word, 10, Credential::Chat),
    ("xoxs-", word, 10, Credential::Chat),
    ("xoxe-", word, 10, Credential::Chat),
    ("xoxe.", dotted, 10, Credential::Chat),
    ("xapp-", word, 10, Credential::Chat),
    ("hooks.slack.com/services/", dotted, 20, Credential::Chat),
    ("discord.com/api/webhooks/", dotted, 30, Credential::Chat),
    ("sk_live_", alnum, 16, Credential::Payment),
    ("sk_test_", alnum, 16, Credential::Payment),
    ("rk_live_", alnum, 16, Credential::Payment),
    ("rk_test_", alnum, 16, Credential::Payment),
    ("whsec_", dotted, 16, Credential::Payment),
    ("npm_", alnum, 36, Credential::Registry),
    ("pypi-", word, 50, Credential::Registry),
    ("dckr_pat_", word, 20, Credential::Registry),
    ("sk-ant-", word, 20, Credential::Model),
    ("sk-proj-", word, 20, Credential::Model),
    ("sk-svcacct-", word, 20, Credential::Model),
    ("sk-or-v1-", alnum, 32, Credential::Model),
    ("sk-", alnum, 32, Credential::Model),
    ("hf_", alnum, 30, Credential::Model),
    ("gsk_", alnum, 32, Credential::Model),
    ("xai-", alnum, 32, Credential::Model),
    ("AGE-SECRET-KEY-1", upper, 40, Credential::PrivateKey),
];

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
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "credential",
    "credentials",
];

/// How far one look goes; longer words are judged by their beginning, so that no text makes the scan quadratic.
const LOOK_MAX_BYTES: usize = 256;

/// The first kind of credential found in a text.
pub(super) fn find(text: &str) -> Option<Credential> {
    let bytes = text.as_bytes();
    let mut previous = b' ';
    for (at, byte) in bytes.iter().enumerate() {
        let here = bytes.get(at..).unwrap_or_default();
        let found = match byte {
            b'-' => private_key(here),
            b':' if here.starts_with(b"://") => url_password(here),
            _ => None,
        };
        let found = found.or_else(|| match byte {
            b'=' | b':' => assignment(bytes.get(..at).unwrap_or_default(), here),
            _ if alnum(previous) => None,
            b'e' => web_token(here),
            b'b' | b'B' => bearer(here),
            _ => None,
        });
        let found = found.or_else(|| if alnum(previous) { None } else { beginning(here) });
        if found.is_some() {
            return found;
        }
        previous = *byte;
    }
    None
}

fn beginning(here: &[u8]) -> Option<Credential> {
    BEGINNINGS.iter().find_map(|(text, alphabet, least, kind)| {
        let run = run(here.strip_prefix(text.as_bytes())?, *alphabet);
        (run.len() >= *least && distinct(run) >= 5 && run.iter().any(u8::is_ascii_digit)).then_some(*kind)
    })
}

fn private_key(here: &[u8]) -> Option<Credential> {
    let line = run(here.strip_prefix(b"-----BEGIN ")?, |b| matches!(b, b'A'..=b'Z' | b'0'..=b'9' | b' '));
    line.windows(11).any(|part| part == b"PRIVATE KEY").then_some(Credential::PrivateKey)
}

fn web_token(here: &[u8]) -> Option<Credential> {
    // Both parts are objects, and an object that begins with a quoted name begins so in base64.
    let segment = |rest| {
        let part = run_up_to(rest, word, 4096);
        (part.len() >= 10 && part.starts_with(b"eyJ")).then_some(part.len())
    };
    let header = segment(here)?;
    let rest = here.get(header..)?.strip_prefix(b".")?;
    let body = segment(rest)?;
    let signature = run(rest.get(body..)?.strip_prefix(b".")?, word);
    (signature.len() >= 10).then_some(Credential::WebToken)
}

fn bearer(here: &[u8]) -> Option<Credential> {
    let rest = here.get(6..)?;
    if !here.get(..6)?.eq_ignore_ascii_case(b"bearer") || !rest.starts_with(b" ") {
        return None;
    }
    let value = run(rest.trim_ascii_start(), dotted);
    random(value, 16, 8).then_some(Credential::Authorization)
}

fn url_password(here: &[u8]) -> Option<Credential> {
    let authority = run(here.strip_prefix(b"://")?, |b| {
        !b.is_ascii_whitespace()
            && !matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b')')
    });
    let at = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority.iter().take(at).position(|b| *b == b':')?;
    let password = authority.get(colon + 1..at)?;
    (!password.is_empty() && !is_placeholder(password)).then_some(Credential::UrlPassword)
}

/// A value given to a telling name, with `=`, `:`, `:=` or `=>`, quoted or not.
fn assignment(before: &[u8], here: &[u8]) -> Option<Credential> {
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
        return (run(value, dotted).len() >= 8).then_some(Credential::Authorization);
    }
    let value = run(value, |b| {
        !b.is_ascii_whitespace()
            && !matches!(
                b,
                b'"' | b'\'' | b'`' | b',' | b';' | b'(' | b')' | b'&' | b']' | b'}' | b'<' | b'>' | b'\\'
            )
    });
    let told = (ends(PASSWORDS) && random(value, 8, 5)) || (ends(SECRETS) && random(value, 16, 8));
    (told && !is_placeholder(value)).then_some(Credential::Assignment)
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
