//! A real private MongoDB behind tunnels and links: what travels, how far, and who is sent where.

use ciphertax_lab::mongodb::find_canary;
use ciphertax_testkit::EVERY_TUNNEL;
use ciphertax_wire::Session as _;
use ciphertax_wire::mongodb::{ConnectOptions, Session};

use crate::prelude::*;

const MS: Duration = Duration::from_millis(1);

const THREE: ReplicaSet = ReplicaSet {
    members: 3,
    read_only_member: false,
};

#[test]
fn every_tunnel_carries_a_canary_and_is_proved() {
    let Some(builder) = builder() else { return };
    let server = builder.start().unwrap();
    let options = options(&server, server.address());
    for kind in EVERY_TUNNEL {
        let mut tunnel = tunnel::start(kind, server.only_address().unwrap(), None, &program()).unwrap();
        let proofs = tunnel
            .prove(find_canary(&options))
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        let witnesses: Vec<String> = proofs.iter().map(|proof| proof.witness.to_string()).collect();
        assert_eq!(witnesses, ["wire", "tunnel"], "{kind}");
        through(&tunnel, &options);
        tunnel.stop().unwrap();
    }
}

#[test]
fn a_canary_whose_login_is_refused_is_no_proof() {
    let Some(builder) = builder() else { return };
    let server = builder.start().unwrap();
    let login = Login::by(
        AuthenticationMethod::ScramSha256,
        "nobody",
        server.password().clone(),
    );
    let wrong = ConnectOptions {
        login: login.unwrap(),
        ..options(&server, server.address())
    };
    let mut tunnel = tunnel::start(Tunnel::Stunnel, server.address(), None, &program()).unwrap();
    says(
        tunnel.prove(find_canary(&wrong)).unwrap_err(),
        "stunnel … Authentication failed",
    );
}

#[test]
fn a_server_inside_a_link_is_near_at_one_address_and_far_at_the_other() {
    let (Some(link), Some(builder)) = (link_of(rtt(40.0)), builder()) else {
        return;
    };
    let server = builder.inside(&link).start().unwrap();
    let direct = server.address();
    assert_eq!(direct.ip(), link.endpoints.direct);
    let is_outside = TcpStream::connect(("127.0.0.1", direct.port())).is_err();
    assert!(is_outside, "it is outside");
    let far = SocketAddr::from((link.endpoints.delayed, direct.port()));
    // The account was made although nobody can reach the server over its own loopback address from here.
    assert_eq!(who_is_logged_in(&options(&server, direct)), server.user());
    let [opened, asked] = times(&options(&server, far));
    // The question and its answer are one round trip; TCP's own, hello and the login's two steps are more.
    assert!(asked >= 40 * MS, "{asked:?}");
    assert!(opened >= 120 * MS, "{opened:?}");
    let [_, asked_nearby] = times(&options(&server, direct));
    assert!(asked_nearby < asked, "{asked_nearby:?}, far away {asked:?}");
    link.set(&rtt(90.0).into()).unwrap();
    assert!(times(&options(&server, far))[1] >= 90 * MS);
    assert!(link.report().unwrap().packets > 0);
    server.stop().unwrap();
    link.process.stop().unwrap();
}

#[test]
fn over_a_link_every_tunnel_carries_a_canary_and_takes_its_round_trips() {
    let (Some(link), Some(builder)) = (link_of(rtt(0.0)), builder()) else {
        return;
    };
    let server = builder.inside(&link).start().unwrap();
    let options = options(&server, server.address());
    for kind in EVERY_TUNNEL {
        let mut tunnel = tunnel::start(kind, server.address(), Some(&link), &program()).unwrap();
        tunnel
            .prove(find_canary(&options))
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        link.set(&rtt(50.0).into()).unwrap();
        let [_, asked] = through(&tunnel, &options);
        assert!(asked >= 50 * MS, "{kind}: {asked:?}");
        link.set(&rtt(0.0).into()).unwrap();
        tunnel.stop().unwrap();
    }
    server.stop().unwrap();
    link.process.stop().unwrap();
}

