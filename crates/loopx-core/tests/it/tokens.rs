//! Tokens at the edge: whom they prove, when they stop, and where they lie.

use std::os::unix::fs::PermissionsExt as _;

use crate::desk::Desk;

#[test]
fn init_leaves_the_first_user_s_token_where_only_the_owner_can_read_it() {
    let desk = Desk::with_work();
    for name in ["user.token", "tokens.json", "authority.db", "profile.json"] {
        let mode = std::fs::metadata(desk.profile().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let list = desk.ok(&["token", "list"]);
    assert_eq!(
        (list["items"].as_array().unwrap().len(), list["items"][0]["actor"].as_str()),
        (1, Some("user:ana"))
    );
}

#[test]
fn a_token_names_one_actor_and_nobody_else() {
    let desk = Desk::with_work();
    desk.refused(&["token", "issue", "--actor", "agent:coder@shell"], "unauthenticated", 6);
    let issued = desk.proven(&["token", "issue", "--actor", "agent:coder@shell", "--out", "coder.token"]);
    assert_eq!(issued.get("secret"), None);
    let secret = std::fs::read_to_string(desk.folder().join("coder.token")).unwrap();
    let agent = desk.var("LOOPX_ACTOR", "").var("LOOPX_TOKEN", secret.trim());
    let claimed = agent.ok(&["todo", "claim", "ship-it.1"]);
    assert_eq!(claimed["receipt"]["actor"], "agent:coder@shell");
    assert_eq!(claimed["receipt"]["assurance"], "proven");
    agent.refused(&["todo", "add", "x", "--as", "user:ana"], "unauthenticated", 6);
    let user = std::fs::read_to_string(agent.token_file()).unwrap();
    let id = issued["token"]["token_id"].as_str().unwrap();
    let ana = agent.var("LOOPX_TOKEN", user.trim());
    ana.ok(&["token", "revoke", id]);
    let gone = ana.var("LOOPX_TOKEN", secret.trim());
    gone.refused(&["todo", "add", "x"], "unauthenticated", 6);
    let unknown = gone.var("LOOPX_TOKEN", "tok_nonsense");
    unknown.refused(&["todo", "add", "x"], "unauthenticated", 6);
}

#[test]
fn a_retired_agent_s_token_proves_nothing() {
    let desk = Desk::with_work();
    let issued = desk.proven(&["token", "issue", "--actor", "agent:coder"]);
    desk.proven(&["agent", "retire", "coder"]);
    let agent = desk.var("LOOPX_ACTOR", "").var("LOOPX_TOKEN", issued["secret"].as_str().unwrap());
    agent.refused(&["todo", "claim", "ship-it.1"], "unauthenticated", 6);
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let desk = Desk::with_work();
    let path = desk.token_file();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    desk.refused(&["goal", "resume", "--token-file", &path], "invalid_argument", 2);
}
