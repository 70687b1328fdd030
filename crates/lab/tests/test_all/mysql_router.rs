//! A real MySQL Router before a real private MySQL: what is encrypted where, who shares connections, and that nothing stays.

use ciphertax_base::Witness;
use ciphertax_lab::pooler::RunningPooler;
use ciphertax_lab::{Proved, WrongLogins, mysql};
use ciphertax_testkit::command_lines_with;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session, TrustedKeys};
use ciphertax_wire::sql::SqlSession as _;

use crate::prelude::*;

#[test]
fn arms_are_proved_on_both_sides_of_a_router_though_the_server_sees_another_connection() {
    let Some(server) = server() else { return };
    for (transport, behind, said, travels) in [
        (Transport::Plain, Transport::Plain, "no TLS", "travels"),
        (Transport::Tls13, Transport::Plain, "no TLS", "travels"),
        (Transport::Tls12, Transport::Tls13, "TLSv1.3", "does not travel"),
    ] {
        let pooler = start(&server, PoolMode::Transaction, transport, behind);
        let proved = prove(&server, &pooler, transport);
        let why = proved.unproved.as_deref();
        let is_told = why.is_some_and(|why| why.contains("MySQL Router ends TLS"));
        assert!(is_told, "{why:?}");
        let witnesses = proved.proofs.iter().map(|proof| proof.witness);
        let expected = [
            Witness::Client,
            Witness::Wire,
            Witness::Authentication,
            Witness::Pooler,
            Witness::Wire,
        ];
        assert_eq!(witnesses.collect::<Vec<_>>(), expected);
        let [.., passage, wire] = &proved.proofs[..] else {
            panic!()
        };
        let words = format!("of the server says: {said} from 127.0.0.1:");
        assert!(passage.evidence.contains(&words), "{}", passage.evidence);
        let socket = format!("is a socket of mysqlrouter (process {})", pooler.pid());
        assert!(passage.evidence.contains(&socket), "{}", passage.evidence);
        let claim = format!("behind the pooler a canary value {travels} in plaintext");
        assert_eq!(wire.claim, claim);
        assert_eq!(pooler.death(), None);
    }
}

#[test]
fn sessions_keep_a_connection_of_a_router_and_transactions_share_one() {
    let Some(server) = server() else { return };
    for (mode, shares, most) in [
        (PoolMode::Session, "0", 8..=8),
        (PoolMode::Transaction, "1", 1..=7),
    ] {
        let pooler = start(&server, mode, Transport::Tls13, Transport::Plain);
        let facts = pooler.facts();
        assert_eq!(facts["connection_sharing"], shares);
        assert!(facts["program"].starts_with("mysqlrouter 9."), "{facts:?}");
        let options = options(&server, &pooler, Transport::Tls13);
        let mut ids = run(async |reactor| {
            let (mut sessions, mut ids) = (Vec::new(), Vec::new());
            for _ in 0..8 {
                sessions.push(Session::connect(reactor, &options).await.unwrap().0);
            }
            for session in &mut sessions {
                ids.push(session.query("SELECT CONNECTION_ID()").await.unwrap()[0].text(0));
            }
            ids
        });
        ids.sort_unstable();
        ids.dedup();
        assert!(most.contains(&ids.len()), "{ids:?}, {}", mode.name());
    }
}

#[test]
fn a_router_leaves_nothing() {
    let Some(server) = server() else { return };
    let pooler = start(&server, PoolMode::Session, Transport::Tls13, Transport::Tls13);
    let (address, folder, pid) = (pooler.address(), pooler.folder().to_owned(), pooler.pid());
    let password = server.default_account().password.expose();
    assert_eq!(files_with(&folder, password), Vec::<PathBuf>::new());
    // A client that stays does not keep it from ending.
    let _client = TcpStream::connect(address).unwrap();
    pooler.stop().unwrap();
    assert!(!folder.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(command_lines_with(folder.to_str().unwrap()), Vec::<String>::new());
}

fn server() -> Option<PrivateServer> {
    fetched(&MYSQL)?;
    if let Err(error) = pooler::release(PoolerProgram::Mysqlrouter) {
        not_tested(format_args!("there is no MySQL Router: {error}"));
        return None;
    }
    Some(
        PrivateServer::builder(&MYSQL)
            .tls_versions(&[TlsVersion::V1_2, TlsVersion::V1_3])
            .start()
            .unwrap(),
    )
}

fn start(server: &PrivateServer, mode: PoolMode, transport: Transport, behind: Transport) -> RunningPooler {
    let pooler = Pooler {
        program: PoolerProgram::Mysqlrouter,
        pool_mode: mode,
        server_transport: behind,
    };
    pooler::start(pooler, transport, 10, server, None, &GuardProgram::this_program()).unwrap()
}

fn options(server: &PrivateServer, pooler: &RunningPooler, transport: Transport) -> ConnectOptions {
    let verification = Verification::HostName(server.ca_file().unwrap().to_owned(), "127.0.0.1".into());
    let tls = transport.is_encrypted().then(|| {
        let policy = TlsPolicy::new(transport.tls_version(), verification);
        Arc::new(TlsConnector::new(&policy).unwrap())
    });
    ConnectOptions {
        port: pooler.address().port(),
        tls,
        trusted_keys: TrustedKeys::Anybody,
        ..plain(server)
    }
}

fn prove(server: &PrivateServer, pooler: &RunningPooler, transport: Transport) -> Proved {
    let options = options(server, pooler, transport);
    let behind = Some(pooler.server_transport());
    let expected = Expectation::new(transport);
    let mut proved = mysql::prove("arm", &options, &expected, &WrongLogins::default(), behind).unwrap();
    proved
        .proofs
        .extend(pooler.prove::<Session>("arm", &options).unwrap());
    proved
}
