//! Owns the tokens of a profile: secrets that each prove one actor, of which only a digest is kept.
//!
//! Knows nothing of who may do what. They lie in one small file of the profile that only its owner may read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    authority::{
        profile::{Place, file},
        random,
    },
    error::{Code, Error, Result},
    model::{Actor, Digest, Timestamp, TokenId, uuid_v7},
};

const SCHEMA_VERSION: &str = "loopx_tokens_v1";
/// The most tokens a profile holds, ended ones included.
const TOKENS_MAX: usize = 1000;
/// More is not a file of ours: a token takes some 300 bytes.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its id.
    pub token_id: TokenId,
    /// Whom it proves.
    pub actor: Actor,
    /// The digest of its secret.
    digest: Digest,
    /// When it was made: wall time.
    pub issued_at_ms: Timestamp,
    /// When it ends by itself: wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<Timestamp>,
    /// When it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at_ms: Option<Timestamp>,
}

impl Token {
    /// Where it stands: `valid`, `expired` or `revoked`.
    pub fn state(&self, now: Timestamp) -> &'static str {
        if self.revoked_at_ms.is_some() {
            "revoked"
        } else if self.expires_at_ms.is_some_and(|at| at <= now) {
            "expired"
        } else {
            "valid"
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema_version: String,
    tokens: Vec<Token>,
}

/// The tokens of one profile.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    lock: PathBuf,
}

impl Tokens {
    /// Names the file; opens nothing.
    pub fn at(place: &Place) -> Self {
        Self { path: place.tokens_json(), lock: place.locks().join("tokens.lock") }
    }

    /// All tokens, oldest first.
    ///
    /// Errors: `store_corrupt`, `store_unreadable`, `unsupported_version`.
    pub fn list(&self) -> Result<Vec<Token>> {
        let Some(text) = file::read_ours(&self.path, FILE_MAX_BYTES)? else { return Ok(Vec::new()) };
        let damaged = |e: serde_json::Error| {
            Error::new(Code::StoreCorrupt, "the file of tokens cannot be read").internal(e)
        };
        let stored: Stored = serde_json::from_str(&text).map_err(damaged)?;
        if stored.schema_version != SCHEMA_VERSION {
            return Err(Error::new(
                Code::UnsupportedVersion,
                format!("the file of tokens is not `{SCHEMA_VERSION}`"),
            ));
        }
        Ok(stored.tokens)
    }

    /// Makes a token and returns it with its secret, which is kept nowhere.
    ///
    /// Errors: `queue_full` at a thousand, `store_*`, `disk_full`.
    pub fn issue(
        &self,
        actor: Actor,
        now: Timestamp,
        expires_at_ms: Option<Timestamp>,
    ) -> Result<(Token, String)> {
        self.issue_kept(actor, now, expires_at_ms, |_| Ok(()))
    }

    /// As [`Tokens::issue`], with the secret handed to somebody who keeps it before the token counts.
    pub fn issue_kept(
        &self,
        actor: Actor,
        now: Timestamp,
        expires_at_ms: Option<Timestamp>,
        keep: impl FnOnce(&str) -> Result<()>,
    ) -> Result<(Token, String)> {
        let token_id = TokenId::from_bytes(uuid_v7(now, random::bytes()?));
        let secret = format!("{token_id}.{}", Digest::from_bytes(random::bytes()?));
        let digest = Digest::of(secret.as_bytes());
        let token = Token { token_id, actor, digest, issued_at_ms: now, expires_at_ms, revoked_at_ms: None };
        self.change(|tokens| {
            if tokens.len() >= TOKENS_MAX {
                return Err(Error::new(
                    Code::QueueFull,
                    format!("a profile holds at most {TOKENS_MAX} tokens"),
                ));
            }
            keep(&secret)?;
            tokens.push(token.clone());
            Ok(())
        })?;
        Ok((token, secret))
    }

