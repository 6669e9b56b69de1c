//! Owns the handle of a codex thread: what LoopX keeps in private and gives back, and what is counted against it.
//!
//! Knows nothing of the thread. The handle holds the tokens of the thread so far, because codex counts over the whole
//! thread and LoopX takes what one attempt used; and the Goal's instance, because a thread of another Goal of the same
//! name is not to be gone on with.

use loopx_core::sdk::{
    Private, Usage,
    turn_host::{Request, check_goal},
};

use super::events::{Final, Seen, Tokens};

/// The first word of a handle that this adapter made.
const MADE_HERE: &str = "codex-thread-v1";

/// A thread, and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) thread_id: String,
    goal_instance: String,
    tokens: Tokens,
}

impl Session {
    /// The thread that a request goes on with, if it goes on with one.
    pub(super) fn to_resume(request: &Request) -> Result<Option<Self>, String> {
        let Some(handle) = request.session.handle.as_ref() else { return Ok(None) };
        let session = Self::parse(handle.expose()).ok_or("the handle is none that this adapter made")?;
        let instance = session.goal_instance.parse().map_err(|_| "the handle names no Goal")?;
        check_goal(request, &request.turn_envelope.goal_id, instance)
            .map_err(|error| error.message().to_owned())?;
        Ok(Some(session))
    }

    /// The thread after a run.
    pub(super) fn after(request: &Request, before: Option<&Self>, seen: &Seen) -> Option<Self> {
        let thread_id = seen.thread_id.clone().or_else(|| before.map(|before| before.thread_id.clone()))?;
        let is_word = !thread_id.is_empty() && thread_id.bytes().all(|b| b.is_ascii_graphic());
        let goal_instance = request.turn_envelope.goal_instance.to_string();
        is_word.then_some(Self { thread_id, goal_instance, tokens: total(seen) })
    }

    fn parse(handle: &str) -> Option<Self> {
        let words: Vec<&str> = handle.split(' ').collect();
        let [MADE_HERE, thread_id, goal_instance, read, written] = words[..] else { return None };
        Some(Self {
            thread_id: thread_id.to_owned(),
            goal_instance: goal_instance.to_owned(),
            tokens: Tokens { read: read.parse().ok()?, written: written.parse().ok()? },
        })
    }

    /// The handle, for LoopX's private store.
    pub(super) fn handle(&self) -> Private<String> {
        let Tokens { read, written } = self.tokens;
        Private::new(format!("{MADE_HERE} {} {} {read} {written}", self.thread_id, self.goal_instance))
    }
}

fn total(seen: &Seen) -> Tokens {
    match &seen.ended {
        Some(Final::Completed(tokens)) => *tokens,
        Some(Final::Failed(_)) | None => Tokens::default(),
    }
}

/// What this run used: the difference, or all of it where codex began to count anew.
pub(super) fn usage(before: Option<&Session>, seen: &Seen, wall_ms: u64) -> Usage {
    let (now, base) = (total(seen), before.map(|before| before.tokens).unwrap_or_default());
    let used = |now: u64, base: u64| Some(now.checked_sub(base).unwrap_or(now));
    Usage {
        seq: 0,
        tokens_in: used(now.read, base.read),
        tokens_out: used(now.written, base.written),
        cost_micros: None,
        currency: None,
        wall_ms: Some(wall_ms),
    }
}

#[cfg(test)]
mod tests {
    use loopx_core::sdk::GoalInstance;

    use super::*;

    fn resuming(handle: &str) -> Request {
        let request = include_bytes!("../../../../../docs/wire/request.json");
        let mut request = Request::parse(request).unwrap();
        request.session.handle = Some(Private::new(handle.to_owned()));
        request
    }

    fn ended(read: u64, written: u64) -> Seen {
        Seen {
            thread_id: Some("t-1".to_owned()),
            ended: Some(Final::Completed(Tokens { read, written })),
            ..Seen::default()
        }
    }

    #[test]
    fn a_thread_that_is_gone_on_with_is_reported_by_what_is_new() {
        let first = Session::after(&resuming("-"), None, &ended(101, 23)).unwrap();
        assert_eq!(usage(None, &ended(101, 23), 5).tokens_in, Some(101));
        let again = Session::to_resume(&resuming(first.handle().expose())).unwrap().unwrap();
        assert_eq!(again, first);
        let second = usage(Some(&again), &ended(303, 69), 5);
        assert_eq!((second.tokens_in, second.tokens_out), (Some(202), Some(46)));
        // a count that began anew is not a negative one
        assert_eq!(usage(Some(&again), &ended(50, 30), 5).tokens_in, Some(50));
    }

    #[test]
    fn a_thread_of_another_goal_or_adapter_is_not_gone_on_with() {
        let first = Session::after(&resuming("-"), None, &ended(1, 1)).unwrap();
        let other = Session { goal_instance: GoalInstance::from_bytes([9; 16]).to_string(), ..first };
        let refused = Session::to_resume(&resuming(other.handle().expose())).unwrap_err();
        assert!(refused.contains("started anew"), "{refused}");
        assert!(Session::to_resume(&resuming("host-session-17")).is_err());
    }
}
