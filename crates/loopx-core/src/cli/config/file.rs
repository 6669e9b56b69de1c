//! Owns the profile's file of settings.
//!
//! Parsing is closed: an unknown key or a value out of bounds is refused, by its key. A write keeps the
//! user's comments and order.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, TableLike, Value, value};

use super::key::{KEYS, Key, Unit};
use crate::{
    authority::profile::{Place, file, make_private_dir},
    error::{Code, Error, Result, echo},
};

/// The name of the file in the profile's folder.
pub(super) const NAME: &str = "profile.toml";
/// The largest file of settings, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The settings a file holds.
#[derive(Debug, Default)]
pub(super) struct Stored(Vec<(&'static Key, String)>);

impl Stored {
    pub(super) fn get(&self, key: &Key) -> Option<&str> {
        self.0.iter().find(|(stored, _)| *stored == key).map(|(_, text)| text.as_str())
    }
}

/// Reads a file of settings; one that is not there holds none.
pub(super) fn read(path: &Path) -> Result<Stored> {
    let Some(text) = read_limited(path)? else { return Ok(Stored::default()) };
    let document = parse(&text)?;
    let mut stored = Vec::new();
    for (section, item) in document.iter() {
        let Some(table) = item.as_table_like() else { return Err(unknown(section)) };
        for (name, item) in table.iter() {
            let name = format!("{section}.{name}");
            let key =
                KEYS.iter().find(|key| key.name == name && !key.in_project).ok_or_else(|| unknown(&name))?;
            let text = scalar(item).ok_or_else(|| {
                Error::new(
                    Code::InvalidArgument,
                    format!("`{name}` in {NAME} is neither text nor a whole number"),
                )
                .hint(format!("config set {name} default"))
                .detail("key", name.as_str())
            })?;
            key.check(&text)?;
            stored.push((key, text));
        }
    }
    Ok(Stored(stored))
}

/// Puts a setting into a file, or takes it out.
///
/// Errors: `store_busy` while another process does the same, `invalid_argument` for a file that is not TOML,
/// `disk_full`, `store_*`.
pub(super) fn store(place: &Place, key: &Key, text: Option<&str>) -> Result<()> {
    make_private_dir(place.dir())?;
    let locks = place.locks();
    make_private_dir(&locks)?;
    let _held = file::lock(&locks.join("config.lock"), "another process changes the settings")?;
    let path = place.dir().join(NAME);
    let mut document = parse(&read_limited(&path)?.unwrap_or_default())?;
    let (section, name) = key.name.split_once('.').unwrap_or(("", key.name));
    if let Some(text) = text {
        let table = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
        let table = table.as_table_like_mut().ok_or_else(|| unknown(section))?;
        put(table, name, key, text);
    } else if let Some(table) = document.get_mut(section).and_then(Item::as_table_like_mut) {
        table.remove(name);
        if table.is_empty() {
            document.remove(section);
        }
    }
    file::replace(&path, document.to_string().as_bytes(), 0o600)
}

fn put(table: &mut dyn TableLike, name: &str, key: &Key, text: &str) {
    let mut made = match (key.unit, text.parse::<i64>()) {
        (Unit::Count { .. }, Ok(count)) => value(count),
        _ => value(text),
    };
    // A comment behind the old value stays where it is.
    let decor = table.get(name).and_then(Item::as_value).map(|old| old.decor().clone());
    if let (Some(decor), Some(new)) = (decor, made.as_value_mut()) {
        *new.decor_mut() = decor;
    }
    table.insert(name, made);
}

fn scalar(item: &Item) -> Option<String> {
    match item.as_value()? {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(count) => Some(count.value().to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| not_toml(NAME, text, &error).hint("config --help"))
}

/// The error of a file that is not TOML, with the line and what the parser says.
pub(in crate::cli) fn not_toml(name: &str, text: &str, error: &toml_edit::TomlError) -> Error {
    let start = error.span().map_or(0, |span| span.start);
    let line = text.get(..start).map_or(1, |before| before.matches('\n').count() + 1);
    let cause = error.message().lines().collect::<Vec<_>>().join(", ");
    Error::new(Code::InvalidArgument, format!("{name} is not valid TOML at line {line}: {}", echo(&cause)))
        .detail("line", line)
        .internal(error)
}

fn unknown(name: &str) -> Error {
    let shown = echo(name);
    Error::new(Code::UnknownField, format!("{NAME} has a setting nobody reads: `{shown}`"))
        .hint("config --help")
        .detail("field", shown)
}

/// Reads a small text file; none when it is not there.
///
/// Errors: `store_unreadable` when it is no readable regular file, `payload_too_large` over 64 KiB,
/// `invalid_argument` when it is not UTF-8.
pub(in crate::cli) fn read_limited(path: &Path) -> Result<Option<String>> {
    file::read(path, MAX_BYTES)
}
