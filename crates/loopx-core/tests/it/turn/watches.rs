//! A watcher sees what rings no bell: a driver that was killed.

use rustix::process::Signal;

use super::{midrun::Working, place::Place};
use crate::watch::Watching;

#[test]
fn a_driver_that_was_killed_is_shown_though_it_rang_no_bell() {
    let mut working = Working::at(Place::new("true"));
    let watching = Watching::start(&mut working.place.command("user:ana", &["status", "--watch"], &[]));
    watching.until("the Turn", |goal| goal["waiting_on"] == "agent");
    working.run.kill().unwrap();
    working.run.wait().unwrap();
    let turn_id = working.turn_id.clone();
    let wanted = format!("turn recover {turn_id}");
    watching.until("the driver's end", |goal| {
        goal["attention"].as_array().is_some_and(|rows| {
            rows.iter().any(|row| row["command"].as_str().is_some_and(|command| command.starts_with(&wanted)))
        })
    });
    assert_eq!(watching.end(Signal::INT).0, Some(0));
    std::fs::write(working.place.root().join("go"), "").unwrap();
    working.place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]);
}
