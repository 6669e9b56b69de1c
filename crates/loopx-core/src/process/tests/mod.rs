//! Owns the tests with real processes, and looking at the process table by other means than the code under test.

mod bounds;
mod containment;
mod start;

use std::{
    fs,
    io::Write as _,
    sync::atomic::{AtomicU32, Ordering},
};

use super::{Control, Outcome, Spec, Tick, Token, boot_ms, run};

/// Says that a test is left out, and tells `cargo xtask test`, which counts it as skipped.
pub(crate) fn skipped(why: &str) {
    #[expect(clippy::disallowed_methods, reason = "a test is told where to say that it is left out")]
    let list = std::env::var_os("LOOPX_TESTS_SKIPPED");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("skipped: {test}: {why}");
    if let Some(list) = list {
        let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        list.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }
}

/// A shell script to run, and a number that stands in every command line of its tree.
struct Script {
    spec: Spec,
    mark: String,
}

/// A bounded shell script; `MARK` in it becomes a number that nothing else on the machine uses, fit for `sleep`.
fn script(text: &str) -> Script {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    let mark = format!("300.{:07}{unique:04}", std::process::id());
    let argv = ["sh", "-c", &text.replace("MARK", &mark)].map(Into::into).to_vec();
    let mut spec = Spec::new(argv, std::env::temp_dir());
    spec.env.insert("PATH".into(), "/usr/bin:/bin".into());
    spec.containment = Some(Token::parse(&format!("test-{mark}")).unwrap());
    spec.wall_ms = 60_000;
    spec.grace_ms = 2000;
    Script { spec, mark }
}

impl Script {
    fn token(&self) -> Token {
        self.spec.containment.clone().unwrap()
    }

    /// Runs it and insists that nothing marked is left, by command line, whatever the outcome claims.
    fn run(&self) -> Outcome {
        self.run_with(&mut |_| Control::Continue)
    }

    fn run_with(&self, tick: &mut dyn FnMut(Tick) -> Control) -> Outcome {
        let outcome = run(&self.spec, tick);
        assert_eq!(outcome.survivors, []);
        assert_eq!(self.alive(), Vec::<String>::new(), "left behind after {:?}", outcome.ended);
        outcome
    }

    /// The command lines that hold the mark; a zombie has none.
    fn alive(&self) -> Vec<String> {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&self.mark)).collect()
    }

    /// Waits until so many processes of the tree are there.
    fn await_alive(&self, count: usize) {
        let until = boot_ms() + 20_000;
        while self.alive().len() < count {
            assert!(boot_ms() < until, "only {:?} came up", self.alive());
            super::clock::pause(2);
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
