//! Owns what the verbs of the nouns do: parsed arguments in, an operation or a read model, an answer out.
//!
//! Knows no rule and no SQL: what may be written the kernel decides, what is shown `projection` reads.

mod agent;
mod attention;
mod audit;
mod caller;
mod check;
mod contract_text;
mod decided;
mod desk;
mod doctor;
mod effect;
mod evidence;
mod evidence_file;
mod gate;
mod gc;
mod given;
mod goal;
mod goal_terms;
mod handoff;
mod heartbeat;
mod init;
mod log;
mod loop_run;
mod metrics;
mod names;
mod next;
mod next_answer;
mod nouns;
mod offer;
mod owner;
mod peer;
mod progress;
mod proposal;
mod proposed;
mod quota;
mod quota_show;
mod reader;
mod restore;
mod reward;
mod schema;
mod show;
mod status;
mod submit;
mod ticking;
mod todo;
mod todo_owned;
mod todo_plan;
mod todo_show;
mod token;
mod trial;
mod turn;
mod turn_diff;
mod turn_end;
mod turn_output;
mod turn_plan;
mod turn_show;
mod turn_trace;
mod turn_undo;
mod vault;
mod watch;
mod why;
mod workbench;

use super::Handler;
pub(super) use desk::explained;
pub(super) use submit::Wish;
pub(super) use token::check_person;

/// The verbs of the nouns, by their words.
pub(super) const NOUNS: &[(&str, Handler)] = &[
    ("init", init::init),
    ("status", status::status),
    ("next", next::next),
    ("why", why::why),
    ("heartbeat-prompt", heartbeat::prompt),
    ("quota should-run", heartbeat::should_run),
    ("find", log::find),
    ("log", log::log),
    ("doctor", doctor::doctor),
    ("audit verify", audit::verify),
    ("backup", vault::backup),
    ("gc", gc::gc),
    ("restore", restore::restore),
    ("migrate", vault::migrate),
    ("audit export", audit::export),
    ("verify", audit::check),
    ("check", check::check),
    ("metrics", metrics::metrics),
    ("goal start", goal::start),
    ("goal show", goal::show),
    ("goal list", goal::list),
    ("goal update", goal::update),
    ("goal stop", goal::stop),
    ("goal resume", goal::resume),
    ("goal close", goal::close),
    ("goal reopen", goal::reopen),
    ("goal export", goal::export),
    ("todo add", todo::add),
    ("todo list", todo::list),
    ("todo show", todo_show::show),
    ("todo update", todo::update),
    ("todo claim", todo_owned::claim),
    ("todo renew", todo_owned::renew),
    ("todo release", todo_owned::release),
    ("todo transfer", todo_owned::transfer),
    ("todo link", todo_plan::link),
    ("todo unlink", todo_plan::unlink),
    ("todo defer", todo_plan::defer),
    ("todo block", todo_plan::block),
    ("todo unblock", todo_plan::unblock),
    ("todo hold", todo_plan::hold),
    ("todo unhold", todo_plan::unhold),
    ("todo resolve", todo_plan::resolve),
    ("todo cancel", todo_plan::cancel),
    ("todo reopen", todo_plan::reopen),
    ("gate open", gate::open),
    ("gate list", gate::list),
    ("gate show", gate::show),
    ("gate resolve", gate::resolve),
    ("gate withdraw", gate::withdraw),
    ("agent add", agent::add),
    ("agent list", agent::list),
    ("agent show", agent::show),
    ("agent retire", agent::retire),
    ("evidence add", evidence::add),
    ("evidence list", evidence::list),
    ("evidence show", evidence::show),
    ("quota show", quota::show),
    ("quota set", quota::set),
    ("quota usage", quota::usage),
    ("quota void", quota::void),
    ("effect list", effect::list),
    ("effect show", effect::show),
    ("effect intend", effect::intend),
    ("effect confirm", effect::confirm),
    ("effect reconcile", effect::reconcile),
    ("effect stop", effect::stop),
    ("effect write-off", effect::write_off),
    ("proposal add", proposal::add),
    ("proposal list", proposal::list),
    ("proposal show", proposal::show),
    ("proposal confirm", proposal::confirm),
    ("proposal reject", proposal::reject),
    ("proposal defer", proposal::defer),
    ("proposal withdraw", proposal::withdraw),
    ("attention list", attention::list),
    ("attention seen", attention::seen),
    ("reward add", reward::add),
    ("reward list", reward::list),
    ("peer list", peer::list),
    ("peer show", peer::show),
    ("peer return", peer::give),
    ("peer adopt", peer::adopt),
    ("peer reject", peer::reject),
    ("handoff show", handoff::show),
    ("handoff accept", handoff::accept),
    ("token issue", token::issue),
    ("token list", token::list),
    ("token revoke", token::revoke),
];

/// The verbs of Turns and of their owners, by their words.
pub(super) const TURNS: &[(&str, Handler)] = &[
    ("try", trial::trial),
    ("todo done", owner::done),
    ("todo progress", owner::progress),
    ("todo look", owner::look),
    ("turn plan", turn_plan::plan),
    ("turn run", turn::run),
    ("turn list", turn_show::list),
    ("turn show", turn_show::show),
    ("turn stop", turn::stop),
    ("turn accept", turn::accept),
    ("turn recover", turn::recover),
    ("turn abandon", turn::abandon),
    ("turn diff", turn_diff::diff),
    ("turn undo", turn_undo::undo),
    ("loop run", loop_run::run),
];
