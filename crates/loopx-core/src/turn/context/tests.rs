//! Owns the tests of a contract's continuity: what is sent for what is held, and that it comes to the same packet.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::{Basis, Doubt, Form, Held, Packet, Part, Presented, Reason, contract};
use crate::{
    error::Code,
    model::{Digest, GoalInstance, IncarnationId, json_value},
    turn::wire::{Action, Envelope, Request, ValidatorPart},
};

const REQUEST: &str = include_str!("../../../../../docs/wire/request.json");

/// The documented packet with something in it changed, and signed anew.
fn packet(change: impl FnOnce(&mut Packet)) -> Packet {
    let envelope = Request::parse(REQUEST.as_bytes()).unwrap().turn_envelope;
    let mut packet =
        Packet { incarnation: IncarnationId::from_bytes([7; 16]), goal_revision: 4, generation: 0, envelope };
    change(&mut packet);
    let hash = packet.envelope.content_hash().unwrap();
    packet.envelope = packet.envelope.seal(hash).unwrap();
    packet
}

/// What is held of a packet, as its basis comes back on a command line.
fn held(packet: &Packet) -> Held {
    let word = Basis::of(packet).unwrap().to_string();
    Held { basis: Some(word.parse().unwrap()), doubt: None }
}

fn doubted(packet: &Packet, doubt: Doubt) -> Held {
    Held { doubt: Some(doubt), ..held(packet) }
}

fn answer(now: &Packet, held: &Held) -> Value {
    contract(now, held).unwrap().answer(now).unwrap()
}

fn reason(now: &Packet, held: &Held) -> Option<Reason> {
    match contract(now, held).unwrap().form {
        Form::Full { reason } => Some(reason),
        Form::Delta { .. } | Form::Unchanged => None,
    }
}

/// What a caller does with an answer, by the reference page alone: fields are replaced, nothing is understood.
fn applied(held: Option<&Value>, answer: &Value) -> Value {
    match answer["form"].as_str().unwrap() {
        "full" => answer["packet"].clone(),
        "unchanged" => held.unwrap().clone(),
        "delta" => {
            let mut packet = held.unwrap().clone();
            assert_eq!(answer["on"], digest(&packet), "it is put on the packet that is held");
            for (name, value) in answer["changes"].as_object().unwrap() {
                assert!(packet.get(name).is_some(), "a part is replaced, none is added");
                packet[name] = value.clone();
            }
            packet
        }
        other => panic!("{other}"),
    }
}

fn digest(packet: &Value) -> Value {
    json_value(&Digest::of_value(packet).unwrap()).unwrap()
}

/// That what comes of an answer is the present packet, byte by byte.
fn reconstructs(old: &Packet, now: &Packet, answer: &Value) {
    let old = json_value(&old.envelope).unwrap();
    let new = applied(Some(&old), answer);
    let read: Envelope = serde_json::from_value(new.clone()).unwrap();
    assert_eq!(serde_json::to_vec(&read).unwrap(), serde_json::to_vec(&now.envelope).unwrap());
    assert_eq!(answer["digest"], digest(&new));
    read.check_signature().unwrap();
    assert_eq!(answer["basis"], Basis::of(now).unwrap().to_string());
}

#[test]
fn v05_initial_who_holds_nothing_is_told_all() {
    let now = packet(|_| {});
    let told = answer(&now, &Held::default());
    assert_eq!((told["form"].as_str(), told["reason"].as_str()), (Some("full"), Some("initial")));
    assert_eq!(applied(None, &told), json_value(&now.envelope).unwrap());
    assert_eq!(told["digest"], digest(&told["packet"]));
}

#[test]
fn v05_unchanged_who_holds_it_is_told_nothing_again() {
    let now = packet(|_| {});
    let told = answer(&now, &held(&now));
    let fields: BTreeSet<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["basis", "digest", "form"].into());
    assert_eq!(told["form"], "unchanged");
    reconstructs(&now, &now, &told);
}

