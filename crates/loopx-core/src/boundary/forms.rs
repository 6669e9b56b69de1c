//! Owns the fixed beginnings of credentials, as their issuers publish them.
//!
//! Knows nothing of where one stands.

use super::credential::Credential;

/// Which bytes may stand in a run.
pub(super) type Alphabet = fn(u8) -> bool;

const fn upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}
pub(super) const fn alnum(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}
const fn hex(b: u8) -> bool {
    b.is_ascii_digit() || matches!(b, b'a'..=b'f')
}
pub(super) const fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}
pub(super) const fn dotted(b: u8) -> bool {
    word(b) || matches!(b, b'.' | b'/' | b'+' | b'~' | b'=' | b':')
}

/// How a credential begins, and what follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// The fixed text.
    pub(super) begins: &'static str,
    /// What may follow.
    pub(super) of: Alphabet,
    /// How much of it follows at least, in bytes.
    pub(super) least: usize,
    /// Whether no more than that follows.
    pub(super) is_exact: bool,
    /// The kind.
    pub(super) kind: Credential,
}

const fn form(begins: &'static str, of: Alphabet, least: usize, kind: Credential) -> Form {
    Form { begins, of, least, is_exact: false, kind }
}
const fn exact(begins: &'static str, of: Alphabet, least: usize, kind: Credential) -> Form {
    Form { begins, of, least, is_exact: true, kind }
}

/// All of them. What stands first is looked at first.
pub(super) const BEGINNINGS: &[Form] = &[
    exact("AKIA", upper, 16, Credential::Cloud),
    exact("ASIA", upper, 16, Credential::Cloud),
    exact("ABIA", upper, 16, Credential::Cloud),
    exact("ACCA", upper, 16, Credential::Cloud),
    form("AIza", word, 35, Credential::Cloud),
    form("ya29.", dotted, 20, Credential::Cloud),
    form("GOCSPX-", word, 20, Credential::Cloud),
    form("dop_v1_", alnum, 40, Credential::Cloud),
    form("SG.", dotted, 60, Credential::Cloud),
    form("hvs.", word, 24, Credential::Cloud),
    form("hvb.", word, 24, Credential::Cloud),
    form("dp.pt.", alnum, 40, Credential::Cloud),
    form("dp.st.", dotted, 40, Credential::Cloud),
    form("pul-", hex, 40, Credential::Cloud),
    exact("dapi", hex, 32, Credential::Cloud),
    form("NRAK-", upper, 27, Credential::Cloud),
    form("xkeysib-", word, 60, Credential::Cloud),
    exact("key-", hex, 32, Credential::Cloud),
    form("sntrys_", dotted, 40, Credential::Cloud),
    form("fo1_", word, 40, Credential::Cloud),
    form("PMAK-", word, 59, Credential::Cloud),
    form("glsa_", word, 40, Credential::Cloud),
    form("ghp_", alnum, 36, Credential::Forge),
    form("gho_", alnum, 36, Credential::Forge),
    form("ghu_", alnum, 36, Credential::Forge),
    form("ghs_", alnum, 36, Credential::Forge),
    form("ghr_", alnum, 36, Credential::Forge),
    form("github_pat_", word, 22, Credential::Forge),
    form("glpat-", word, 20, Credential::Forge),
    form("gldt-", word, 20, Credential::Forge),
    form("glrt-", word, 20, Credential::Forge),
    form("glptt-", word, 20, Credential::Forge),
    form("glcbt-", word, 20, Credential::Forge),
    form("gloas-", word, 20, Credential::Forge),
    form("glsoat-", word, 20, Credential::Forge),
    form("glft-", word, 20, Credential::Forge),
    form("glimt-", word, 20, Credential::Forge),
    form("glagent-", word, 20, Credential::Forge),
    form("ATATT3", dotted, 100, Credential::Forge),
    form("ATBB", alnum, 32, Credential::Forge),
    form("xoxb-", word, 10, Credential::Chat),
    form("xoxp-", word, 10, Credential::Chat),
    form("xoxa-", word, 10, Credential::Chat),
    form("xoxr-", word, 10, Credential::Chat),
    form("xoxs-", word, 10, Credential::Chat),
    form("xoxe-", word, 10, Credential::Chat),
    form("xoxe.", dotted, 10, Credential::Chat),
    form("xapp-", word, 10, Credential::Chat),
    form("hooks.slack.com/services/", dotted, 20, Credential::Chat),
    form("discord.com/api/webhooks/", dotted, 30, Credential::Chat),
    form("lin_api_", alnum, 40, Credential::Chat),
    form("ntn_", alnum, 40, Credential::Chat),
    form("sk_live_", alnum, 16, Credential::Payment),
    form("sk_test_", alnum, 16, Credential::Payment),
    form("rk_live_", alnum, 16, Credential::Payment),
    form("rk_test_", alnum, 16, Credential::Payment),
    form("whsec_", dotted, 16, Credential::Payment),
    form("sq0csp-", word, 40, Credential::Payment),
    form("shpat_", hex, 32, Credential::Payment),
    form("shpss_", hex, 32, Credential::Payment),
    form("shpca_", hex, 32, Credential::Payment),
    form("npm_", alnum, 36, Credential::Registry),
    form("pypi-", word, 50, Credential::Registry),
    form("dckr_pat_", word, 20, Credential::Registry),
    form("dckr_oat_", word, 20, Credential::Registry),
    exact("rubygems_", hex, 48, Credential::Registry),
    exact("cio", alnum, 32, Credential::Registry),
    form("sk-ant-", word, 20, Credential::Model),
    form("sk-proj-", word, 20, Credential::Model),
    form("sk-svcacct-", word, 20, Credential::Model),
    form("sk-or-v1-", alnum, 32, Credential::Model),
    form("sk-", alnum, 32, Credential::Model),
    form("hf_", alnum, 30, Credential::Model),
    form("gsk_", alnum, 32, Credential::Model),
    form("xai-", alnum, 32, Credential::Model),
    form("r8_", alnum, 37, Credential::Model),
    form("sk-admin-", word, 20, Credential::Model),
    form("pplx-", alnum, 40, Credential::Model),
    form("AGE-SECRET-KEY-1", upper, 40, Credential::PrivateKey),
];

/// Which bytes begin one of them, all of them ASCII: a bit each.
const FIRST: u128 = {
    let (mut first, mut rest) = (0, BEGINNINGS);
    while let Some((form, after)) = rest.split_first() {
        if let Some((byte, _)) = form.begins.as_bytes().split_first() {
            first |= 1 << *byte;
        }
        rest = after;
    }
    first
};

/// Whether a byte can begin a credential of a fixed form.
pub(super) const fn is_first(byte: u8) -> bool {
    byte.is_ascii() && (FIRST >> byte) & 1 == 1
}
