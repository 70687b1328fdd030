//! Envelopes that a server's private key opens, and hostile answers.

use openssl::md::Md;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::{Padding, Rsa};
use openssl::symm::{Cipher, decrypt, decrypt_aead};
use serde_json::{Value, json};

use super::*;

const KEY: &str = "00112233445566778899aabbccddeeff";
const HASH: &str = "b0-_+/=Zz9";

fn rsa(bits: u32) -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap()
}

fn on_curve(curve: Nid) -> PKey<Private> {
    let mut context = PkeyCtx::new_id(Id::EC).unwrap();
    context.keygen_init().unwrap();
    context.set_ec_paramgen_curve_nid(curve).unwrap();
    context.keygen().unwrap()
}

fn sm2() -> PKey<Private> {
    let mut context = PkeyCtx::new_id(Id::SM2).unwrap();
    context.keygen_init().unwrap();
    context.keygen().unwrap()
}

fn pem(key: &PKey<Private>) -> String {
    String::from_utf8(key.public_key_to_pem().unwrap()).unwrap()
}

fn answer(status: Value, body: &Value) -> String {
    STANDARD.encode(json!({ "status": status, "body": body }).to_string())
}

fn info(suite: &str, pem: &str, hash: &str) -> String {
    let body = json!({ "server_info": {
        "version": "1.2.14", "tee_type": "NO_TEE", "cipher_suite": suite, "public_key": pem, "public_key_hash": hash,
    } });
    answer(json!(0), &json!(body.to_string()))
}

/// The message in a statement.
fn message(statement: &str) -> Value {
    let message = statement
        .strip_prefix("/*encoding_key*/SELECT encdb_process_message('")
        .and_then(|rest| rest.strip_suffix("')"))
        .unwrap();
    assert!(!message.contains(['\'', '\\']), "{message}");
    serde_json::from_str(message).unwrap()
}

/// What is in an envelope, by the calls of the library alone.
fn open(suite: Suite, private: &PKey<Private>, envelope: &[u8]) -> Vec<u8> {
    let length = usize::from(u16::from_le_bytes([envelope[0], envelope[1]]));
    let (sealed, body) = envelope[2..].split_at(length);
    let mut context = PkeyCtx::new(private).unwrap();
    context.decrypt_init().unwrap();
    if matches!(suite, Suite::RsaAesCbc | Suite::RsaAesGcm) {
        context.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
        context.set_rsa_oaep_md(Md::sha256()).unwrap();
        context.set_rsa_mgf1_md(Md::sha256()).unwrap();
    }
    let mut ephemeral = Vec::new();
    context.decrypt_to_vec(sealed, &mut ephemeral).unwrap();
    assert_eq!(ephemeral.len(), 16);
    match suite {
        Suite::RsaAesCbc => {
            decrypt(Cipher::aes_128_cbc(), &ephemeral, Some(&body[..16]), &body[16..]).unwrap()
        }
        Suite::Sm2Sm4Cbc => decrypt(Cipher::sm4_cbc(), &ephemeral, Some(&body[..16]), &body[16..]).unwrap(),
        Suite::RsaAesGcm => decrypt_aead(
            Cipher::aes_128_gcm(),
            &ephemeral,
            Some(&body[..12]),
            &[],
            &body[28..],
            &body[12..28],
        )
        .unwrap(),
        Suite::Sm2Sm4Gcm => {
            let cipher = openssl::cipher::Cipher::fetch(None, "SM4-GCM", None).unwrap();
            let mut context = openssl::cipher_ctx::CipherCtx::new().unwrap();
            context
                .decrypt_init(Some(&cipher), Some(&ephemeral), Some(&body[..12]))
                .unwrap();
            context.set_tag(&body[12..28]).unwrap();
            let mut plaintext = Vec::new();
            context.cipher_update_vec(&body[28..], &mut plaintext).unwrap();
            context.cipher_final_vec(&mut plaintext).unwrap();
            plaintext
        }
    }
}

#[test]
fn the_private_key_finds_the_master_key_in_the_envelope_of_every_suite() {
    let (rsa, sm2) = (rsa(2048), sm2());
    let key = MasterKey::from_hex(KEY).unwrap();
    for suite in Suite::ALL {
        let private = if suite.is_rsa() { &rsa } else { &sm2 };
        let info = ServerInfo::parse(&info(suite.name(), &pem(private), HASH)).unwrap();
        let found = (info.suite, info.version.as_str(), info.tee.as_str());
        assert_eq!(found, (suite, "1.2.14", "NO_TEE"));
        let mut envelopes = Vec::new();
        for _ in 0..2 {
            let message = message(&info.statement(CellAlgorithm::Aes128Gcm, &key).unwrap());
            for (name, wanted) in [
                ("request_type", json!(48)),
                ("cipher_suite", json!(suite.name())),
                ("public_key_hash", json!(HASH)),
                ("algorithm", json!("AES_128_GCM")),
                ("version", json!("1.2.15")),
            ] {
                assert_eq!(message[name], wanted);
            }
            envelopes.push(STANDARD.decode(message["envelope"].as_str().unwrap()).unwrap());
        }
        assert_ne!(envelopes[0], envelopes[1]);
        for envelope in &envelopes {
            let inside: Value = serde_json::from_slice(&open(suite, private, envelope)).unwrap();
            assert_eq!(inside, json!({ "mek": STANDARD.encode(key.bytes()) }));
        }
    }
}

