//! Servers that break MongoDB's protocol, hang up, or lie: errors, never panics, hangs or secrets given away.

use ciphertax_wire::Session as _;
use std::sync::Mutex;

use ciphertax_wire::Address;
use ciphertax_wire::mongodb::bson::oid::ObjectId;
use ciphertax_wire::mongodb::bson::raw::{RawArrayBuf, RawDocumentBuf, cstr};
use ciphertax_wire::mongodb::{ConnectOptions, Identity, Session, Topology};
use proptest::prelude::*;

use crate::common::op_msg::{OP_MSG, account, answer, binary, found, greeting, message};
use crate::common::*;

#[test]
fn a_conversation_cut_anywhere_is_a_connection_that_is_gone() {
    let whole = [answer(1, &greeting()), answer(2, &found())];
    let answer = ask(&Server::start(whole.to_vec(), Ending::Close).options()).unwrap();
    assert_eq!(answer, 1);
    for (index, message) in whole.iter().enumerate() {
        for length in 0..message.len() {
            let mut script = whole[..index].to_vec();
            script.push(message[..length].to_vec());
            let server = Server::start(script, Ending::Close);
            let problem = ask(&server.options()).unwrap_err();
            let is_cut = problem.is_disconnect();
            assert!(is_cut, "message {index}, {length} bytes: {problem}");
        }
    }
}

#[test]
fn what_is_no_answer_to_the_question_is_refused() {
    let document = greeting();
    let length = document.as_bytes().len() as i32 + 21;
    let tail = [&[0], document.as_bytes()].concat();
    let (other, longer) = (
        [&[1], document.as_bytes()].concat(),
        [tail.as_slice(), &[0]].concat(),
    );
    let old = rawdoc! { "maxWireVersion": 8_i32, "ok": 1.0 };
    for (problem, message) in [
        ("not that of a MongoDB server", message(length, 1, 1, 0, &tail)),
        ("answer to question 7", message(length, 7, OP_MSG, 0, &tail)),
        ("checksum", message(length, 1, OP_MSG, 1, &tail)),
        ("several answers", message(length, 1, OP_MSG, 2, &tail)),
        ("unknown flags", message(length, 1, OP_MSG, 4, &tail)),
        ("an answer of 0 bytes", message(-1, 1, OP_MSG, 0, &tail)),
        ("an answer of 20 bytes", message(20, 1, OP_MSG, 0, &tail)),
        (
            "an answer of 48000001 bytes",
            message(48_000_001, 1, OP_MSG, 0, &tail),
        ),
        (
            "does not begin with its body",
            message(length, 1, OP_MSG, 0, &other),
        ),
        ("cannot be read", message(length + 1, 1, OP_MSG, 0, &longer)),
        ("cannot be read", message(21, 1, OP_MSG, 0, &[0])),
        ("older than MongoDB 4.4", answer(1, &old)),
        ("older than MongoDB 4.4", answer(1, &rawdoc! { "ok": 1.0 })),
        (
            "nobody asked for",
            [answer(1, &document), answer(2, &document)].concat(),
        ),
    ] {
        let error = ask(&Server::start(vec![message], Ending::Close).options()).unwrap_err();
        assert!(matches!(error, WireError::Protocol(_)), "{problem}: {error}");
        assert!(error.to_string().contains(problem), "{problem}: {error}");
    }
}

#[test]
fn a_long_answer_is_made_room_for_only_as_it_comes() {
    let promised = message(47_999_999, 2, OP_MSG, 0, &[0]);
    let server = Server::start(vec![answer(1, &greeting()), promised], Ending::Close);
    let before = peak_memory();
    assert!(ask(&server.options()).unwrap_err().is_disconnect());
    assert!(peak_memory() - before < 40_000_000 / 1024);
}

#[test]
fn a_server_that_says_nothing_does_not_hold_up_the_deadline() {
    for said in [
        vec![],
        vec![answer(1, &greeting())],
        vec![answer(1, &greeting())[..30].to_vec()],
    ] {
        let server = Server::start(said, Ending::Silence);
        let options = server.options();
        let outcome = run_within(Duration::from_millis(100), async |reactor| {
            ask_in(reactor, &options).await
        });
        assert!(outcome.is_none());
    }
}

