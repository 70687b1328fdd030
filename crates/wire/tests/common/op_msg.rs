//! What a MongoDB says, byte by byte.

use ciphertax_wire::mongodb::Account;
use ciphertax_wire::mongodb::bson::spec::BinarySubtype;
use ciphertax_wire::mongodb::bson::{Binary, RawDocumentBuf};

use crate::common::*;

pub(crate) const OP_MSG: i32 = 2013;

/// A message of this length, number of the question, code and flags.
pub(crate) fn message(length: i32, answers: i32, code: i32, flags: i32, rest: &[u8]) -> Vec<u8> {
    let header = [length, 99, answers, code, flags];
    let mut message: Vec<u8> = header.into_iter().flat_map(i32::to_le_bytes).collect();
    message.extend_from_slice(rest);
    message
}

pub(crate) fn answer(number: i32, document: &RawDocumentBuf) -> Vec<u8> {
    let length = document.as_bytes().len() as i32 + 21;
    message(length, number, OP_MSG, 0, &[&[0], document.as_bytes()].concat())
}

pub(crate) fn greeting() -> RawDocumentBuf {
    rawdoc! { "isWritablePrimary": true, "maxMessageSizeBytes": 48_000_000_i32, "maxWireVersion": 17_i32, "ok": 1.0 }
}

pub(crate) fn found() -> RawDocumentBuf {
    rawdoc! { "cursor": { "firstBatch": [{ "_id": 1_i32, "a": "b" }], "id": 0_i64, "ns": "d.t" }, "ok": 1.0 }
}

pub(crate) fn binary(text: &str) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: text.as_bytes().to_vec(),
    }
}

pub(crate) fn account(mechanism: Mechanism) -> Account {
    Account {
        mechanism: Some(mechanism),
        user: "somebody".into(),
        password: Secret::new(PASSWORD),
        source: "admin".into(),
    }
}
