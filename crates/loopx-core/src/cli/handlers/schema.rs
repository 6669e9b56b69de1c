//! Owns the names of the JSON forms that the verbs of the nouns print.

pub(super) const INIT: &str = "loopx_init_v1";
pub(super) const STATUS: &str = "loopx_status_v1";
pub(super) const GOAL: &str = "loopx_goal_v1";
pub(super) const GOAL_LIST: &str = "loopx_goal_list_v1";
pub(super) const GOAL_EXPORT: &str = "loopx_goal_export_v1";
pub(super) const TODO: &str = "loopx_todo_v1";
pub(super) const TODO_LIST: &str = "loopx_todo_list_v1";
pub(super) const AGENT: &str = "loopx_agent_v1";
pub(super) const AGENT_LIST: &str = "loopx_agent_list_v1";
pub(super) const GATE: &str = "loopx_gate_v1";
pub(super) const GATE_LIST: &str = "loopx_gate_list_v1";
pub(super) const EVIDENCE: &str = "loopx_evidence_v1";
pub(super) const EVIDENCE_LIST: &str = "loopx_evidence_list_v1";
pub(super) const LOG: &str = "loopx_log_v1";
pub(super) const FIND: &str = "loopx_find_v1";
pub(super) const DOCTOR: &str = "loopx_doctor_v1";
pub(super) const TOKEN: &str = "loopx_token_v1";
pub(super) const TOKEN_LIST: &str = "loopx_token_list_v1";
pub(super) const TURN: &str = "loopx_turn_v1";
pub(super) const TURN_OUTPUT: &str = "loopx_turn_output_v1";
pub(super) const TURN_LIST: &str = "loopx_turn_list_v1";
pub(super) const TURN_PLAN: &str = "loopx_turn_plan_v1";
pub(super) const TURN_PROVED: &str = "loopx_turn_proved_v1";
pub(super) const LOOP: &str = "loopx_loop_v1";
pub(super) const TRIAL: &str = "loopx_try_v1";
