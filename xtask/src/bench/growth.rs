//! Owns the bars of growth: what a Goal of a million Todos costs beside one of a thousand.

use std::{fs, io, path::Path};

use super::{
    fixtures::{Fixture, LARGE, SMALL, ledger, shelved},
    numbers::{Pairs, float, median, ms},
    report::{Limit, Row},
    stage::{Stage, answer, count, timed},
};

/// Claims, admissions and statuses of one process; each by an agent of its own.
const EACH: u32 = 150;

/// The reads that are measured as whole processes.
const WHOLE: [(&str, &[&str]); 3] = [
    ("status", &["status", "--goal", "bench"]),
    ("next --json", &["next", "--goal", "bench", "--agent", "a1", "--json"]),
    ("why", &["why", "--goal", "bench"]),
];

pub(super) fn growth(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let (small, large) = (shelved(stage, SMALL)?, shelved(stage, LARGE)?);
    let mut rows = inside(stage, &small, &large)?;
    let whole = |home: &Path, words: &[&str]| {
        let mut command = stage.program("loopx", home)?;
        command.args(words);
        timed(command, &[0]).map(ms)
    };
    for (name, words) in WHOLE {
        let pairs = Pairs::take(100, || whole(&large, words), || whole(&small, words))?;
        let name = format!("whole {name}, a million / a thousand, warm");
        rows.push(Row::pairs(name, &pairs, Limit::AtMost(1.15)));
    }
    let [(_, status), ..] = WHOLE;
    for (name, home) in [("a million", &large), ("a thousand", &small)] {
        let mut all = Vec::new();
        for _ in 0..7 {
            forget(&ledger(home))?;
            all.push(whole(home, status)?);
        }
        rows.push(Row::of(format!("whole status, {name}, cold"), median(&all), "ms", Limit::Free));
    }
    Ok(rows)
}

fn inside(stage: &Stage<'_>, small: &Path, large: &Path) -> io::Result<Vec<Row>> {
    const ROUNDS: usize = 5;
    let mut pairs: [Pairs; 3] = Default::default();
    let measure = |home: &Path, fixture: Fixture| {
        let words = [("from", (fixture.done + 1).to_string()), ("count", EACH.to_string())];
        answer(stage.worker("growth", home, &words)?)
    };
    for _ in 0..ROUNDS {
        let (ours, theirs) = (measure(large, LARGE)?, measure(small, SMALL)?);
        for (key, pairs) in ["claim", "admission", "status"].into_iter().zip(&mut pairs) {
            let key = format!("{key}.p50_ns");
            pairs.ours.push(float(count(&ours, &key)?) / 1e6);
            pairs.theirs.push(float(count(&theirs, &key)?) / 1e6);
        }
    }
    let [claim, admission, status] = &pairs;
    let row =
        |name: &str, pairs| Row::pairs(format!("{name}, a million / a thousand"), pairs, Limit::AtMost(1.3));
    Ok(vec![row("claim", claim), row("admission", admission), row("status", status)])
}

/// Drops a file from the page cache, as far as nobody has it open.
fn forget(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}
