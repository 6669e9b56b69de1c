//! Owns the least host there can be: it reads its request, does nothing, and says that it is done.
//!
//! Knows nothing of the Turn but the key it must repeat.

use std::io::{self, Write as _};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let request: Value = serde_json::from_reader(io::stdin())?;
    let result = json!({
        "schema_version": "loopx_turn_result_v0",
        "turn_key": request.get("turn_key"),
        "result_kind": "validated_completion",
        "summary": "Nothing was to be done.",
        "classification": "bench",
        "next_action": "",
        "recommended_action": "",
        "completed_phases": [],
        "delivery_batch_scale": "test_only",
        "delivery_outcome": "outcome_progress",
        "path_delta_mode": "unchanged",
    });
    writeln!(io::stdout(), "{result}")
}
