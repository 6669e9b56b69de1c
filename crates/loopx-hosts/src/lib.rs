//! The tier of adapters to real agent programs: Codex, Claude Code, ACP, OpenCode, Pi.
//!
//! It holds no adapter yet. Until one lands, every hosted Turn runs through the generic command host of
//! `loopx-core`, which speaks the same wire any adapter will.
