//! Owns the last step before a terminal: what could steer it, hide or reorder text becomes visible.
//!
//! Knows nothing of meaning, nor which characters are hostile: the boundary does.

use std::borrow::Cow;

use crate::boundary::is_hostile;

/// Whether one line is shown as it is.
pub(in crate::cli) fn is_kept(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || is_hostile(c))
}

/// One line: breaks and tabs become spaces, what is not printable its code point.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    if is_kept(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(' '),
            c if c.is_control() || is_hostile(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Many lines: as [`line`], with the breaks and tabs kept.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    let keeps = |c: char| matches!(c, '\n' | '\t');
    if !text.chars().any(|c| !keeps(c) && (c.is_control() || is_hostile(c))) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !keeps(c) && (c.is_control() || is_hostile(c)) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// JSON text with everything that is not printable as `\u` escapes.
///
/// In JSON such characters occur inside strings only, so the value stays the same.
pub(super) fn json(text: String) -> String {
    if is_kept(&text) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() || is_hostile(c) {
            shown.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_boundary_calls_hostile_is_shown_as_its_code_point() {
        for hidden in ['\u{3164}', '\u{34f}', '\u{e0041}', '\u{202e}', '\u{1b}'] {
            let text = format!("a{hidden}b");
            let shown = format!("a{}b", hidden.escape_unicode());
            assert!(!is_kept(&text));
            assert_eq!((line(&text), lines(&text)), (shown.as_str().into(), shown.as_str().into()));
            let read: String = serde_json::from_str(&json(format!("\"{text}\""))).unwrap();
            assert_eq!(read, text);
        }
    }
}
