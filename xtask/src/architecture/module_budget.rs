//! Rule: the top-level modules of every crate are the ones pinned by name; more fails, and fewer without
//! lowering the pin fails.
//!
//! A crate's top-level modules are the `mod` items of its root file, those inside a declaring macro included,
//! without those only tests see. The allowlist names what may lie beside them without being one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use proc_macro2::{TokenStream, TokenTree};
use serde::Deserialize;
use syn::{
    Attribute, Ident, Item, Token, Visibility,
    parse::{Parse, ParseStream, Parser},
};

use super::{Finding, Member, Repo};

pub(super) const RULE: &str = "module_budget";
const PINS: &str = "tests/architecture/top_level_module_budget.json";
const SCHEMA: &str = "loopx_top_level_module_budget_v1";
const ALLOWED: [&str; 3] = ["lib.rs", "main.rs", "bin/"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    schema: String,
    baseline_commit: String,
    max_top_level_modules: usize,
    modules: BTreeMap<String, BTreeSet<String>>,
    allowlist: Vec<String>,
}

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let budget = match read(repo) {
        Ok(budget) => budget,
        Err(message) => return vec![pin_finding(message)],
    };
    let mut findings = well_formed(&budget);
    for member in &repo.members {
        findings.extend(check_member(repo, member, budget.modules.get(&member.name)));
    }
    for name in budget.modules.keys() {
        if repo.members.iter().all(|member| member.name != *name) {
            findings.push(pin_finding(format!("`{name}` is no crate of the workspace: remove it")));
        }
    }
    findings
}

fn read(repo: &Repo) -> Result<Budget, String> {
    let text = fs::read_to_string(repo.root.join(PINS)).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn well_formed(budget: &Budget) -> Vec<Finding> {
    let mut findings = Vec::new();
    if budget.schema != SCHEMA {
        findings.push(pin_finding(format!("the schema is `{SCHEMA}`, not `{}`", budget.schema)));
    }
    let hex = budget.baseline_commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if budget.baseline_commit.len() != 40 || !hex {
        findings.push(pin_finding("baseline_commit is a full commit id".to_owned()));
    }
    if budget.allowlist != ALLOWED {
        findings.push(pin_finding(format!("the allowlist is exactly {ALLOWED:?}")));
    }
    let pinned: usize = budget.modules.values().map(BTreeSet::len).sum();
    if pinned != budget.max_top_level_modules {
        let max = budget.max_top_level_modules;
        findings.push(pin_finding(format!("max_top_level_modules is {max}, but {pinned} are named")));
    }
    findings
}

fn check_member(repo: &Repo, member: &Member, pinned: Option<&BTreeSet<String>>) -> Vec<Finding> {
    let name = &member.name;
    let source_dir = format!("{}/src", member.dir);
    let root = ["lib.rs", "main.rs"]
        .iter()
        .map(|file| format!("{source_dir}/{file}"))
        .find_map(|path| repo.sources.iter().find(|source| source.path == path));
    let Some(root) = root else { return Vec::new() };
    let declared = match syn::parse_file(&root.text).and_then(|file| declared(file.items)) {
        Ok(declared) => declared,
        Err(error) => {
            return vec![finding(&root.path, error.span().start().line, error.to_string())];
        }
    };
    let none = BTreeSet::new();
    let Some(pinned) = pinned.or(declared.is_empty().then_some(&none)) else {
        return vec![pin_finding(format!("`{name}` has top-level modules but no entry"))];
    };
    let mut findings = Vec::new();
    for (module, line) in &declared {
        if !pinned.contains(module) {
            let message =
                format!("module `{module}` of `{name}` is not in the budget: put it inside one that is");
            findings.push(finding(&root.path, *line, message));
        }
    }
    for module in pinned {
        if !declared.contains_key(module) {
            findings.push(pin_finding(format!(
                "module `{module}` of `{name}` is gone: lower the budget with it"
            )));
        }
    }
    findings.extend(strays(repo, &source_dir, &declared));
    findings
}

/// Files at the top of a source folder that are neither a module of the root nor an entry point.
fn strays(repo: &Repo, source_dir: &str, declared: &BTreeMap<String, usize>) -> Vec<Finding> {
    repo.below(source_dir)
        .filter(|source| !source.test)
        .filter_map(|source| {
            let inside = source.path.get(source_dir.len() + 1..)?;
            let top = inside.split('/').next().unwrap_or(inside);
            let allowed = ALLOWED.contains(&inside) || inside.starts_with("bin/");
            let module = top.strip_suffix(".rs").unwrap_or(top);
            (!allowed && !declared.contains_key(module))
                .then(|| finding(&source.path, 1, format!("no root file declares `{module}`")))
        })
        .collect()
}

/// Every module that the items of a root file declare, with its line.
fn declared(items: Vec<Item>) -> syn::Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    for item in items {
        match item {
            Item::Mod(module) if !module.attrs.iter().any(is_test_gate) => {
                found.insert(module.ident.to_string(), module.ident.span().start().line);
            }
            Item::Macro(call) if call.mac.path.is_ident("tier") => {
                for name in parse_tier(call.mac.tokens)? {
                    found.insert(name.to_string(), name.span().start().line);
                }
            }
            Item::Macro(call) if !call.mac.path.is_ident("macro_rules") => {
                in_other_macro(call.mac.tokens, &mut found);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn is_test_gate(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<Ident>().is_ok_and(|condition| condition == "test")
}

/// One entry of `tier! { … }`: attributes, a name, a semicolon.
struct Entry(Ident);

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Self(name))
    }
}

fn parse_tier(tokens: TokenStream) -> syn::Result<Vec<Ident>> {
    let entries = |input: ParseStream<'_>| {
        let mut names = Vec::new();
        while !input.is_empty() {
            names.push(input.parse::<Entry>()?.0);
        }
        Ok(names)
    };
    entries.parse2(tokens)
}

/// A macro nobody told this rule about still declares what it spells as `mod name`.
fn in_other_macro(tokens: TokenStream, found: &mut BTreeMap<String, usize>) {
    let module = |input: ParseStream<'_>| {
        input.parse::<Visibility>()?;
        input.parse::<Token![mod]>()?;
        let name = input.parse::<Ident>()?;
        input.parse::<TokenStream>()?;
        Ok(name)
    };
    let mut rest = tokens;
    loop {
        if let Ok(name) = module.parse2(rest.clone()) {
            found.insert(name.to_string(), name.span().start().line);
        }
        let mut trees = rest.into_iter();
        match trees.next() {
            None => return,
            Some(TokenTree::Group(group)) => in_other_macro(group.stream(), found),
            Some(_) => {}
        }
        rest = trees.collect();
    }
}

fn finding(file: &str, line: usize, message: String) -> Finding {
    Finding { rule: RULE, file: file.to_owned(), line, message }
}

fn pin_finding(message: String) -> Finding {
    finding(PINS, 1, message)
}