#[test]
fn what_changes_under_the_same_revisions_is_told_alone() {
    let old = packet(|_| {});
    let now = packet(|packet| {
        packet.envelope.gates.blocking.clear();
        packet.envelope.quota_left.turns = Some(6);
    });
    let told = answer(&now, &held(&old));
    assert_eq!(told["form"], "delta");
    let changed: Vec<&str> = told["changes"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(changed, ["action_signature", "gates", "quota_left"]);
    assert!(told["changes"].to_string().len() * 4 < json_value(&now.envelope).unwrap().to_string().len());
    reconstructs(&old, &now, &told);
}

#[test]
fn v05_revised_another_revision_of_goal_or_requirement_is_told_whole() {
    let old = packet(|_| {});
    for now in [
        packet(|packet| packet.goal_revision = 5),
        packet(|packet| packet.envelope.todo.requirement_revision = 4),
        packet(|packet| packet.envelope.todo.requirement_revision = 2),
        packet(|packet| {
            packet.envelope.todo.requirement_revision = 4;
            packet.envelope.todo.title = "Cache less".parse().unwrap();
        }),
    ] {
        assert_eq!(reason(&now, &held(&old)), Some(Reason::Revised));
        reconstructs(&old, &now, &answer(&now, &held(&old)));
    }
}

#[test]
fn v05_compacted_who_may_have_forgotten_is_told_all_though_nothing_changed() {
    let now = packet(|_| {});
    for held in [doubted(&now, Doubt::Compacted), Held { basis: None, doubt: Some(Doubt::Compacted) }] {
        assert_eq!(reason(&now, &held), Some(Reason::Compacted));
        assert_eq!(applied(None, &answer(&now, &held)), json_value(&now.envelope).unwrap());
    }
}

#[test]
fn v05_lost_acknowledgement_is_told_all_and_what_was_sent_in_vain_counts_for_nothing() {
    let first = packet(|_| {});
    let second = packet(|packet| packet.envelope.quota_left.turns = Some(6));
    let third = packet(|packet| packet.envelope.gates.blocking.clear());
    // The delta to the second is lost: who still holds the first says so, and is brought from there to the third.
    let lost = answer(&second, &held(&first));
    let told = answer(&third, &held(&first));
    assert_ne!(lost["digest"], told["digest"]);
    assert_eq!(told["form"], "delta");
    reconstructs(&first, &third, &told);
    // Who cannot tell which of them came says that.
    let unknown = doubted(&second, Doubt::AcknowledgementLost);
    assert_eq!(reason(&third, &unknown), Some(Reason::AcknowledgementLost));
    assert_eq!(applied(None, &answer(&third, &unknown)), json_value(&third.envelope).unwrap());
}

/// One that nothing but its digest tells from another, as no packet has it.
fn forged(packet: &Packet) -> Held {
    let mut basis = Basis::of(packet).unwrap();
    basis.digest = Digest::of(b"another");
    let word = basis.to_string();
    Held { basis: Some(word.parse().unwrap()), doubt: None }
}

/// Everything under the same revisions has another content.
fn all_changed() -> Packet {
    packet(|packet| {
        let envelope = &mut packet.envelope;
        envelope.todo.title = "Another".parse().unwrap();
        envelope.effective_action = Action::Run;
        envelope.recommended_action = "work".parse().unwrap();
        envelope.boundary.exclusive_workspace = true;
        envelope.gates.more = 3;
        envelope.required_reads.clear();
        envelope.execution_policy.attempts_left = 0;
        envelope.validators.clear();
        envelope.quota_left.turns = None;
    })
}

#[test]
fn each_reason_to_send_all_is_met_and_the_first_that_holds_is_given() {
    let old = packet(|_| {});
    let other_form = Held { basis: Some(Presented::OtherForm), doubt: None };
    let all = [
        Reason::Compacted,
        Reason::AcknowledgementLost,
        Reason::Initial,
        Reason::OtherForm,
        Reason::Incarnation,
        Reason::Goal,
        Reason::Agent,
        Reason::Todo,
        Reason::Generation,
        Reason::Revised,
        Reason::UnknownDigest,
        Reason::AllChanged,
    ];
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "in the order of the rules, each once");
    for wanted in all {
        // Another reason has to stand here with what it is met by.
        let (now, held) = match wanted {
            Reason::Compacted => (packet(|_| {}), doubted(&old, Doubt::Compacted)),
            Reason::AcknowledgementLost => (packet(|_| {}), doubted(&old, Doubt::AcknowledgementLost)),
            Reason::Initial => (packet(|_| {}), Held::default()),
            Reason::OtherForm => (packet(|_| {}), other_form.clone()),
            Reason::Incarnation => {
                (packet(|packet| packet.incarnation = IncarnationId::from_bytes([8; 16])), held(&old))
            }
            Reason::Goal => {
                let other = GoalInstance::from_bytes([9; 16]);
                (packet(|packet| packet.envelope.goal_instance = other), held(&old))
            }
            Reason::Agent => {
                (packet(|packet| packet.envelope.agent_id = "other".parse().unwrap()), held(&old))
            }
            Reason::Todo => {
                let other = "faster-builds.5".parse().unwrap();
                (packet(|packet| packet.envelope.todo.todo_id = other), held(&old))
            }
            Reason::Generation => (packet(|packet| packet.generation = 1), held(&old)),
            Reason::Revised => (packet(|packet| packet.goal_revision = 5), held(&old)),
            Reason::UnknownDigest => (packet(|_| {}), forged(&old)),
            Reason::AllChanged => (all_changed(), held(&old)),
        };
        assert_eq!(reason(&now, &held), Some(wanted));
        let told = answer(&now, &held);
        assert_eq!(told["reason"], json_value(&wanted).unwrap());
        assert_eq!(
            applied(None, &told),
            json_value(&now.envelope).unwrap(),
            "all of it, with no look at what is held"
        );
    }
    // What holds at once is decided by the order.
    let other = |packet: &mut Packet| {
        packet.incarnation = IncarnationId::from_bytes([8; 16]);
        packet.envelope.goal_instance = GoalInstance::from_bytes([9; 16]);
        packet.generation = 1;
        packet.goal_revision = 5;
    };
    assert_eq!(reason(&packet(other), &held(&old)), Some(Reason::Incarnation));
    assert_eq!(
        reason(&packet(other), &doubted(&old, Doubt::AcknowledgementLost)),
        Some(Reason::AcknowledgementLost)
    );
}

