//! Owns looking at a line of a file: what in it must not be public, and an excerpt that does not show it.
//!
//! Knows nothing of files. What a credential or a place looks like, the screen's own detectors say.

use std::{fmt, ops::Range};

use super::{
    credential::{self, Credential},
    harmless,
    place::{self, Place},
    visible,
};

/// What must not be public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leak {
    /// A credential.
    Credential(Credential),
    /// A path of somebody's machine.
    Path,
    /// An address or a name of somebody's network.
    Host,
}

impl Leak {
    /// The kind as one stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Credential(kind) => kind.as_str(),
            Self::Path => "private_path",
            Self::Host => "private_host",
        }
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One leak of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaked {
    /// What it is.
    pub kind: Leak,
    /// How many characters of the line stand before it.
    pub after_chars: usize,
    /// The line around it, with the kind in the place of whatever must not be shown.
    pub excerpt: String,
}

/// How much of the line an excerpt shows on each side, in characters.
const AROUND_CHARS: usize = 32;

/// Finds what must not be public in a line, in its order. What tells nothing is left out.
///
/// Invariant: no excerpt shows any part of what was found anywhere in the line.
pub fn inspect(line: &str) -> Vec<Leaked> {
    let stripped = visible::stripped(line);
    let text = stripped.as_str();
    let found = found(text);
    let hidden = joined(&found);
    let mut chars = Chars::of(line, text);
    found
        .into_iter()
        .filter(|(kind, at)| !is_harmless(*kind, text, at))
        .map(|(kind, at)| Leaked {
            kind,
            after_chars: chars.before(at.start),
            excerpt: excerpt(text, &hidden, &at, kind),
        })
        .collect()
}

/// All that the detectors find, by where it begins; a place within a credential is the credential's.
fn found(text: &str) -> Vec<(Leak, Range<usize>)> {
    let mut secrets = credential::spots(text).peekable();
    let mut found = Vec::new();
    let leak = |kind| match kind {
        Place::Path => Leak::Path,
        Place::Host => Leak::Host,
    };
    let mut last = 0..0;
    for place::Spot { kind, at } in place::spots(text) {
        while let Some(secret) = secrets.next_if(|secret| secret.place.start <= at.start) {
            last = secret.place.clone();
            found.push((Leak::Credential(secret.kind), secret.place));
        }
        if at.end > last.end {
            found.push((leak(kind), at));
        }
    }
    found.extend(secrets.map(|secret| (Leak::Credential(secret.kind), secret.place)));
    found
}

/// What an excerpt hides: as found, with what overlaps made one.
fn joined(found: &[(Leak, Range<usize>)]) -> Vec<(Leak, Range<usize>)> {
    let mut joined: Vec<(Leak, Range<usize>)> = Vec::new();
    for (kind, at) in found {
        match joined.last_mut() {
            Some((_, last)) if at.start < last.end => last.end = last.end.max(at.end),
            Some(_) | None => joined.push((*kind, at.clone())),
        }
    }
    joined
}

fn is_harmless(kind: Leak, text: &str, at: &Range<usize>) -> bool {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let (before, value, after) = (part(0..at.start), part(at.clone()), part(at.end..text.len()));
    match kind {
        Leak::Credential(kind) => harmless::is_credential(kind, before, value, after),
        Leak::Path => harmless::is_path(value),
        Leak::Host => harmless::is_host(before, value, after),
    }
}

/// Counts the characters of a line that stand before places of it, which come in their order.
struct Chars<'t> {
    line: std::iter::Peekable<std::str::Chars<'t>>,
    text: &'t str,
    /// Whether the text is the line without what hides in it.
    is_stripped: bool,
    at: usize,
    count: usize,
}

impl<'t> Chars<'t> {
    fn of(line: &'t str, text: &'t str) -> Self {
        Self { line: line.chars().peekable(), text, is_stripped: line.len() != text.len(), at: 0, count: 0 }
    }

    fn before(&mut self, place: usize) -> usize {
        let kept = self.text.get(self.at..place).unwrap_or_default();
        self.at = place.max(self.at);
        if !self.is_stripped {
            self.count += kept.chars().count();
            return self.count;
        }
        // What was stripped stood between: each kept character is looked up again.
        for c in kept.chars() {
            self.skip_to(c);
            self.count += usize::from(self.line.next().is_some());
        }
        if let Some(first) = self.text.get(place..).and_then(|rest| rest.chars().next()) {
            self.skip_to(first);
        }
        self.count
    }

    fn skip_to(&mut self, kept: char) {
        while self.line.next_if(|c| *c != kept).is_some() {
            self.count += 1;
        }
    }
}

/// The text around a place, with all that is `hidden` replaced by its kind.
fn excerpt(text: &str, hidden: &[(Leak, Range<usize>)], around: &Range<usize>, kind: Leak) -> String {
    // The last that begins no later holds the place.
    let own = hidden.partition_point(|(_, at)| at.start <= around.start).saturating_sub(1);
    let whole = hidden.get(own).map_or(around, |(_, at)| at);
    let (mut head, mut rest) = (Vec::new(), text.get(..whole.start).unwrap_or_default());
    for (kind, at) in hidden.iter().take(own).rev() {
        if head.len() >= AROUND_CHARS {
            break;
        }
        head.extend(rest.get(at.end..).unwrap_or_default().chars().rev().take(AROUND_CHARS));
        head.extend(format!("[{kind}]").chars().rev());
        rest = rest.get(..at.start).unwrap_or_default();
    }
    head.extend(rest.chars().rev().take(AROUND_CHARS + 1));
    let is_head_cut = head.len() > AROUND_CHARS;
    let head: String = head.into_iter().take(AROUND_CHARS).collect::<Vec<_>>().into_iter().rev().collect();
    let (mut tail, mut from) = (Vec::new(), whole.end);
    for (kind, at) in hidden.iter().skip(own + 1) {
        if tail.len() >= AROUND_CHARS {
            break;
        }
        tail.extend(text.get(from..at.start).unwrap_or_default().chars().take(AROUND_CHARS));
        tail.extend(format!("[{kind}]").chars());
        from = at.end;
    }
    tail.extend(text.get(from..).unwrap_or_default().chars().take(AROUND_CHARS + 1));
    let is_tail_cut = tail.len() > AROUND_CHARS;
    let tail: String = tail.into_iter().take(AROUND_CHARS).collect();
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}[{kind}]{}{}", dots(is_head_cut), head.trim_start(), tail.trim_end(), dots(is_tail_cut))
}

#[cfg(test)]
mod tests;