#[test]
fn a_server_that_hangs_up_at_once_does_not_want_what_the_client_began_with() {
    let problem = ask(&Server::start(vec![vec![]], Ending::Close).options()).unwrap_err();
    assert!(problem.is_tls_demanded() && problem.is_disconnect(), "{problem}");
    let server = Server::start(vec![vec![]], Ending::Close);
    let policy = TlsPolicy::new(TlsVersion::V1_3, Verification::None);
    let options = ConnectOptions {
        tls: Some(TlsConnector::new(&policy).unwrap().into()),
        ..server.options()
    };
    let problem = ask(&options).unwrap_err();
    let has_hung_up = matches!(problem, WireError::HungUp { encrypted: true });
    assert!(has_hung_up, "{problem}");
    assert!(!problem.is_tls_demanded() && problem.is_disconnect());
}

#[test]
fn a_server_that_does_not_know_the_password_neither_learns_it_nor_is_believed() {
    for mechanism in [Mechanism::ScramSha1, Mechanism::ScramSha256] {
        for end in ["v=AAAA", "v=", "e=no", ""] {
            let step = |id: i32, text: &str| {
                rawdoc! {
                    "conversationId": id, "done": id > 1, "payload": binary(text), "ok": 1.0,
                }
            };
            // The nonce cannot be continued by a script that was written before it was made.
            let script = vec![
                answer(1, &greeting()),
                answer(2, &step(1, "r=x,s=AAAA,i=4096")),
                answer(3, &step(2, end)),
            ];
            let server = Server::start(script, Ending::Close);
            let options = ConnectOptions {
                login: Login::Scram(account(mechanism)),
                speculative: false,
                ..server.options()
            };
            let problem = ask(&options).unwrap_err();
            assert!(problem.to_string().contains("nonce"), "{problem}");
            assert!(!contains(&server.heard(), PASSWORD));
        }
    }
}

#[test]
fn steps_of_a_login_that_cannot_be_read_are_refused() {
    for step in [
        rawdoc! { "ok": 1.0 },
        rawdoc! { "conversationId": 1_i32, "done": 1_i32, "payload": binary(""), "ok": 1.0 },
        rawdoc! { "conversationId": i64::MAX, "done": false, "payload": binary(""), "ok": 1.0 },
        rawdoc! { "conversationId": 1_i32, "done": false, "payload": "r=", "ok": 1.0 },
    ] {
        let server = Server::start(vec![answer(1, &greeting()), answer(2, &step)], Ending::Close);
        let options = ConnectOptions {
            login: Login::Scram(account(Mechanism::ScramSha256)),
            ..server.options()
        };
        let is_refused = matches!(ask(&options).unwrap_err(), WireError::Protocol(_));
        assert!(is_refused, "{step:?}");
    }
}

#[test]
fn a_certificate_is_not_shown_in_clear() {
    let server = Server::start(vec![], Ending::Close);
    let options = ConnectOptions {
        login: Login::X509,
        ..server.options()
    };
    assert!(ask(&options).unwrap_err().to_string().contains("needs TLS"));
}