    /// Ends a token; again it stays as it is.
    ///
    /// Errors: `not_found`, `store_*`, `disk_full`.
    pub fn revoke(&self, id: TokenId, now: Timestamp) -> Result<Token> {
        let mut revoked = None;
        self.change(|tokens| {
            let token = tokens.iter_mut().find(|token| token.token_id == id).ok_or_else(|| {
                Error::new(Code::NotFound, format!("there is no token {id}")).hint("token list")
            })?;
            token.revoked_at_ms.get_or_insert(now);
            revoked = Some(token.clone());
            Ok(())
        })?;
        revoked.ok_or_else(|| Error::from(Code::Internal))
    }

    /// The token whose secret this is, if it still proves its actor.
    ///
    /// Errors: `unauthenticated`, whatever is wrong with it; `store_*`.
    pub fn prove(&self, secret: &str, now: Timestamp) -> Result<Token> {
        let digest = Digest::of(secret.as_bytes());
        let refused = |why: &'static str| Error::new(Code::Unauthenticated, why).hint("token list");
        let token = self.list()?.into_iter().find(|token| token.digest == digest);
        let token = token.ok_or_else(|| refused("this token is not known here"))?;
        match token.state(now) {
            "valid" => Ok(token),
            "revoked" => Err(refused("this token was revoked")),
            _ => Err(refused("this token has expired")),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Token>) -> Result<()>) -> Result<()> {
        let _held = file::lock(&self.lock, "another process changes the tokens")?;
        let mut tokens = self.list()?;
        change(&mut tokens)?;
        let stored = Stored { schema_version: SCHEMA_VERSION.to_owned(), tokens };
        let mut bytes =
            serde_json::to_vec_pretty(&stored).map_err(|e| Error::from(Code::Internal).internal(e))?;
        bytes.push(b'\n');
        file::replace(&self.path, &bytes, 0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::profile::{self, HostFilesystem, NewProfile, Profile};

    fn place() -> (tempfile::TempDir, Place) {
        let dir = tempfile::tempdir().unwrap();
        let env = profile::Env { loopx_home: Some(dir.path().join("home")), ..profile::Env::default() };
        let place = Place::resolve(&env).unwrap();
        let new = NewProfile { profile_id: "prf_x".into(), created_at_ms: 1 };
        Profile::open_or_create(&place, &env, &HostFilesystem, &new).unwrap();
        (dir, place)
    }

    #[test]
    fn a_token_proves_its_actor_until_it_is_revoked_or_expires() {
        let (_dir, place) = place();
        let tokens = Tokens::at(&place);
        let at = Timestamp::from_ms;
        let (token, secret) = tokens.issue("user:ana".parse().unwrap(), at(1000), Some(at(5000))).unwrap();
        assert_eq!(tokens.prove(&secret, at(4999)).unwrap(), token);
        for (text, now) in [(secret.as_str(), 5000), ("", 0), ("tok_x.y", 0), (&secret[..40], 0)] {
            assert_eq!(tokens.prove(text, at(now)).unwrap_err().code(), Code::Unauthenticated);
        }
        tokens.revoke(token.token_id, at(2000)).unwrap();
        assert_eq!(tokens.revoke(token.token_id, at(3000)).unwrap().revoked_at_ms, Some(at(2000)));
        assert_eq!(tokens.prove(&secret, at(2000)).unwrap_err().code(), Code::Unauthenticated);
        let stored = std::fs::read_to_string(place.dir().join("tokens.json")).unwrap();
        assert!(!stored.contains(secret.rsplit('.').next().unwrap()), "the secret is kept nowhere");
    }

    #[test]
    fn an_unknown_field_and_another_version_are_refused() {
        let (_dir, place) = place();
        let tokens = Tokens::at(&place);
        assert!(tokens.list().unwrap().is_empty());
        for (text, code) in [
            (r#"{"schema_version":"loopx_tokens_v1","tokens":[],"more":1}"#, Code::StoreCorrupt),
            (r#"{"schema_version":"loopx_tokens_v9","tokens":[]}"#, Code::UnsupportedVersion),
            ("", Code::StoreCorrupt),
        ] {
            std::fs::write(place.dir().join("tokens.json"), text).unwrap();
            assert_eq!(tokens.list().unwrap_err().code(), code, "{text}");
        }
    }
}
