//! Owns reading a file as lines of text, whatever its size and its encoding, in bounded memory.
//!
//! Knows nothing of what is looked for. UTF-8, UTF-16 that says so at its beginning, and what is neither but no binary.

use std::{
    io::{self, Read},
    ops::Range,
};

/// How much of a line is looked at in one piece, in bytes.
const PIECE_BYTES: usize = 128 * 1024;
/// How much of a piece of a longer line is seen from both sides of a cut, in bytes; no credential that is judged whole
/// is longer.
const SEEN_BYTES: usize = 16 * 1024;
const STEP_BYTES: usize = 64 * 1024;
/// How much of a file says whether it is binary, in bytes.
const SNIFF_BYTES: usize = 8 * 1024;

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Text, and all of it was read.
    Text,
    /// It has a NUL at its beginning, and is not UTF-16.
    Binary,
    /// It holds more than is read.
    Large,
}

/// A line, or a piece of a long one.
#[derive(Debug)]
pub(super) struct Piece<'t> {
    /// The number of the line, from 1.
    pub(super) line: u64,
    /// How many characters of the line stand before the piece.
    pub(super) after_chars: usize,
    pub(super) text: &'t str,
    /// Which of its characters are this piece's to judge; the others are a neighbour's, too.
    pub(super) judged: Range<usize>,
}

impl<'t> Piece<'t> {
    /// A text of one line.
    pub(super) fn whole(text: &'t str) -> Self {
        Self { line: 1, after_chars: 0, text, judged: 0..usize::MAX }
    }
}

/// Reads a file of at most `max_bytes`, and hands out its lines.
pub(super) fn read(file: impl Read, max_bytes: u64, each: &mut dyn FnMut(&Piece<'_>)) -> io::Result<Shape> {
    // It may grow while it is read.
    let mut file = file.take(max_bytes.saturating_add(1));
    let mut step = vec![0; STEP_BYTES];
    let mut filled = fill(&mut file, &mut step)?;
    let first = step.get(..filled).unwrap_or_default();
    let encoding = Encoding::of(first);
    if encoding == Encoding::Utf8 && first.iter().take(SNIFF_BYTES).any(|byte| *byte == 0) {
        return Ok(Shape::Binary);
    }
    let (mut lines, mut units) = (Lines::default(), Units::new(encoding));
    while filled > 0 {
        let bytes = step.get(..filled).unwrap_or_default();
        match encoding {
            Encoding::Utf8 => lines.push(bytes, each),
            Encoding::Utf16 { .. } => lines.push(units.text(bytes).as_bytes(), each),
        }
        filled = fill(&mut file, &mut step)?;
    }
    lines.end(each);
    Ok(if file.limit() == 0 { Shape::Large } else { Shape::Text })
}

/// Reads until the buffer is full or nothing is left.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Or what comes near enough.
    Utf8,
    Utf16 {
        is_little: bool,
    },
}

impl Encoding {
    fn of(first: &[u8]) -> Self {
        match first {
            [0xff, 0xfe, ..] => Self::Utf16 { is_little: true },
            [0xfe, 0xff, ..] => Self::Utf16 { is_little: false },
            _ => Self::Utf8,
        }
    }
}

/// Turns UTF-16 into text, a step of bytes at a time.
#[derive(Debug)]
struct Units {
    encoding: Encoding,
    odd: Option<u8>,
    high: Option<u16>,
    is_begun: bool,
}

impl Units {
    const fn new(encoding: Encoding) -> Self {
        Self { encoding, odd: None, high: None, is_begun: false }
    }

    fn text(&mut self, bytes: &[u8]) -> String {
        let bytes: Vec<u8> = self.odd.take().into_iter().chain(bytes.iter().copied()).collect();
        let (pairs, odd) = bytes.as_chunks::<2>();
        self.odd = odd.first().copied();
        let is_little = self.encoding == Encoding::Utf16 { is_little: true };
        let unit =
            |pair: &[u8; 2]| if is_little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
        let mut units: Vec<u16> = self.high.take().into_iter().chain(pairs.iter().map(unit)).collect();
        self.high = units.pop_if(|last| (0xd800..0xdc00).contains(last));
        let mark = usize::from(!self.is_begun && !units.is_empty());
        self.is_begun = self.is_begun || mark > 0;
        let decoded = char::decode_utf16(units.into_iter().skip(mark));
        decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// Collects bytes to lines.
#[derive(Debug, Default)]
struct Lines {
    /// How many lines are complete.
    complete: u64,
    rest: Vec<u8>,
    /// How many characters of the line came before the rest.
    after_chars: usize,
    /// How many bytes of the rest were judged already.
    judged_bytes: usize,
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(&Piece<'_>)) {
        while !bytes.is_empty() {
            let room = PIECE_BYTES.saturating_sub(self.rest.len());
            let end = bytes.iter().take(room).position(|byte| *byte == b'\n');
            let (part, after) = bytes.split_at(end.unwrap_or(room).min(bytes.len()));
            self.rest.extend_from_slice(part);
            bytes = after;
            if end.is_some() {
                bytes = bytes.get(1..).unwrap_or_default();
                self.end_line(each);
            } else if self.rest.len() >= PIECE_BYTES {
                self.cut(each);
            }
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(&Piece<'_>)) {
        if !self.rest.is_empty() {
            self.end_line(each);
        }
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&Piece<'_>)) {
        if self.rest.last() == Some(&b'\r') {
            self.rest.pop();
        }
        self.hand_out(usize::MAX, each);
        self.complete += 1;
        self.rest.clear();
        self.after_chars = 0;
        self.judged_bytes = 0;
    }

    /// Judges what is seen from both sides, and keeps what the next piece needs.
    fn cut(&mut self, each: &mut dyn FnMut(&Piece<'_>)) {
        let judged_to = self.boundary(PIECE_BYTES - SEEN_BYTES);
        self.hand_out(judged_to, each);
        let kept_from = self.boundary(judged_to.saturating_sub(SEEN_BYTES));
        self.after_chars += chars(self.rest.get(..kept_from).unwrap_or_default());
        self.rest.drain(..kept_from);
        self.judged_bytes = judged_to - kept_from;
    }

    /// The nearest place that is no middle of a character, at or before this one.
    fn boundary(&self, at: usize) -> usize {
        let is_middle = |at: &usize| self.rest.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        (at.saturating_sub(3)..=at).rev().find(|at| !is_middle(at)).unwrap_or(at)
    }

    fn hand_out(&self, judged_to: usize, each: &mut dyn FnMut(&Piece<'_>)) {
        let judged_from = chars(self.rest.get(..self.judged_bytes).unwrap_or_default());
        let judged_to = self.rest.get(..judged_to).map_or(usize::MAX, chars);
        let text = String::from_utf8_lossy(&self.rest);
        each(&Piece {
            line: self.complete + 1,
            after_chars: self.after_chars,
            text: &text,
            judged: judged_from..judged_to,
        });
    }
}

/// How many characters bytes are.
fn chars(bytes: &[u8]) -> usize {
    String::from_utf8_lossy(bytes).chars().count()
}

#[cfg(test)]
mod tests;
