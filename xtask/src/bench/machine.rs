//! Owns what is noted of the machine beside the figures: without it a figure says little.
//!
//! What a platform does not tell is left out.

use std::{fs, io::Write as _, os::unix::fs::FileExt as _, path::Path};

use serde_json::{Value, json};

use super::numbers::{median, ms};
use crate::process::{self, Moment};

/// The load averages, as the platform prints them.
pub(super) fn load() -> Option<String> {
    fs::read_to_string("/proc/loadavg").ok().map(|text| text.trim().to_owned())
}

/// Describes the machine; `before` is the load before the run.
pub(super) fn describe(scratch: &Path, before: Option<&str>) -> Value {
    let line = |path: &str, key: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    json!({
        "cpu": line("/proc/cpuinfo", "model name"),
        "cores": std::thread::available_parallelism().ok(),
        "memory": line("/proc/meminfo", "MemTotal"),
        "kernel": process::said("uname", &["-sr"]),
        "filesystem": process::said("stat", &["-f", "-c", "%T", &scratch.to_string_lossy()]),
        "rustc": process::said("rustc", &["--version"]),
        "fdatasync_ms": fdatasync_ms(scratch),
        "load_before": before,
        "load_after": load(),
    })
}

/// What it takes to make 4 KiB durable that were there before.
fn fdatasync_ms(scratch: &Path) -> Option<f64> {
    const PAGE: [u8; 4096] = [7; 4096];
    let path = scratch.join("fdatasync");
    let mut file = fs::File::create(&path).ok()?;
    file.write_all(&PAGE).ok()?;
    file.sync_all().ok()?;
    let mut all = Vec::new();
    for _ in 0..50 {
        let began = Moment::now();
        file.write_all_at(&PAGE, 0).ok()?;
        file.sync_data().ok()?;
        all.push(ms(began.elapsed()));
    }
    fs::remove_file(&path).ok()?;
    Some(median(&all))
}
