//! Owns which parts of a text could act on a terminal or deceive a reader's eyes.
//!
//! Knows nothing of secrets, and not how such a part is shown. Hostile are terminal sequences, control characters, and
//! characters that reorder or hide what stands around them.

use std::{iter::Peekable, str::Chars};

/// Takes everything hostile out, so that nothing can hide a word from the screen.
pub(super) fn stripped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' => {
                if rest.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => skip_sequence(c, &mut rest),
            c if is_joiner(c) => join(c, &mut rest, &mut out),
            c if is_hostile(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Skips the rest of a terminal sequence; one that does not end, ends with its line.
fn skip_sequence(first: char, rest: &mut Peekable<Chars<'_>>) {
    let kind = match first {
        '\u{1b}' => match rest.next_if(|c| ('\u{20}'..='\u{7e}').contains(c)) {
            Some(kind) => kind,
            None => return,
        },
        '\u{9b}' => '[',
        _ => ']',
    };
    match kind {
        '[' => {
            while rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
            rest.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            while let Some(c) = rest.next_if(|c| *c != '\n') {
                if matches!(c, '\u{7}' | '\u{9c}') || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        ' '..='/' => {
            while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
            rest.next_if(|c| ('0'..='~').contains(c));
        }
        _ => {}
    }
}

/// Joiners belong to some scripts and to composed emoji, and to nothing beside an ASCII character.
fn join(first: char, rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    while rest.next_if(|c| is_joiner(*c)).is_some() {}
    let foreign = |c: Option<&char>| c.is_some_and(|c| !c.is_ascii() && !is_hostile(*c));
    if foreign(out.chars().next_back().as_ref()) && foreign(rest.peek()) {
        out.push(first);
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a character acts on a terminal, or hides or reorders text; a newline and a tab do not.
pub fn is_hostile(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Soft hyphen, zero-width space, directional marks, embeddings, overrides and isolates, invisible operators,
        // byte order mark, fillers, annotations, line separators, and the tag characters.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}