#[test]
fn every_member_of_a_set_inside_a_link_is_found_where_it_is_far() {
    let (Some(link), Some(builder)) = (link_of(rtt(0.0)), builder()) else {
        return;
    };
    let server = builder.replica_set(THREE).inside(&link).start().unwrap();
    let direct = server.addresses();
    assert_eq!(direct.len(), 3);
    assert_eq!(places(&direct), BTreeSet::from([link.endpoints.direct.into()]));
    let far: Vec<SocketAddr> = direct
        .iter()
        .map(|address| SocketAddr::from((link.endpoints.delayed, address.port())))
        .collect();
    // Whomever a client asks, it is sent to the addresses at the link's distance, and to all of them.
    let hello = rawdoc! { "hello": 1_i32, "$db": "admin" };
    for address in &direct {
        let answer = answer(&anonymous(*address), &hello).unwrap();
        let hosts = strings(&answer, "hosts");
        assert_eq!(hosts, far.iter().map(ToString::to_string).collect());
    }
    link.set(&rtt(60.0).into()).unwrap();
    for address in &far {
        assert_eq!(who_is_logged_in(&options(&server, *address)), server.user());
        assert!(times(&options(&server, *address))[1] >= 60 * MS);
    }
    link.set(&rtt(0.0).into()).unwrap();
    // Whenever the machine stands still for a while, the members elect another by themselves.
    let is_another = (0..5).any(|_| {
        let (first, second) = (server.primary().unwrap(), server.step_down().unwrap());
        assert!(direct.contains(&first) && direct.contains(&second));
        first != second
    });
    assert!(is_another);
    let (folder, pids) = (server.folder().to_owned(), server.pids());
    server.stop().unwrap();
    link.process.stop().unwrap();
    assert!(!folder.exists());
    assert!(
        pids.iter()
            .all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    );
}

#[test]
fn a_set_has_no_only_address() {
    let Some(builder) = builder() else { return };
    let set = builder.replica_set(THREE).start().unwrap();
    let error = set.only_address().unwrap_err();
    let is_refused = matches!(error, Error::SeveralAddresses { members: 3, .. });
    assert!(is_refused, "{error}");
    assert!(error.to_string().contains("measure a single server"), "{error}");
}

fn builder() -> Option<PrivateServerBuilder> {
    fetched(&MONGODB).map(|_| PrivateServer::builder(&MONGODB))
}

fn program() -> GuardProgram {
    GuardProgram::this_program()
}

fn link_of(link: Link) -> Option<RunningLink> {
    if let Err(error) = RunningLink::check() {
        not_tested(error);
        return None;
    }
    Some(RunningLink::start(&link.into(), &program()).unwrap())
}

fn rtt(rtt_ms: f64) -> Link {
    Link { rtt_ms, ..Link::NONE }
}

fn anonymous(address: SocketAddr) -> ConnectOptions {
    ConnectOptions::new(address.ip().to_string(), address.port(), Login::None)
}

/// The default account at an address.
fn options(server: &PrivateServer, address: SocketAddr) -> ConnectOptions {
    let method = AuthenticationMethod::ScramSha256;
    let login = Login::by(method, server.user(), server.password().clone());
    ConnectOptions {
        login: login.unwrap(),
        ..anonymous(address)
    }
}

/// How long it takes through a tunnel to log in, and then to be answered.
fn through(tunnel: &RunningTunnel, options: &ConnectOptions) -> [Duration; 2] {
    times(&ConnectOptions {
        host: tunnel.address().ip().to_string(),
        port: tunnel.address().port(),
        ..options.clone()
    })
}

/// How long it takes to log in, and then to be answered.
fn times(options: &ConnectOptions) -> [Duration; 2] {
    run(async |reactor| {
        let begin = Instant::now();
        let (mut session, _) = Session::connect(reactor, options).await.unwrap();
        let opened = begin.elapsed();
        let ping = rawdoc! { "ping": 1_i32, "$db": "admin" };
        session.command(&ping).await.unwrap();
        [opened, begin.elapsed() - opened]
    })
}

fn who_is_logged_in(options: &ConnectOptions) -> String {
    let status = answer(options, &rawdoc! { "connectionStatus": 1_i32, "$db": "admin" }).unwrap();
    let users = status
        .get_document("authInfo")
        .unwrap()
        .get_array("authenticatedUsers");
    let first = users.unwrap().into_iter().next().unwrap().unwrap();
    first.as_document().unwrap().get_str("user").unwrap().to_owned()
}

/// The answer to a command on a session of its own.
fn answer(options: &ConnectOptions, command: &RawDocumentBuf) -> Result<RawDocumentBuf, WireError> {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        session.command(command).await
    })
}

fn strings(document: &RawDocumentBuf, name: &str) -> BTreeSet<String> {
    let values = document.get_array(name).unwrap().into_iter();
    values
        .map(|value| value.unwrap().as_str().unwrap().to_owned())
        .collect()
}

fn places(addresses: &[SocketAddr]) -> BTreeSet<IpAddr> {
    addresses.iter().map(SocketAddr::ip).collect()
}
