//! Owns `config get`, `config set` and `config explain`.

use serde::Serialize;

use super::{
    file,
    key::{KEYS, Key},
    settings::Source,
};
use crate::{
    cli::{
        Context,
        handlers::check_person,
        parse::Args,
        render::{Document, Page, Rendered},
    },
    error::{Code, Error, Result},
};

#[derive(Serialize)]
struct Setting<'a> {
    key: &'a str,
    value: Option<&'a str>,
    source: Option<&'static str>,
}

#[derive(Serialize)]
struct One<'a> {
    setting: &'a Setting<'a>,
}

/// `config get [KEY]`.
pub(in crate::cli) fn get(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let wanted = args.text("key").map(Key::named).transpose()?;
    let settings = context.settings(args)?;
    let rows = settings.all().filter(|(key, ..)| wanted.is_none_or(|wanted| wanted == *key));
    let items: Vec<_> = rows
        .map(|(key, value, source)| Setting { key: key.name, value, source: source.map(Source::name) })
        .collect();
    if let (Some(_), [setting]) = (wanted, items.as_slice()) {
        let document = Document::new().line(setting.value.unwrap_or(""));
        return Rendered::new("loopx_config_v1", &One { setting }, document);
    }
    let cell = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let rows = items.iter().map(|row| vec![row.key.to_owned(), cell(row.value), cell(row.source)]).collect();
    let document = Document::new().table(&["KEY", "VALUE", "SOURCE"], rows);
    Rendered::new("loopx_config_list_v1", &Page { items, next_cursor: None }, document)
}

#[derive(Serialize)]
struct Change<'a> {
    setting: Setting<'a>,
    before: Option<&'a str>,
    dry_run: bool,
}

/// `config set KEY VALUE`.
pub(in crate::cli) fn set(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let key = Key::named(args.needed("key")?)?;
    if key.in_project {
        let message = format!("`{}` belongs to the folder, not to the profile", key.name);
        return Err(Error::new(Code::InvalidArgument, message).hint("init --help").detail("key", key.name));
    }
    let text = args.needed("to")?;
    let stored = if text == "default" { None } else { Some(text) };
    if let Some(text) = stored {
        key.check(text)?;
    }
    let settings = context.settings(args)?;
    let before = settings.text(key.name);
    let place = settings.place(context.env)?;
    let dry_run = args.switch("dry-run");
    check_person(context, args)?;
    if !dry_run {
        file::store(&place, key, stored)?;
    }
    let value = stored.or(key.default);
    let source = if stored.is_some() { Source::Profile } else { Source::Default };
    let setting = Setting { key: key.name, value, source: Some(source.name()) };
    let verb = if dry_run { "would be" } else { "is" };
    let line = format!("{} {verb} {} (was {})", key.name, value.unwrap_or("-"), before.unwrap_or("-"));
    Rendered::new("loopx_config_set_v1", &Change { setting, before, dry_run }, Document::new().line(line))
}

#[derive(Serialize)]
struct Explanation<'a> {
    setting: Setting<'a>,
    default: Option<&'static str>,
    bounds: String,
    about: &'static str,
    flag: Option<String>,
    variable: Option<&'static str>,
    file: &'static str,
}

/// `config explain KEY`.
pub(in crate::cli) fn explain(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let key = Key::named(args.needed("key")?)?;
    let settings = context.settings(args)?;
    let (value, source) = settings
        .all()
        .find(|(found, ..)| *found == key)
        .map_or((None, None), |(_, value, source)| (value, source));
    let flag = key.flag.map(|flag| format!("--{flag}"));
    let variable = key.env.map(crate::cli::Var::name);
    let file = if key.in_project { ".loopx/project.toml" } else { file::NAME };
    let places = [flag.as_deref(), variable, Some(file)].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let document = Document::new().heading(key.name).para(key.about).terms([
        ("value", value.unwrap_or("-").to_owned()),
        ("from", source.map_or("-", Source::name).to_owned()),
        ("default", key.default.unwrap_or("-").to_owned()),
        ("bounds", key.bounds()),
        ("set by", places),
    ]);
    let explanation = Explanation {
        setting: Setting { key: key.name, value, source: source.map(Source::name) },
        default: key.default,
        bounds: key.bounds(),
        about: key.about,
        flag,
        variable,
        file,
    };
    Rendered::new("loopx_config_explain_v1", &explanation, document)
}

/// The rows of the reference page: key, default, bounds, purpose.
pub(in crate::cli) fn rows() -> Vec<Vec<String>> {
    let row = |key: &Key| {
        vec![
            format!("`{}`", key.name),
            key.default.unwrap_or("-").to_owned(),
            key.bounds(),
            key.about.to_owned(),
        ]
    };
    KEYS.iter().map(row).collect()
}