#[test]
fn what_is_no_part_says_whose_packet_it_is() {
    let fields = json_value(&packet(|_| {}).envelope).unwrap();
    let parts: BTreeSet<&str> = Part::ALL.into_iter().map(Part::name).collect();
    assert_eq!(parts.len(), Part::ALL.len());
    let rest: BTreeSet<&str> =
        fields.as_object().unwrap().keys().map(String::as_str).filter(|name| !parts.contains(name)).collect();
    // The schema is of the basis's form; the id of the Goal is one with its instance.
    assert_eq!(rest, ["schema_version", "goal_id", "goal_instance", "agent_id"].into());
    assert!(parts.iter().all(|name| fields.get(name).is_some()));
}

#[test]
fn a_basis_that_no_release_wrote_is_refused_and_that_of_another_release_is_not() {
    let word = Basis::of(&packet(|_| {})).unwrap().to_string();
    assert!(word.len() < super::BASIS_MAX_BYTES / 2, "{}", word.len());
    let refused = |word: &str| {
        let refused = word.parse::<Presented>().unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{word}");
    };
    for at in 5..word.len() {
        let mut other = word.clone();
        let letter = if &word[at..=at] == "0" { "1" } else { "0" };
        other.replace_range(at..=at, letter);
        refused(&other);
    }
    for cut in 0..word.len() {
        refused(&word[..cut]);
    }
    for wrong in [
        "",
        "wcb_00",
        "wcb00_00",
        "wcb0",
        "wcb0_",
        "wcb0_zz",
        "wcb0_+f",
        "wcb-1_00",
        "wcx0_00",
        "wcb1_",
        "wcb1_A",
        &word.to_uppercase(),
        &format!("{word} "),
        &format!("{word}00"),
        &format!("wcb1_{}", "0".repeat(super::BASIS_MAX_BYTES)),
    ] {
        refused(wrong);
    }
    assert_eq!("wcb1_whatever0it0says".parse::<Presented>().unwrap(), Presented::OtherForm);
    assert_eq!(
        word.parse::<Presented>().unwrap(),
        Presented::Known(Box::new(Basis::of(&packet(|_| {})).unwrap()))
    );
}

#[test]
fn a_basis_has_the_form_that_its_head_names() {
    // Another list of parts, or another way to print them, is another form: raise it, and only then edit this.
    let word = Basis::of(&packet(|_| {})).unwrap().to_string();
    assert_eq!(
        Digest::of(word.as_bytes()).to_string(),
        "e63ac63dc9bc1f96ece3ccf96ca6e09119f1fb3c7b709cf68b2bfec805bdce55"
    );
}

