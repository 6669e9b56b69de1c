//! Owns a text that is drawn over in place on a terminal.
//!
//! Changes no mode of the terminal and no other screen of it: whatever ends the process, nothing has to be restored. A
//! text that is higher or wider than the terminal is cut, since what scrolled or wrapped could not be drawn over.

use super::table::clipped;

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// What stands on the terminal.
#[derive(Debug, Default)]
pub(in crate::cli) struct Screen {
    /// How many lines below the first one the cursor is.
    lines: usize,
}

impl Screen {
    /// What to print so that `text` stands where the last one stood.
    pub(in crate::cli) fn draw(&mut self, text: &str, columns: usize, rows: usize) -> String {
        let all: Vec<_> = text.lines().collect();
        // The cursor needs a line of its own.
        let room = rows.saturating_sub(1).max(1);
        let shown = if all.len() > room { room.saturating_sub(1) } else { all.len() };
        let mut out = String::new();
        if self.lines > 0 {
            out.extend(["\u{1b}[", &self.lines.to_string(), "A\r"]);
        }
        for line in all.iter().take(shown) {
            out.push_str(&fitted(line, columns));
            out.push_str("\u{1b}[K\n");
        }
        self.lines = shown;
        if all.len() > shown {
            let more = format!("and {} more lines", all.len() - shown);
            out.push_str(&clipped(&more, columns));
            out.push_str("\u{1b}[K\n");
            self.lines += 1;
        }
        out.push_str("\u{1b}[J");
        out
    }

    /// Forgets where the last text stood, as after the terminal got another size: the next one has the screen to itself.
    pub(in crate::cli) fn clear(&mut self) -> &'static str {
        self.lines = 0;
        "\u{1b}[H\u{1b}[J"
    }
}

/// A line that does not wrap. Only whole lines have a look of their own.
fn fitted(line: &str, columns: usize) -> String {
    match line.strip_prefix(BOLD).and_then(|line| line.strip_suffix(PLAIN)) {
        Some(bold) => format!("{BOLD}{}{PLAIN}", clipped(bold, columns)),
        None => clipped(line, columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_drawn_over_where_the_last_one_stood() {
        let mut screen = Screen::default();
        assert_eq!(screen.draw("one\ntwo\n", 20, 24), "one\u{1b}[K\ntwo\u{1b}[K\n\u{1b}[J");
        assert_eq!(screen.draw("three\n", 20, 24), "\u{1b}[2A\rthree\u{1b}[K\n\u{1b}[J");
        assert_eq!(screen.clear(), "\u{1b}[H\u{1b}[J");
        assert_eq!(screen.draw("four", 20, 24), "four\u{1b}[K\n\u{1b}[J");
    }

    #[test]
    fn what_is_too_wide_or_too_high_is_cut() {
        let mut screen = Screen::default();
        let drawn = screen.draw("a long line\n\u{1b}[1mand a bold one\u{1b}[0m\nc\nd\ne\n", 8, 4);
        let lines: Vec<_> = drawn.split("\u{1b}[K\n").collect();
        assert_eq!(lines, ["a long…", "\u{1b}[1mand a b…\u{1b}[0m", "and 3 m…", "\u{1b}[J"]);
        assert_eq!(screen.lines, 3);
        screen.draw("a\nb", 8, 0);
        assert_eq!(screen.lines, 1, "one line at least");
    }
}
