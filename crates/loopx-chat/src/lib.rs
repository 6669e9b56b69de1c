//! The tier of managed sessions and the chat API.
//!
//! It holds nothing yet: session facts and queue verbs will live in `loopx-core`, this tier will run what
//! they describe and serve it over HTTP.
