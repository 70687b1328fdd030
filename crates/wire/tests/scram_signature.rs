//! A server proves by the end of a SCRAM login that it knows the password too: one that does not is refused, as is one
//! that leaves the proof out.

use base64::Engine as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::bson::RawDocumentBuf;
use ciphertax_wire::mongodb::{ConnectOptions, Session};

use crate::common::op_msg::{account, answer, binary, greeting};
use crate::common::*;

const SALT: &[u8] = b"a salt of some length";
const ITERATIONS: usize = 4096;
const MECHANISMS: [Mechanism; 2] = [Mechanism::ScramSha1, Mechanism::ScramSha256];

/// What the server says last, made from its right signature.
type End = fn(Vec<u8>) -> String;

#[test]
fn a_server_with_the_right_signature_is_believed() {
    for mechanism in MECHANISMS {
        log_in(mechanism, |signature| v(&signature)).unwrap();
    }
}

#[test]
fn a_server_with_a_wrong_signature_is_refused_with_what_that_means() {
    let wrong: [End; 4] = [
        |mut signature| {
            signature[0] ^= 1;
            v(&signature)
        },
        |mut signature| {
            signature.pop();
            v(&signature)
        },
        |signature| v(&vec![0; signature.len()]),
        |_| v(&[]),
    ];
    for mechanism in MECHANISMS {
        for end in wrong {
            let problem = log_in(mechanism, end).unwrap_err();
            assert!(matches!(problem, WireError::Authentication(_)), "{problem}");
            let says = problem.to_string();
            assert!(says.contains("signature is wrong"), "{says}");
            assert!(says.contains("does not know the password"), "{says}");
            assert!(!problem.is_access_denied(), "it is not we who were refused");
        }
    }
}

#[test]
fn a_server_without_a_signature_is_refused_with_what_that_means() {
    let without: [End; 3] = [|_| String::new(), |_| "v=?".into(), |_| "done".into()];
    for mechanism in MECHANISMS {
        for end in without {
            let problem = log_in(mechanism, end).unwrap_err();
            assert!(matches!(problem, WireError::Authentication(_)), "{problem}");
            let says = problem.to_string();
            assert!(says.contains("not shown that it knows the password"), "{says}");
        }
    }
}

/// Logs in to a server that does what the standard says, up to its last message.
fn log_in(mechanism: Mechanism, end: End) -> Result<(), WireError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || serve(listener.accept().unwrap().0, mechanism, end));
    let options = ConnectOptions {
        speculative: false,
        ..ConnectOptions::new("127.0.0.1", port, Login::Scram(account(mechanism)))
    };
    let outcome = run(async |reactor| Session::connect(reactor, &options).await.map(drop));
    assert!(!contains(&server.join().unwrap(), PASSWORD));
    outcome
}

/// Returns all that the client said.
fn serve(mut stream: TcpStream, mechanism: Mechanism, end: End) -> Vec<u8> {
    let mut heard = read(&mut stream);
    stream.write_all(&answer(1, &greeting())).unwrap();

    let first = read(&mut stream);
    let bare = text_from(&first, "n=");
    let nonce = format!("{}server", bare.split_once("r=").unwrap().1);
    let challenge = format!("r={nonce},s={},i={ITERATIONS}", BASE64_STANDARD.encode(SALT));
    stream.write_all(&answer(2, &step(false, &challenge))).unwrap();

    let last = read(&mut stream);
    let signed = format!("{bare},{challenge},c=biws,r={nonce}");
    let signature = signature(mechanism, signed.as_bytes());
    stream
        .write_all(&answer(3, &step(true, &end(signature))))
        .unwrap();
    heard.extend([first, last].concat());
    heard
}

fn read(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut message = vec![0; u32::from_le_bytes(length) as usize - 4];
    stream.read_exact(&mut message).unwrap();
    message
}

/// The text in a message that begins so, up to the first byte that no part of SCRAM has.
fn text_from(message: &[u8], begin: &str) -> String {
    let start = message
        .windows(begin.len())
        .position(|window| window == begin.as_bytes())
        .unwrap();
    let text = message[start..].iter();
    text.take_while(|byte| byte.is_ascii_graphic())
        .map(|byte| char::from(*byte))
        .collect()
}

fn step(done: bool, payload: &str) -> RawDocumentBuf {
    rawdoc! { "conversationId": 1_i32, "done": done, "payload": binary(payload), "ok": 1.0 }
}

fn v(signature: &[u8]) -> String {
    format!("v={}", BASE64_STANDARD.encode(signature))
}

/// `HMAC(HMAC(Hi(password), "Server Key"), messages)` (RFC 5802, section 3), over MongoDB's MD5 for SHA-1.
fn signature(mechanism: Mechanism, messages: &[u8]) -> Vec<u8> {
    let user = account(mechanism).user;
    let (digest, password) = match mechanism {
        Mechanism::ScramSha1 => {
            let text = format!("{user}:mongo:{PASSWORD}");
            let md5 = hash(MessageDigest::md5(), text.as_bytes()).unwrap();
            let digits: String = md5.iter().map(|byte| format!("{byte:02x}")).collect();
            (MessageDigest::sha1(), digits)
        }
        Mechanism::ScramSha256 => (MessageDigest::sha256(), PASSWORD.to_owned()),
    };
    let mut salted = vec![0; digest.size()];
    pbkdf2_hmac(password.as_bytes(), SALT, ITERATIONS, digest, &mut salted).unwrap();
    let hmac = |key: &[u8], message: &[u8]| {
        let key = PKey::hmac(key).unwrap();
        Signer::new(digest, &key)
            .unwrap()
            .sign_oneshot_to_vec(message)
            .unwrap()
    };
    hmac(&hmac(&salted, b"Server Key"), messages)
}