#[test]
fn a_suite_says_how_data_keys_are_derived_and_an_algorithm_what_is_asked() {
    use crate::encdb::Derivation;
    for suite in Suite::ALL {
        let is_rsa = suite.name().starts_with("RSA");
        assert_eq!(suite.derivation() == Derivation::Sha256, is_rsa);
        assert_eq!(suite.name().parse::<Suite>().unwrap(), suite);
    }
    let sm2 = sm2();
    let info = ServerInfo::parse(&info("SM2_WITH_SM4_128_CBC_SM3", &pem(&sm2), HASH)).unwrap();
    let key = MasterKey::random().unwrap();
    let error = info.statement(CellAlgorithm::Wrapped, &key).unwrap_err();
    assert!(error.to_string().contains("wrapped"), "{error}");
}

#[test]
fn an_answer_that_is_none_is_refused_by_what_is_wrong_with_it() {
    let rsa = rsa(2048);
    let good = pem(&rsa);
    let gcm = "RSA_WITH_AES_128_GCM_SHA256";
    let sm2_gcm = "SM2_WITH_SM4_128_GCM_SM3";
    let quoted = "a','x')) -- ";
    let encrypted = good.replace("KEY-----\nMII", "KEY-----\nProc-Type: 4,ENCRYPTED\n\nMII");
    let (short, other_curve) = (pem(&self::rsa(1024)), pem(&on_curve(Nid::X9_62_PRIME256V1)));
    let none_of = "\"RSA_WITH_RC4\", which is none of RSA_WITH_AES_128_CBC_SHA256";
    for (answer, says) in [
        (String::new(), "empty"),
        ("no, thanks!".into(), "not Base64"),
        ("A".repeat(300_000), "300000 bytes"),
        (STANDARD.encode("<html>"), "no JSON"),
        (STANDARD.encode("[".repeat(100_000)), "no JSON"),
        (STANDARD.encode("{}"), "no status"),
        (STANDARD.encode(r#"{"status":"0"}"#), "no status"),
        (STANDARD.encode(r#"{"status":0}"#), "no body"),
        (answer(json!(0), &json!({ "server_info": 1 })), "no body"),
        (answer(json!(0), &json!("{}")), "no server_info"),
        (answer(json!(0), &json!("noise")), "no JSON"),
        (answer(json!(7), &json!("not\nenabled")), "status 7: not enabled"),
        (answer(json!(-1), &json!(null)), "status -1: nothing"),
        (info("RSA_WITH_RC4", &good, HASH), none_of),
        (info(gcm, &good, quoted), "public_key_hash"),
        (info(gcm, &good, "a\\"), "public_key_hash"),
        (info(gcm, &good, ""), "public_key_hash"),
        (info(gcm, &good, &"a".repeat(1000)), "public_key_hash"),
        (info(gcm, "no key", HASH), "is not in PEM"),
        (info(gcm, &good.replace("MII", "*"), HASH), "is not Base64"),
        (info(gcm, &good.replace("MII", "MIIA"), HASH), "public key"),
        (info(gcm, &encrypted, HASH), "is not Base64"),
        (info(gcm, &pem(&sm2()), HASH), "is none of RSA"),
        (info(gcm, &short, HASH), "has 1024 bits; expected 2048 to 8192"),
        (info(sm2_gcm, &good, HASH), "is no point on the curve SM2"),
        (info(sm2_gcm, &other_curve, HASH), "is no point on the curve SM2"),
    ] {
        match ServerInfo::parse(&answer) {
            Ok(_) => panic!("{says}: is taken"),
            Err(error) => assert!(error.to_string().contains(says), "{says}: {error}"),
        }
    }
}

#[test]
fn a_changed_answer_is_never_a_panic() {
    let answer = info("SM2_WITH_SM4_128_CBC_SM3", &pem(&sm2()), HASH);
    let message = STANDARD.decode(&answer).unwrap();
    let key = MasterKey::random().unwrap();
    for at in 0..message.len() {
        for changed in [
            message[..at].to_vec(),
            [&message[..at], b"\xff\"", &message[at + 1..]].concat(),
        ] {
            if let Ok(info) = ServerInfo::parse(&STANDARD.encode(changed)) {
                let _ = info.statement(CellAlgorithm::Sm4Gcm, &key);
            }
        }
    }
    for at in (27..91).step_by(7) {
        // A point that is on no curve.
        let mut der = sm2().public_key_to_der().unwrap();
        der[at] ^= 0x55;
        let broken = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----",
            STANDARD.encode(der)
        );
        assert!(ServerInfo::parse(&info("SM2_WITH_SM4_128_CBC_SM3", &broken, HASH)).is_err());
    }
}

#[test]
fn base64_may_have_broken_lines_and_what_is_for_people_may_be_missing() {
    let body = json!({ "server_info": {
        "version": 3, "cipher_suite": "SM2_WITH_SM4_128_CBC_SM3", "public_key": pem(&sm2()), "public_key_hash": HASH,
    } });
    let broken: Vec<u8> = answer(json!(0), &json!(body.to_string()))
        .into_bytes()
        .chunks(76)
        .flat_map(|line| [line, b"\n"].concat())
        .collect();
    let info = ServerInfo::parse(std::str::from_utf8(&broken).unwrap()).unwrap();
    assert_eq!((info.version.as_str(), info.tee.as_str()), ("3", "not said"));
}

#[test]
fn a_server_takes_the_key_or_says_why_not() {
    for taken in [json!("{}"), json!(null), json!({}), json!("")] {
        check_taken(&answer(json!(0), &taken)).unwrap();
    }
    let error = check_taken(&answer(json!(3), &json!("no such key"))).unwrap_err();
    let expected = "the server refuses, with status 3: no such key";
    assert_eq!(error.to_string(), expected);
    assert!(check_taken("").is_err());
}
