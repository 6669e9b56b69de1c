//! Owns the shape of an answer for people, before it becomes text, Markdown or roff.
//!
//! Text between backquotes is set like code. Nothing here is trusted: a renderer makes all of it printable.

/// An answer for people: blocks from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    pub(super) blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A heading of level 1 to 4.
    Heading(u8, String),
    /// A paragraph, wrapped to the width.
    Para(String),
    /// Lines printed one below another, not wrapped.
    Lines(Vec<String>),
    /// Terms and what they mean, or names and values.
    Terms(Vec<(String, String)>),
    /// Texts, each wrapped, and below each the lines that are typed for it, which are not.
    Items(Vec<(String, Vec<String>)>),
    /// Columns with a head; fits the width. The first column names the row, and is never cut.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A table whose last column is never cut: where it is too wide, it goes on below itself.
    Log(Vec<String>, Vec<Vec<String>>),
    /// Lines that are typed or run.
    Code(Vec<String>),
    /// Text whose line breaks and tabs count.
    Verbatim(String),
}

impl Document {
    /// Makes an empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a block.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Adds a heading of level 1.
    #[must_use]
    pub fn heading(self, text: impl Into<String>) -> Self {
        self.with(Block::Heading(1, text.into()))
    }

    /// Adds a paragraph.
    #[must_use]
    pub fn para(self, text: impl Into<String>) -> Self {
        self.with(Block::Para(text.into()))
    }

    /// Adds one line.
    #[must_use]
    pub fn line(mut self, text: impl Into<String>) -> Self {
        match self.blocks.last_mut() {
            Some(Block::Lines(lines)) => lines.push(text.into()),
            _ => self.blocks.push(Block::Lines(vec![text.into()])),
        }
        self
    }

    /// Adds lines.
    #[must_use]
    pub fn lines(self, lines: impl IntoIterator<Item = String>) -> Self {
        lines.into_iter().fold(self, Self::line)
    }

    /// Adds terms, or names and values.
    #[must_use]
    pub fn terms<T: Into<String>, M: Into<String>>(self, terms: impl IntoIterator<Item = (T, M)>) -> Self {
        self.with(Block::Terms(terms.into_iter().map(|(term, means)| (term.into(), means.into())).collect()))
    }

    /// Adds texts with the lines that are typed for them.
    #[must_use]
    pub fn items(self, items: Vec<(String, Vec<String>)>) -> Self {
        self.with(Block::Items(items))
    }

    /// Adds a table.
    #[must_use]
    pub fn table(self, head: &[&str], rows: Vec<Vec<String>>) -> Self {
        self.with(Block::Table(head.iter().map(|name| (*name).to_owned()).collect(), rows))
    }

    /// Adds a table whose last column is never cut.
    #[must_use]
    pub fn log(self, head: &[&str], rows: Vec<Vec<String>>) -> Self {
        self.with(Block::Log(head.iter().map(|name| (*name).to_owned()).collect(), rows))
    }

    /// Adds lines that are typed or run.
    #[must_use]
    pub fn code(self, lines: Vec<String>) -> Self {
        self.with(Block::Code(lines))
    }

    /// Adds text whose line breaks count.
    #[must_use]
    pub fn verbatim(self, text: impl Into<String>) -> Self {
        self.with(Block::Verbatim(text.into()))
    }
}
