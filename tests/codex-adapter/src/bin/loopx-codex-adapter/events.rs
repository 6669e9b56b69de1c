//! Owns reading the events that `codex exec --json` prints, one object a line.
//!
//! Knows nothing of what they mean for a Turn. Events it does not know are passed over: codex adds some with each
//! release.

use serde_json::Value;

/// Tokens, as codex counts them: over the whole thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) read: u64,
    pub(super) written: u64,
}

/// How a run of codex said that it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Final {
    Completed(Tokens),
    Failed(String),
}

/// What a run of codex printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) thread_id: Option<String>,
    /// The last event, where there was one. A stream that ends without it says nothing.
    pub(super) ended: Option<Final>,
    /// What the agent said last.
    pub(super) message: String,
    /// How many commands it ran.
    pub(super) commands: usize,
    /// How many lines were no event.
    pub(super) torn: usize,
}

/// Whether the last whole line is a final event; cheap, for it is asked after each piece of output.
pub(super) fn is_over(stdout: &[u8]) -> bool {
    let Some(lines) = stdout.strip_suffix(b"\n") else { return false };
    let last = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    last.starts_with(br#"{"type":"turn.completed""#) || last.starts_with(br#"{"type":"turn.failed""#)
}

/// Reads all events.
pub(super) fn read(stdout: &[u8]) -> Seen {
    let mut seen = Seen::default();
    for line in stdout.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice::<Value>(line) {
            Ok(event) => take(&mut seen, &event),
            Err(_) => seen.torn += 1,
        }
    }
    seen
}

fn take(seen: &mut Seen, event: &Value) {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    match text("/type").unwrap_or_default() {
        "thread.started" => seen.thread_id = text("/thread_id").map(str::to_owned),
        "turn.started" => seen.ended = None,
        "item.completed" => match text("/item/type").unwrap_or_default() {
            "agent_message" => text("/item/text").unwrap_or_default().clone_into(&mut seen.message),
            "command_execution" => seen.commands += 1,
            // An item of the type `error` is often only a warning.
            _ => {}
        },
        "turn.completed" => {
            let count = |pointer: &str| event.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
            let tokens =
                Tokens { read: count("/usage/input_tokens"), written: count("/usage/output_tokens") };
            seen.ended = Some(Final::Completed(tokens));
        }
        "turn.failed" => {
            let why = text("/error/message").unwrap_or("no reason was given");
            seen.ended = Some(Final::Failed(why.to_owned()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"only a warning"}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","exit_code":0}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"done"}}
{"type":"something.new","x":1}
{"type":"turn.completed","usage":{"input_tokens":202,"output_tokens":46}}
"#;

    #[test]
    fn a_run_is_read_and_its_end_is_seen_once_its_line_is_whole() {
        let seen = read(RUN.as_bytes());
        assert_eq!(seen.ended, Some(Final::Completed(Tokens { read: 202, written: 46 })));
        assert_eq!(
            (seen.thread_id.as_deref(), seen.message.as_str(), seen.commands, seen.torn),
            (Some("t-1"), "done", 1, 0)
        );
        for length in 0..RUN.len() {
            assert!(!is_over(&RUN.as_bytes()[..length]), "{length}");
        }
        assert!(is_over(RUN.as_bytes()));
    }

    #[test]
    fn a_stream_without_its_final_event_says_nothing() {
        let cut = RUN.lines().take(5).collect::<Vec<_>>().join("\n");
        assert_eq!(read(cut.as_bytes()).ended, None);
        assert_eq!(read(format!("{cut}\n{{\"type\":\"turn.co").as_bytes()).torn, 1);
        let failed = format!("{cut}\n{}", r#"{"type":"turn.failed","error":{"message":"no"}}"#);
        assert_eq!(read(failed.as_bytes()).ended, Some(Final::Failed("no".to_owned())));
    }
}