#[test]
fn a_set_whose_members_cannot_be_reached_has_no_primary() {
    let hello = rawdoc! {
        "setName": "rs", "hosts": ["127.0.0.1:1"], "secondary": true, "maxWireVersion": 17_i32, "ok": 1.0,
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let seeds = [address_of(&listener)];
    serve_all(listener, move || hello.clone());
    let options = ConnectOptions::new("", 0, Login::None);
    run(async |reactor| {
        let topology = Topology::discover(reactor, &seeds, &options).await.unwrap();
        let found = (topology.set_name.as_deref(), topology.members.len());
        assert_eq!(found, (Some("rs"), 0));
        // It is asked until the time is over, which is not what is said.
        let deadline = std::time::Instant::now() + Duration::from_secs(2);
        let look = Topology::wait_for_primary(reactor, &seeds, &options, deadline).await;
        let problem = look.unwrap_err().to_string();
        let expected = "\"rs\" has no primary that can be reached: cannot connect to 127.0.0.1:1";
        assert!(problem.contains(expected), "{problem}");
    });
}

/// It accepts connections, as its kernel does for it, and says nothing for a long time.
#[test]
fn a_member_that_says_nothing_does_not_keep_the_primary_from_being_found() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let addresses = [&silent, &listener].map(address_of);
    let hello = set_of(&addresses);
    let said = hello.clone();
    serve_all(listener, move || said.clone());
    let options = ConnectOptions::new("", 0, Login::None);
    let look = || run(async |reactor| Topology::discover(reactor, &addresses, &options).await.unwrap());
    let topology = look();
    assert_eq!(topology.members.len(), 1);
    assert_eq!(topology.primary().unwrap().address, addresses[1]);

    run(async |reactor| {
        let deadline = std::time::Instant::now() + Duration::from_millis(200);
        let nobody = Topology::wait_for_primary(reactor, &addresses[..1], &options, deadline).await;
        let problem = nobody.unwrap_err();
        assert!(problem.is_disconnect(), "{problem}");
        says(&problem, "nobody answered in time");
    });

    // It was waited for once, and no more: eleven times would take half a minute.
    let looks = run_within(Duration::from_secs(20), async |reactor| {
        for _ in 0..10 {
            let topology = Topology::discover(reactor, &addresses, &options).await.unwrap();
            assert_eq!(topology.members.len(), 1);
        }
    });
    assert_eq!(looks, Some(()));

    // As soon as it speaks, it is a member again.
    serve_all(silent, move || hello.clone());
    assert!(within(PATIENCE, || look().members.len() == 2));
}

#[test]
fn members_are_timed_one_after_the_other() {
    let listeners = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let addresses = listeners.each_ref().map(address_of);
    let hello = set_of(&addresses);
    let answered = Arc::new(Mutex::new(Vec::new()));
    for (member, listener) in listeners.into_iter().enumerate() {
        let (answered, hello) = (Arc::clone(&answered), hello.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut question = [0; 4096];
                for number in 1.. {
                    if !matches!(stream.read(&mut question), Ok(1..)) {
                        break;
                    }
                    // The first two are the greeting and the question for its role.
                    if number > 2 {
                        answered.lock().unwrap().push(member);
                    }
                    stream.write_all(&answer(number, &hello)).unwrap();
                }
            }
        });
    }
    let options = ConnectOptions::new("", 0, Login::None);
    let topology = run(async |reactor| {
        Topology::discover(reactor, &addresses[..1], &options)
            .await
            .unwrap()
    });
    assert_eq!(topology.members.len(), 3);
    let mut order = answered.lock().unwrap().clone();
    order.dedup();
    assert_eq!(order, [0, 1, 2]);
}

/// A set of one, behind a forwarder, whose configuration names an address at which another server listens.
#[test]
fn whoever_answers_in_the_place_of_a_member_is_none() {
    let listeners = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let [forwarder, member] = listeners.each_ref().map(address_of);
    let process = |byte| rawdoc! { "processId": ObjectId::from_bytes([byte; 12]), "counter": 1_i64 };
    let mut hello = set_of(std::slice::from_ref(&member));
    hello.append(cstr!("me"), member.to_string());
    hello.append(cstr!("topologyVersion"), process(1));
    let standalone = rawdoc! { "isWritablePrimary": true, "maxWireVersion": 17_i32, "ok": 1.0 };
    let mut namesake = set_of(std::slice::from_ref(&member));
    namesake.append(cstr!("me"), member.to_string());
    namesake.append(cstr!("topologyVersion"), process(2));
    let answers = Arc::new(Mutex::new(standalone));
    let [front, back] = listeners;
    serve_all(front, move || hello.clone());
    let stranger = Arc::clone(&answers);
    serve_all(back, move || stranger.lock().unwrap().clone());

    let options = ConnectOptions::new("", 0, Login::None);
    let look = || {
        run(async |reactor| {
            let deadline = std::time::Instant::now() + PATIENCE;
            Topology::wait_for_primary(reactor, std::slice::from_ref(&forwarder), &options, deadline).await
        })
    };
    says(look().unwrap_err(), &format!("{member} is no member of rs,"));
    *answers.lock().unwrap() = namesake;
    says(look().unwrap_err(), &format!("{member} leads to another process"));

    // Each session is held to what was seen of its member.
    let found =
        |options: &ConnectOptions| run(async |reactor| Session::connect(reactor, options).await.map(drop));
    let expecting = |identity| ConnectOptions {
        identity,
        ..ConnectOptions::new(&member.host, member.port, Login::None)
    };
    let known = Identity {
        set_name: Some("rs".into()),
        process: Some(ObjectId::from_bytes([2; 12])),
        ..Identity::default()
    };
    found(&expecting(known.clone())).unwrap();
    let other = Identity {
        set_name: Some("rs1".into()),
        ..Identity::default()
    };
    says(
        found(&expecting(other)).unwrap_err(),
        "named rs; say replicaSet=rs",
    );
    let restarted = Identity {
        process: Some(ObjectId::from_bytes([3; 12])),
        ..known
    };
    says(found(&expecting(restarted)).unwrap_err(), "another process");
}

