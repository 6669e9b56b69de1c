//! Owns the request a host reads from its stdin.
//!
//! Knows nothing of how it gets there.

use serde::{Deserialize, Serialize, Serializer};

use super::{
    envelope::Envelope,
    result::{
        CLASSIFICATION_MAX_BYTES, LIST_MAX_ITEMS, NEXT_ACTION_MAX_BYTES, RECOMMENDED_ACTION_MAX_BYTES,
        RESULT_MAX_BYTES, ResultSchema, SUMMARY_MAX_BYTES, WireKind,
    },
    strict::{self, Object},
};
use crate::{
    boundary::Private,
    error::{Code, Error, Result},
    model::{Digest, Label, from_json},
};

/// The most a whole request may have, in bytes.
pub const REQUEST_MAX_BYTES: usize = 32 * 1024;

/// The request's schema id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestSchema {
    /// The only one.
    #[serde(rename = "loopx_turn_host_request_v0")]
    V0,
}

/// One attempt of one Turn, as it is put to a host.
///
/// It serialises because it goes into the host's own pipe, and with it the handle of the host's own session; it is
/// public nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The schema.
    #[serde(deserialize_with = "strict::word")]
    pub schema_version: RequestSchema,
    /// What names the Turn; the result has to repeat it.
    pub turn_key: Digest,
    /// Which attempt this is, from 1.
    pub attempt: u8,
    /// The name under which this host was chosen.
    pub route: Label,
    /// What to do about the host's session.
    #[serde(deserialize_with = "strict::object")]
    pub session: Session,
    /// What the executor must know.
    #[serde(deserialize_with = "strict::object")]
    pub turn_envelope: Envelope,
    /// What the result has to look like.
    #[serde(deserialize_with = "strict::object")]
    pub result_contract: ResultContract,
}

/// What to do about the host's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// What.
    #[serde(deserialize_with = "strict::word")]
    pub action: SessionAction,
    /// The host's own name of the session, for [`SessionAction::Resume`] alone.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "into_pipe")]
    pub handle: Option<Private<String>>,
}

/// What to do about the host's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionAction {
    /// Keep none.
    None,
    /// Start one and report its handle.
    StartNew,
    /// Go on with this one.
    Resume,
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
fn into_pipe<S: Serializer>(handle: &Option<Private<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    handle.as_ref().map(Private::expose).serialize(serializer)
}

/// What the result has to look like; sizes in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultContract {
    /// The schema.
    #[serde(deserialize_with = "strict::word")]
    pub schema_version: ResultSchema,
    /// The kinds that are taken.
    #[serde(deserialize_with = "strict::words")]
    pub result_kinds: Vec<WireKind>,
    /// The whole object.
    pub result_max_bytes: usize,
    /// `summary`.
    pub summary_max_bytes: usize,
    /// `classification`.
    pub classification_max_bytes: usize,
    /// `next_action`.
    pub next_action_max_bytes: usize,
    /// `recommended_action`.
    pub recommended_action_max_bytes: usize,
    /// Every list.
    pub list_max_items: usize,
}

impl ResultContract {
    /// The contract of this release.
    pub fn current() -> Self {
        Self {
            schema_version: ResultSchema::V0,
            result_kinds: WireKind::ALL.to_vec(),
            result_max_bytes: RESULT_MAX_BYTES,
            summary_max_bytes: SUMMARY_MAX_BYTES,
            classification_max_bytes: CLASSIFICATION_MAX_BYTES,
            next_action_max_bytes: NEXT_ACTION_MAX_BYTES,
            recommended_action_max_bytes: RECOMMENDED_ACTION_MAX_BYTES,
            list_max_items: LIST_MAX_ITEMS,
        }
    }
}

impl Request {
    /// Encodes it for the host's stdin.
    ///
    /// `required_context_too_large` when the envelope does not fit, `payload_too_large` when the rest does not,
    /// `invalid_argument` when session and handle disagree or the envelope is not sealed.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.check()?;
        let bytes = serde_json::to_vec(self).map_err(|e| Error::from(Code::Internal).internal(e))?;
        if bytes.len() > REQUEST_MAX_BYTES {
            return Err(too_large());
        }
        Ok(bytes)
    }

    /// Reads a request, as a host does, and checks the envelope against its signature.
    ///
    /// `payload_too_large`, `unsupported_version`, `unknown_field` for any key or value that is not the wire's, else
    /// as [`Request::encode`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > REQUEST_MAX_BYTES {
            return Err(too_large());
        }
        let request = from_json::<Object<Self>>(bytes).map_err(|error| {
            let version = schema_version(bytes);
            let (code, message) = match version.as_deref() {
                Some("loopx_turn_host_request_v0") | None => {
                    (Code::UnknownField, "a key or value of the request is not the wire's")
                }
                Some(_) => (Code::UnsupportedVersion, "the request has another schema version"),
            };
            Error::new(code, message).internal(error)
        })?;
        request.0.check()?;
        Ok(request.0)
    }

    fn check(&self) -> Result<()> {
        let resumes = self.session.action == SessionAction::Resume;
        if resumes != self.session.handle.is_some() || self.attempt == 0 {
            let message = "a session is resumed with its handle, and an attempt is counted from 1";
            return Err(Error::new(Code::InvalidArgument, message));
        }
        self.turn_envelope.check_size()?;
        self.turn_envelope.check_signature()
    }
}

/// The schema version an object claims, whatever else it is.
pub(super) fn schema_version(bytes: &[u8]) -> Option<String> {
    let value: serde_json::Value = from_json(bytes).ok()?;
    value.get("schema_version")?.as_str().map(str::to_owned)
}

fn too_large() -> Error {
    let message = format!("the request is larger than {REQUEST_MAX_BYTES} bytes");
    Error::new(Code::PayloadTooLarge, message).detail("limit_bytes", REQUEST_MAX_BYTES)
}
