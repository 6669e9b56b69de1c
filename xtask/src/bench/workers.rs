//! Owns the bars of claims in a loop: beside statements written by hand, and beside each other.

use std::{io, path::Path};

use serde_json::Value;

use super::{
    fixtures::{CROWD, copied},
    numbers::{float, median},
    report::{Limit, Row},
    stage::{Stage, Together, answer, count},
};

/// Claims a round of one process.
const CLAIMS: u32 = 1_500;
/// How long many processes claim, in milliseconds.
const WINDOW_MS: u32 = 1_500;

/// What one worker did a second, and its processor time a claim in microseconds.
struct Speed {
    rate: f64,
    cpu_us: f64,
    p99_us: f64,
}

impl Speed {
    fn of(answer: &Value) -> io::Result<Self> {
        let take = |key| count(answer, key).map(float);
        let claims = take("ops")?;
        Ok(Self {
            rate: claims / take("wall_ns")? * 1e9,
            cpu_us: take("cpu_ns")? / claims / 1e3,
            p99_us: take("p99_ns")? / 1e3,
        })
    }
}

pub(super) fn claims(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    const ROUNDS: usize = 7;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (worker, speeds) in [("claims", &mut ours), ("raw_sql", &mut raw)] {
            let home = copied(stage, CROWD, "claims")?;
            let last = CROWD.todos.to_string();
            let words =
                [("from", "1".into()), ("last", last), ("warm", "2".into()), ("count", CLAIMS.to_string())];
            speeds.push(Speed::of(&answer(stage.worker(worker, &home, &words)?)?)?);
        }
    }
    let pairs = || ours.iter().zip(&raw);
    let of = |speeds: &[Speed], take: fn(&Speed) -> f64| median(&speeds.iter().map(take).collect::<Vec<_>>());
    let rates: Vec<f64> = pairs().map(|(ours, raw)| ours.rate / raw.rate).collect();
    let cpus: Vec<f64> = pairs().map(|(ours, raw)| ours.cpu_us / raw.cpu_us).collect();
    Ok(vec![
        Row::of("claims in a loop / raw SQL", median(&rates), "x", Limit::AtLeast(0.7))
            .with("ours_a_second", of(&ours, |speed| speed.rate))
            .with("raw_a_second", of(&raw, |speed| speed.rate))
            .with("ours_p99_us", of(&ours, |speed| speed.p99_us))
            .with("raw_p99_us", of(&raw, |speed| speed.p99_us)),
        Row::of("claims in a loop, processor / raw SQL", median(&cpus), "x", Limit::AtMost(1.8))
            .with("ours_us", of(&ours, |speed| speed.cpu_us))
            .with("raw_us", of(&raw, |speed| speed.cpu_us)),
    ])
}

/// What many processes did together.
struct Crowd {
    rate: f64,
    slowest: f64,
    longest_ms: f64,
    busy: u64,
}

impl Crowd {
    fn measure(stage: &Stage<'_>, home: &Path, processes: u32) -> io::Result<Self> {
        // Each has neighbouring Todos, as the lone one has: spread ones touch more pages, whoever claims them.
        let share = CROWD.todos / processes;
        let worker = |place: u32| {
            let words = [
                ("from", (place * share + 1).to_string()),
                ("last", ((place + 1) * share).to_string()),
                ("warm", "1".to_owned()),
                ("window_ms", WINDOW_MS.to_string()),
            ];
            stage.worker("claims", home, &words)
        };
        let answers = Together::start((0..processes).map(worker).collect::<io::Result<_>>()?)?.go()?;
        if answers.iter().any(|answer| answer.get("ran_out").and_then(Value::as_bool) != Some(false)) {
            return Err(io::Error::other("the fixture has too few Todos for the window"));
        }
        let all =
            |key: &str| answers.iter().map(|answer| count(answer, key)).collect::<io::Result<Vec<u64>>>();
        let rates = answers.iter().map(Speed::of).collect::<io::Result<Vec<_>>>()?;
        let claims = all("ops")?;
        let (least, most) = (claims.iter().min().copied(), claims.iter().max().copied());
        Ok(Self {
            rate: rates.iter().map(|speed| speed.rate).sum(),
            slowest: float(least.unwrap_or_default()) / float(most.unwrap_or_default()),
            longest_ms: float(all("longest_ns")?.into_iter().max().unwrap_or_default()) / 1e6,
            busy: all("busy")?.into_iter().sum(),
        })
    }
}

pub(super) fn contention(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    const ROUNDS: usize = 5;
    let mut measured: [Vec<Crowd>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (processes, crowds) in [1, 8, 32].into_iter().zip(&mut measured) {
            let home = copied(stage, CROWD, "crowd")?;
            crowds.push(Crowd::measure(stage, &home, processes)?);
        }
    }
    let [alone, eight, many] = &measured;
    let beside = |crowds: &[Crowd]| {
        let ratios: Vec<f64> =
            crowds.iter().zip(alone).map(|(crowd, alone)| crowd.rate / alone.rate).collect();
        median(&ratios)
    };
    let rate = |crowds: &[Crowd]| median(&crowds.iter().map(|crowd| crowd.rate).collect::<Vec<_>>());
    let slowest = |crowds: &[Crowd]| median(&crowds.iter().map(|crowd| crowd.slowest).collect::<Vec<_>>());
    let longest = |crowds: &[Crowd]| crowds.iter().map(|crowd| crowd.longest_ms).fold(0.0, f64::max);
    let busy = |crowds: &[Crowd]| float(crowds.iter().map(|crowd| crowd.busy).sum());
    Ok(vec![
        Row::of("8 processes / one", beside(eight), "x", Limit::AtLeast(0.9))
            .with("one_a_second", rate(alone))
            .with("eight_a_second", rate(eight)),
        Row::of("8 processes, slowest / fastest", slowest(eight), "x", Limit::AtLeast(0.1)),
        Row::of("8 processes, longest wait", longest(eight), "ms", Limit::AtMost(1_000.0)),
        Row::of("8 processes, store_busy", busy(eight), "claims", Limit::AtMost(0.0)),
        Row::of("32 processes / one", beside(many), "x", Limit::AtLeast(0.7))
            .with("thirty_two_a_second", rate(many)),
        Row::of("32 processes, slowest / fastest", slowest(many), "x", Limit::Free),
        Row::of("32 processes, longest wait", longest(many), "ms", Limit::Free),
        Row::of("32 processes, store_busy", busy(many), "claims", Limit::Free),
    ])
}
