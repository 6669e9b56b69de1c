//! A package tries to write out what must never leave.

use loopx_core::sdk::Private;

fn main() {
    let handle = Private::new("host-session-17".to_owned());
    let _ = serde_json::to_string(&handle);
}
