//! The `loopx-fake-model` binary: a model server on the loopback interface that plays a plan.
//!
//! Knows nothing of LoopX. It keeps nothing between two requests but its log.

mod http;
mod plan;
mod responses;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex},
    thread,
};

use plan::Plan;
use serde_json::{Value, json};

struct Server {
    plan: Plan,
    log: Option<Mutex<File>>,
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may listen any more, which is no reason to end otherwise.
            let _ = writeln!(io::stderr(), "loopx-fake-model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let (mut plan, mut port_file, mut log) = (None, None, None);
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| io::Error::other(format!("{flag} needs a value")))?;
        match flag.as_str() {
            "--plan" => plan = Some(PathBuf::from(value)),
            "--port-file" => port_file = Some(PathBuf::from(value)),
            "--log" => log = Some(PathBuf::from(value)),
            _ => return Err(io::Error::other(format!("{flag} is no option; see the README"))),
        }
    }
    let needed =
        |file: Option<PathBuf>, flag| file.ok_or_else(|| io::Error::other(format!("{flag} is needed")));
    let server = Arc::new(Server {
        plan: Plan::read(&needed(plan, "--plan")?)?,
        log: match log {
            Some(path) => Some(Mutex::new(OpenOptions::new().create(true).append(true).open(path)?)),
            None => None,
        },
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port_file = needed(port_file, "--port-file")?;
    // Whole at once, for somebody waits for it.
    let beside = port_file.with_extension("new");
    fs::write(&beside, listener.local_addr()?.port().to_string())?;
    fs::rename(beside, port_file)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            thread::spawn(move || server.answer(stream));
        }
    });
    // The parent holds the other end for as long as it lives.
    io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)
}

impl Server {
    /// Answers one request; a connection that breaks is the other side's business.
    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let request = http::read(&stream).ok()?;
        let is_responses = request.path.ends_with("/responses");
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let step = is_responses.then(|| self.plan.step(&body));
        self.note(&request.path, step.as_ref(), &body).ok()?;
        match step {
            Some(step) => responses::play(&mut stream, &step, &body).ok(),
            None if request.path.ends_with("/models") => {
                http::json(&mut stream, 200, &json!({ "object": "list", "data": [], "models": [] })).ok()
            }
            None => http::json(&mut stream, 404, &json!({ "error": { "message": "not here" } })).ok(),
        }
    }

    fn note(&self, path: &str, step: Option<&Value>, body: &Value) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let line = json!({ "path": path, "step": step, "body": body }).to_string() + "\n";
        log.lock().map_err(|_| io::Error::other("another answer failed"))?.write_all(line.as_bytes())
    }
}