/// Answers whatever is asked by the same words.
fn serve_all(listener: TcpListener, hello: impl Fn() -> RawDocumentBuf + Send + 'static) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let script = (1..=7).map(|number| answer(number, &hello())).collect();
            serve(stream.unwrap(), script, Ending::Close);
        }
    });
}

fn address_of(listener: &TcpListener) -> Address {
    let address = listener.local_addr().unwrap();
    Address {
        host: address.ip().to_string(),
        port: address.port(),
    }
}

/// What a primary says whose set has these members.
fn set_of(members: &[Address]) -> RawDocumentBuf {
    let hosts = RawArrayBuf::from_iter(members.iter().map(Address::to_string));
    rawdoc! { "setName": "rs", "hosts": hosts, "isWritablePrimary": true, "maxWireVersion": 17_i32, "ok": 1.0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_the_client_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), whole in any::<bool>()) {
        let bytes = if whole { message(bytes.len() as i32 + 20, 1, OP_MSG, 0, &bytes) } else { bytes };
        prop_assert!(ask(&Server::start(vec![bytes], Ending::Close).options()).is_err());
    }

    #[test]
    fn no_changed_byte_makes_the_client_panic(position: usize, bits in 1_u8..) {
        let mut changed = answer(2, &found());
        let position = position % changed.len();
        changed[position] ^= bits;
        let _ = ask(&Server::start(vec![answer(1, &greeting()), changed], Ending::Close).options());
    }
}

/// What a server does when it has said all.
#[derive(Clone, Copy)]
enum Ending {
    Close,
    Silence,
}

/// Serves one connection: says one thing after each question.
struct Server {
    address: SocketAddr,
    thread: JoinHandle<Vec<u8>>,
}

impl Server {
    fn start(script: Vec<Vec<u8>>, ending: Ending) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || serve(listener.accept().unwrap().0, script, ending));
        Self { address, thread }
    }

    fn options(&self) -> ConnectOptions {
        ConnectOptions::new(self.address.ip().to_string(), self.address.port(), Login::None)
    }

    /// Everything that the client sent, once it has closed the connection.
    fn heard(self) -> Vec<u8> {
        self.thread.join().unwrap()
    }
}

/// Errors are those of a client that has heard enough.
fn serve(mut stream: TcpStream, script: Vec<Vec<u8>>, ending: Ending) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    for message in script {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => heard.extend_from_slice(&buffer[..count]),
            _ => return heard,
        }
        if stream.write_all(&message).is_err() {
            return heard;
        }
    }
    if matches!(ending, Ending::Close) {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let _ = stream.read_to_end(&mut heard);
    heard
}

/// Logs in and counts the documents of a small collection.
async fn ask_in(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<usize, WireError> {
    let (mut session, _) = Session::connect(reactor, options).await?;
    Ok(session.find_all("d", "t", &rawdoc! {}).await?.len())
}

fn ask(options: &ConnectOptions) -> Result<usize, WireError> {
    run(async |reactor| ask_in(reactor, options).await)
}

/// The most memory that this process had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