/// What may differ between two packets, drawn small so that all of it also meets.
fn drawn() -> impl Strategy<Value = Packet> {
    let text = || "[a-zé\"\\\\-]{1,12}";
    let whose = (rarely(), rarely(), rarely(), rarely(), rarely(), rarely(), rarely());
    let said = (proptest::option::of(text()), text(), any::<bool>(), any::<bool>(), 0_u32..3);
    let more =
        (proptest::collection::vec(text(), 0..3), 0_usize..3, proptest::option::of(0_u64..3), any::<bool>());
    (whose, said, more).prop_map(
        |(whose, (detail, title, repair, gates, counted), (reads, proofs, turns, cut))| {
            let (incarnation, instance, agent, todo, generation, goal_revision, requirement) = whose;
            let mut packet = packet(|packet| {
                packet.incarnation = IncarnationId::from_bytes([u8::from(incarnation); 16]);
                packet.generation = generation.into();
                packet.goal_revision = u64::from(goal_revision);
                let envelope = &mut packet.envelope;
                envelope.goal_instance = GoalInstance::from_bytes([u8::from(instance); 16]);
                envelope.agent_id = if agent { "a" } else { "b" }.parse().unwrap();
                envelope.todo.todo_id = if todo { "g.1" } else { "g.2" }.parse().unwrap();
                envelope.todo.requirement_revision = requirement.into();
                envelope.todo.detail = detail.map(|detail| detail.parse().unwrap());
                envelope.todo.title = title.parse().unwrap();
                envelope.effective_action = if repair { Action::Repair } else { Action::Run };
                if gates {
                    envelope.gates.blocking.clear();
                }
                envelope.gates.more = counted;
                envelope.required_reads = reads.iter().map(|read| read.parse().unwrap()).collect();
                let one: ValidatorPart = envelope.validators[0].clone();
                envelope.validators = vec![one; proofs];
                envelope.quota_left.turns = turns;
            });
            if cut {
                packet.envelope = packet.envelope.seal(Digest::of(b"before it was cut")).unwrap();
            }
            packet
        },
    )
}

fn rarely() -> impl Strategy<Value = bool> {
    proptest::bool::weighted(0.05)
}

fn presented() -> impl Strategy<Value = (bool, Option<Doubt>)> {
    let doubt = prop_oneof![
        8 => Just(None),
        1 => Just(Some(Doubt::Compacted)),
        1 => Just(Some(Doubt::AcknowledgementLost)),
    ];
    (proptest::bool::weighted(0.9), doubt)
}

/// Why all is to be sent, from the packets themselves.
fn doubts(old: &Packet, now: &Packet, (has_basis, doubt): (bool, Option<Doubt>)) -> Option<Reason> {
    let todo = |packet: &Packet| packet.envelope.todo.clone();
    match doubt {
        Some(Doubt::Compacted) => Some(Reason::Compacted),
        Some(Doubt::AcknowledgementLost) => Some(Reason::AcknowledgementLost),
        None if !has_basis => Some(Reason::Initial),
        None if old.incarnation != now.incarnation => Some(Reason::Incarnation),
        None if old.envelope.goal_instance != now.envelope.goal_instance => Some(Reason::Goal),
        None if old.envelope.agent_id != now.envelope.agent_id => Some(Reason::Agent),
        None if todo(old).todo_id != todo(now).todo_id => Some(Reason::Todo),
        None if old.generation != now.generation => Some(Reason::Generation),
        None if old.goal_revision != now.goal_revision => Some(Reason::Revised),
        None if todo(old).requirement_revision != todo(now).requirement_revision => Some(Reason::Revised),
        None => None,
    }
}

proptest! {
    #[test]
    fn a_delta_comes_to_the_present_packet_exactly_or_all_of_it_is_sent(
        old in drawn(),
        now in drawn(),
        same in proptest::bool::weighted(0.1),
        presented in presented(),
    ) {
        let now = if same { old.clone() } else { now };
        let held = Held { basis: held(&old).basis.filter(|_| presented.0), doubt: presented.1 };
        let told = answer(&now, &held);
        match (doubts(&old, &now, presented), told["form"].as_str().unwrap()) {
            (Some(reason), form) => {
                prop_assert_eq!(form, "full");
                prop_assert_eq!(&told["reason"], &json_value(&reason).unwrap());
            }
            (None, "unchanged") => prop_assert_eq!(&old.envelope, &now.envelope),
            (None, form) => {
                prop_assert_eq!(form, "delta");
                prop_assert!(old.envelope != now.envelope);
                let (before, after) = (json_value(&old.envelope).unwrap(), json_value(&now.envelope).unwrap());
                for (name, value) in told["changes"].as_object().unwrap() {
                    prop_assert!(before[name] != *value && after[name] == *value, "{}", name);
                }
            }
        }
        reconstructs(&old, &now, &told);
    }

    #[test]
    fn any_word_is_a_basis_or_is_refused_with_its_code(word in "(wcb[0-9]{0,2}_)?[0-9a-f_ é]{0,40}") {
        match word.parse::<Presented>() {
            Ok(Presented::Known(basis)) => prop_assert_eq!(basis.to_string(), word),
            Ok(Presented::OtherForm) => prop_assert!(word.starts_with("wcb") && !word.starts_with("wcb0_")),
            Err(error) => prop_assert_eq!(error.code(), Code::InvalidArgument),
        }
    }
}
