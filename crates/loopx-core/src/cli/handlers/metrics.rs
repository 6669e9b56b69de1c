//! Owns the handler of `metrics`.

use super::{desk::Desk, names, schema, show};
use crate::{
    cli::{Args, Block, Context, Document, Rendered, parse::show_duration_ms},
    error::{Code, Error, Result},
    model::Duration,
    projection::{self, Count, Metric},
};

/// `metrics`.
pub(in crate::cli) fn metrics(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let window = args.millis("window").map(Duration::from_ms);
    let window = window.ok_or_else(|| Error::new(Code::Internal, "`metrics` was called without a window"))?;
    let metrics = desk.look(|view, terms| projection::metrics(view, terms, goal.as_ref(), window))?;
    let rows = metrics.items.iter().map(|metric| {
        vec![metric.metric.to_owned(), counted(metric), share(metric), metric.definition.to_owned()]
    });
    let mut document = Document::new()
        .line(format!("{} to {}", show::utc(metrics.from_ms), show::utc(metrics.to_ms)))
        .line(format!("Goals: {}, events: {}", metrics.goals, metrics.events))
        .log(&["METRIC", "COUNT", "IS", "MEANS"], rows.collect());
    let unknown: Vec<_> = metrics
        .items
        .iter()
        .filter_map(|metric| Some((metric.metric, metric.because?.to_owned() + &parts(metric))))
        .collect();
    if !unknown.is_empty() {
        document = document.with(Block::Heading(2, "Unknown".to_owned())).terms(unknown);
    }
    Rendered::new(schema::METRICS, &metrics, document)
}

fn counted(metric: &Metric) -> String {
    match metric.denominator {
        Some(denominator) if denominator != Count::Unknown => {
            format!("{} of {}", number(metric.numerator), number(denominator))
        }
        Some(_) | None => number(metric.numerator),
    }
}

fn number(count: Count) -> String {
    match count {
        Count::Known(count) => count.to_string(),
        Count::Unknown => "unknown".to_owned(),
    }
}

/// The share, and how long it took.
fn share(metric: &Metric) -> String {
    let mut said: Vec<String> = Vec::new();
    said.extend(metric.per_mille.map(|share| format!("{}.{}%", share / 10, share % 10)));
    said.extend(metric.median_ms.map(|ms| format!("median {}", show_duration_ms(ms))));
    said.extend(metric.p95_ms.map(|ms| format!("p95 {}", show_duration_ms(ms))));
    if said.is_empty() { "-".to_owned() } else { said.join(", ") }
}

fn parts(metric: &Metric) -> String {
    let parts =
        metric.parts.iter().zip(&metric.counts).map(|(part, count)| format!("{part} {}", number(*count)));
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}
