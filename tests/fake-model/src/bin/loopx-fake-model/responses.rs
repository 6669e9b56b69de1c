//! Owns the shape of a streamed response: the events of a text, a tool call, an error, and a broken answer.
//!
//! Knows nothing of which step is played.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::http;

/// Plays one step.
pub(super) fn play(stream: &mut dyn Write, step: &Value, asked: &Value) -> io::Result<()> {
    if let Some(status) = step.get("status").and_then(Value::as_u64) {
        let scripted = json!({ "error": { "message": "a scripted error", "type": "scripted" } });
        return http::json(stream, status, step.get("body").unwrap_or(&scripted));
    }
    let model = asked.get("model").cloned().unwrap_or_default();
    let response = |status: &str, output: &[Value]| {
        json!({ "id": "resp_1", "object": "response", "model": model, "status": status, "output": output,
            "usage": { "input_tokens": 101, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 23,
                "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 124 } })
    };
    let mut number = 0_u64;
    let mut send = |stream: &mut dyn Write, name: &str, mut event: Value| {
        if let Value::Object(fields) = &mut event {
            fields.insert("type".to_owned(), name.into());
            fields.insert("sequence_number".to_owned(), number.into());
        }
        number += 1;
        http::event(stream, name, &event)
    };
    http::open_events(stream)?;
    send(stream, "response.created", json!({ "response": response("in_progress", &[]) }))?;
    let item = match (step.get("say").and_then(Value::as_str), step.get("call")) {
        (Some(text), _) => {
            json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
        }
        (None, Some(call)) => {
            let arguments = call.get("args").cloned().unwrap_or_default().to_string();
            json!({ "type": "function_call", "id": "fc_1", "call_id": format!("call_{}", rounds(asked)),
                "name": call.get("name"), "arguments": arguments, "status": "completed" })
        }
        // Half an answer; the connection closes with its stream.
        (None, None) => return Ok(()),
    };
    send(stream, "response.output_item.added", json!({ "output_index": 0, "item": item }))?;
    if let Some(text) = step.get("say") {
        let delta = json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text });
        send(stream, "response.output_text.delta", delta)?;
    }
    send(stream, "response.output_item.done", json!({ "output_index": 0, "item": item }))?;
    send(stream, "response.completed", json!({ "response": response("completed", &[item]) }))
}

/// A number that no earlier call of this conversation has.
fn rounds(asked: &Value) -> usize {
    asked.get("input").and_then(Value::as_array).map_or(0, Vec::len)
}
