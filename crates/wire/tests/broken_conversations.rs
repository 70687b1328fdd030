//! Conversations with a real server, cut and changed at every place.

use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Session, TextRow};
use ciphertax_wire::sql::{Parameter, SqlSession as _, Statement as _};
use proptest::prelude::*;

use crate::common::*;

#[test]
fn a_recorded_conversation_can_be_had_again() {
    let server = FakeServer::start(recording(), Ending::Close);
    assert_eq!(converse(&server.options()).unwrap(), rows());
}

#[test]
fn a_connection_closed_at_any_byte_is_a_disconnect() {
    for length in 0..recording().len() {
        let server = FakeServer::start(&recording()[..length], Ending::Close);
        match converse(&server.options()) {
            Err(problem) => assert!(problem.is_disconnect(), "after {length} bytes: {problem}"),
            Ok(_) => panic!("{length} bytes were taken for the whole"),
        }
    }
}

#[test]
fn a_tls_connection_closed_anywhere_is_an_error() {
    for options in every_tls() {
        let whole = through(options, Tampering::Nothing);
        assert_eq!(whole.1.unwrap(), rows());
        for length in (0..whole.0.len()).step_by(23) {
            let (recorded, outcome) = through(options, Tampering::CutAfter(length));
            // The last record is the server's goodbye, which nobody needs.
            if let Ok(answer) = outcome {
                let is_whole = length + 100 > recorded.len();
                assert!(is_whole, "{length} bytes were taken for the whole");
                assert_eq!(answer, rows());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_of_a_server_never_panic_or_hang(changes in prop::collection::vec(change(), 1..6)) {
        let mut script = recording().to_vec();
        for change in changes {
            change.make(&mut script);
        }
        let server = FakeServer::start(script, Ending::Close);
        let _ = converse(&server.options());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_byte_of_a_tls_session_never_changes_data(place in 0.0..1.0_f64, bits in 1_u8.., kind in 0_usize..4) {
        let options = &every_tls()[kind];
        let (recorded, _) = through(options, Tampering::Nothing);
        // The greeting is not encrypted; what it says is no data.
        let greeting = 4 + usize::from(recorded[0]);
        let position = greeting + ((recorded.len() - greeting) as f64 * place) as usize;
        let proxy = Proxy::start(server().address(), Tampering::Flip(position, bits));
        let options = proxy.options(options);
        // A record made longer is waited for until the deadline.
        let outcome = run_within(Duration::from_secs(2), async |reactor| converse_in(reactor, &options).await);
        if let Some(Ok(answer)) = outcome {
            prop_assert_eq!(answer, rows());
        }
    }
}

/// Something that is done to bytes, at a place given as a fraction of their number.
#[derive(Debug, Clone)]
enum Change {
    Set(f64, u8),
    Insert(f64, Vec<u8>),
    Remove(f64, usize),
    Repeat(f64, usize),
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>) {
        let (Self::Set(place, _) | Self::Insert(place, _) | Self::Remove(place, _) | Self::Repeat(place, _)) =
            self;
        let at = (bytes.len() as f64 * place) as usize;
        let end = |count: &usize| (at + count).min(bytes.len());
        match self {
            Self::Set(_, value) => bytes[at..].iter_mut().take(1).for_each(|byte| *byte = *value),
            Self::Insert(_, inserted) => drop(bytes.splice(at..at, inserted.iter().copied())),
            Self::Remove(_, count) => drop(bytes.drain(at..end(count))),
            Self::Repeat(_, count) => bytes.extend_from_within(at..end(count)),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let border = prop::sample::select(vec![0, 1, 3, 4, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF]);
    prop_oneof![
        4 => (0.0..1.0, border).prop_map(|(place, value)| Change::Set(place, value)),
        4 => (0.0..1.0, any::<u8>()).prop_map(|(place, value)| Change::Set(place, value)),
        1 => (0.0..1.0, prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(place, bytes)| Change::Insert(place, bytes)),
        1 => (0.0..1.0, 1_usize..40).prop_map(|(place, count)| Change::Remove(place, count)),
        1 => (0.0..1.0, 1_usize..400).prop_map(|(place, count)| Change::Repeat(place, count)),
    ]
}

/// Both versions of today with both libraries.
fn every_tls() -> &'static [ConnectOptions; 4] {
    static OPTIONS: OnceLock<[ConnectOptions; 4]> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let libraries = [TlsLibrary::OpenSsl, TlsLibrary::Rustls];
        let kinds = [0, 1, 2, 3].map(|kind| (libraries[kind / 2], [V1_2, V1_3][kind % 2]));
        kinds.map(|(library, version)| {
            let policy = by(library, policy(server(), version));
            with_policy(plain(server()), &policy)
        })
    })
}

/// All that the server says in a plaintext conversation.
fn recording() -> &'static [u8] {
    static RECORDING: OnceLock<Vec<u8>> = OnceLock::new();
    RECORDING.get_or_init(|| {
        let (recorded, outcome) = through(&plain(server()), Tampering::Nothing);
        assert_eq!(outcome.unwrap(), rows());
        recorded
    })
}

fn through(options: &ConnectOptions, tampering: Tampering) -> (Vec<u8>, Result<Vec<String>, WireError>) {
    let proxy = Proxy::start(server().address(), tampering);
    let outcome = converse(&proxy.options(options));
    (proxy.recorded(), outcome)
}

fn converse(options: &ConnectOptions) -> Result<Vec<String>, WireError> {
    run(async |reactor| converse_in(reactor, options).await)
}

async fn converse_in(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<Vec<String>, WireError> {
    let (mut session, _) = Session::connect(reactor, options).await?;
    let answer = session
        .query("SELECT REPEAT(seq, seq) FROM mysql.seq_1_to_5")
        .await?;
    let mut statement = session
        .prepare(
            "SELECT seq FROM mysql.seq_1_to_9 WHERE seq > ?",
            &[Parameter::Integer],
        )
        .await?;
    for value in [3, 7] {
        statement.set_integer(0, value);
        session.execute(&mut statement).await?;
    }
    session.close().await?;
    Ok(answer.iter().map(|row: &TextRow| row.text(0)).collect())
}

fn rows() -> Vec<String> {
    ["1", "22", "333", "4444", "55555"].map(String::from).to_vec()
}
