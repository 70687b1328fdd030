//! Arms that differ in the server's certificate, through the whole command on real private servers.

use ciphertax_records::LiesOn;
use openssl::asn1::{Asn1Object, Asn1OctetString, Asn1Time};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Extension, X509NameBuilder};

use crate::common::*;

const STUDY: &str = r#"
name = "keys"
question = "What does the key of the certificate cost?"
time_s = 4
slice_s = 0.1
placement = "together"
arm = [
    { name = "plain", transport = "plain" },
    { name = "rsa", transport = "tls1.3", certificate = "rsa-2048" },
    { name = "ecdsa", transport = "tls1.3", certificate = "ecdsa-p256" },
]
cell = [{ name = "connect", workload = "connect_only", load = { connections = 2 } }]
"#;

#[test]
fn arms_with_other_certificates_are_measured_on_servers_of_their_own() {
    let sandbox = Sandbox::new();
    let run = measure(&sandbox, STUDY);
    expect_keys_and_servers(&run, "mariadb");
    // Both sides' waits for the one CPU that they share are told.
    let samples = samples(&sandbox.run());
    let waited = samples.iter().filter(|sample| {
        sample.load.client_run_queue_wait_ns.is_some() && sample.server.server_run_queue_wait_ns > Some(0)
    });
    assert!(waited.count() > 0, "{:?}", samples.first());
    for sample in samples.iter().filter(|sample| sample.is_valid()) {
        let (load, server) = (&sample.load, &sample.server);
        let peaks = [load.client_peak_memory_bytes, server.server_peak_memory_bytes];
        assert!(peaks.into_iter().all(|peak| peak > Some(1 << 20)), "{sample:?}");
        let has_faults = load.client_page_faults.is_some() && server.server_page_faults.is_some();
        assert!(has_faults, "{sample:?}");
        let has_bytes = server.server_bytes_read.is_some() && server.server_bytes_written.is_some();
        assert!(has_bytes, "{sample:?}");
        let found = server.pressure.is_some();
        assert_eq!(found, ciphertax_observe::pressure().is_some(), "{sample:?}");
        let counts_commits = server.server_counters.contains_key(counter::STATEMENT_COMMITS);
        assert!(counts_commits, "{sample:?}");
    }
    for server in &run.head.servers {
        let is_device = matches!(server.lies_on, Some(LiesOn::Device(_)));
        assert!(server.lies_on.is_some(), "{server:?}");
        assert!(
            samples
                .iter()
                .all(|sample| !sample.is_valid() || sample.server.device.is_some() == is_device)
        );
    }
}

#[test]
fn a_target_has_the_certificate_it_has() {
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("study.toml"), STUDY).unwrap();
    let refused = sandbox.finish(&["run", "study.toml", &server.url_with(server.password())]);
    refused.fails(2, "arm \"rsa\", arm \"ecdsa\": the target has");
}

/// A certificate that has signed itself, for a server of the user's own, with its key.
fn write_certificate(folder: &Path, version_3: bool, extension: Option<&X509Extension>) -> [PathBuf; 2] {
    let group = openssl::ec::EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(openssl::ec::EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_nid(Nid::COMMONNAME, "localhost").unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(if version_3 { 2 } else { 0 }).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    builder
        .set_not_after(&Asn1Time::days_from_now(9).unwrap())
        .unwrap();
    if version_3 {
        let names = SubjectAlternativeName::new()
            .ip("127.0.0.1")
            .build(&builder.x509v3_context(None, None));
        builder.append_extension(names.unwrap()).unwrap();
    }
    if let Some(extension) = extension {
        builder.append_extension2(extension).unwrap();
    }
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    let [certificate, its_key] = ["own.pem", "own-key.pem"].map(|name| folder.join(name));
    fs::write(&certificate, builder.build().to_pem().unwrap()).unwrap();
    fs::write(&its_key, key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    [certificate, its_key]
}

/// A server of the user's own with this certificate and key.
fn with_certificate(files: &[PathBuf; 2]) -> OwnServer {
    let [certificate, key] = files.each_ref().map(|file| file.display());
    OwnServer::start_with(|builder| {
        let builder = builder.option(format!("--ssl-cert={certificate}"));
        builder.option(format!("--ssl-key={key}"))
    })
}

#[test]
fn an_arm_whose_library_does_not_take_the_certificate_is_left_out_and_the_others_are_measured() {
    let critical = X509Extension::new_from_der(
        &Asn1Object::from_str("1.3.6.1.4.1.99999.1").unwrap(),
        true,
        &Asn1OctetString::new_from_bytes(&[5, 0]).unwrap(),
    );
    let critical = critical.unwrap();
    let authority = BasicConstraints::new().critical().ca().build().unwrap();
    for (version_3, extension, verifies, words) in [
        (false, None, true, "X.509 version 1 … issue one of version 3"),
        (true, Some(&authority), true, "CA:TRUE … CA:FALSE"),
        (true, Some(&critical), false, "critical extension … not critical"),
    ] {
        let sandbox = Sandbox::new();
        let files = write_certificate(sandbox.root(), version_3, extension);
        let server = with_certificate(&files);
        let target = server.url_with(server.password());
        let target = match verifies {
            true => format!("{target}?ssl-ca={}", files[0].display()),
            false => target,
        };
        let arguments = [
            "run",
            "mysql-tls-client-library",
            &target,
            "--time=4",
            "--out=run",
        ];
        let short = ["--set=dataset.table_size=2000", "--set=slice_s=0.05"];
        let finished = sandbox.finish(&[&arguments[..], &short].concat());
        finished.measured();
        let run = record(&sandbox.run());
        let [left_out] = &run.head.left_out[..] else {
            panic!("{finished:?}")
        };
        let reason = left_out.reason.to_string();
        assert_eq!(left_out.arm, "rustls");
        says(&reason, words);
        finished.says(&format!("Leaving out rustls: {reason}"));
        let arms: Vec<&str> = run.head.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["openssl", BASELINE_AGAIN, "plain"]);
    }
}

/// A short run of these arms on a server of the user's own: what was left out, and why.
fn left_out(server: &OwnServer, arms: &str) -> Vec<(String, String)> {
    left_out_of(&server.verified_url(), arms)
}

fn left_out_of(target: &str, arms: &str) -> Vec<(String, String)> {
    let sandbox = Sandbox::new();
    let study = format!(
        "name = \"arms\"\nquestion = \"What does it cost?\"\ntime_s = 2\nslice_s = 0.05\ndataset = {{ table_size = 1000 }}\n\
         arm = [{{ name = \"plain\", transport = \"plain\" }}, {arms}]\n\
         cell = [{{ name = \"queries\", workload = \"oltp_point_select\", load = {{ connections = 1 }} }}]\n"
    );
    let mut command = sandbox.study(&study, &[]);
    command.arg(target);
    Running::start(command).finish().measured();
    let left_out = record(&sandbox.run()).head.left_out.into_iter();
    left_out
        .map(|left_out| (left_out.arm, left_out.reason.to_string()))
        .collect()
}

#[test]
fn an_arm_whose_cipher_or_group_the_server_does_not_take_is_left_out_with_one_that_it_takes() {
    let server = OwnServer::start();
    let arm = |cipher: &str| {
        format!("{{ name = \"{cipher}\", transport = \"tls1.2\", tls = {{ cipher = \"{cipher}\" }} }}")
    };
    let wanted = "ECDHE-RSA-AES256-GCM-SHA384";
    let arms = [
        "{ name = \"tls1.2\", transport = \"tls1.2\" }".to_owned(),
        arm(wanted),
        "{ name = \"hybrid\", transport = \"tls\", tls = { group = \"X25519MLKEM768\", library = \"rustls\" } }".to_owned(),
    ];
    let found = left_out(&server, &arms.join(", "));
    let (of_cipher, cipher) = &found[0];
    assert_eq!(&**of_cipher, wanted);
    let begin = format!(
        "the server does not take {wanted} in TLSv1.2, because its certificate has an ECDSA key; it takes "
    );
    let takes = cipher.strip_prefix(&begin).unwrap_or_else(|| panic!("{cipher}"));
    assert_eq!(left_out(&server, &arm(takes)), []);
    match &found[1..] {
        [] => not_tested("the server's OpenSSL has X25519MLKEM768"),
        others => {
            let reason = "the server does not take X25519MLKEM768 in TLSv1.3; it takes X25519";
            assert_eq!(others, [("hybrid".to_owned(), reason.to_owned())]);
        }
    }
}

/// TLS 1.2 has the suite that the URL names and TLS 1.3 does not, so only what is of TLS 1.2 lacks it.
#[test]
fn a_suite_of_the_url_that_the_server_does_not_take_is_named_with_one_that_it_takes() {
    let server = OwnServer::start();
    let url = |suite: &str| format!("{}&ssl-cipher={suite}", server.verified_url());
    let arms = r#"
        { name = "tls1.3", transport = "tls1.3" }, { name = "tls1.2", transport = "tls1.2" },
        { name = "group", transport = "tls1.2", tls = { group = "P-256" } }
    "#;
    let wanted = "ECDHE-RSA-AES256-GCM-SHA384";
    let found = left_out_of(&url(wanted), arms);
    let [(arm, reason), (other, same)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((&**arm, &**other, reason), ("tls1.2", "group", same));
    let begin = format!(
        "the server does not take {wanted} in TLSv1.2, because its certificate has an ECDSA key; it takes "
    );
    let takes = reason
        .strip_prefix(&begin)
        .and_then(|takes| takes.split_once(": give that as ssl-cipher"));
    let (takes, _) = takes.unwrap_or_else(|| panic!("{reason}"));
    assert_eq!(left_out_of(&url(takes), arms), []);
}

#[test]
fn a_server_whose_suites_its_key_does_not_suit_is_told_from_one_without_the_version() {
    let server = OwnServer::start_with(|builder| builder.option("--ssl-cipher=ECDHE-RSA-AES256-GCM-SHA384"));
    let arms =
        ["tls1.3", "tls1.2"].map(|version| format!("{{ name = \"{version}\", transport = \"{version}\" }}"));
    let found = left_out(&server, &arms.join(", "));
    let [(arm, reason)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(arm, "tls1.2");
    let words = "have no cipher suite or no group in common";
    says(reason, words);
    let connected = Sandbox::new().finish(&["connect", &server.verified_url(), "--transport=tls1.2"]);
    connected.refuses(&format!("{words} … an RSA key in the server's certificate"));
}

#[test]
fn a_damaged_certificate_of_a_ca_file_is_named_and_the_others_are_used() {
    let (server, sandbox) = (OwnServer::start(), Sandbox::new());
    let ca = fs::read_to_string(server.ca_file()).unwrap();
    let bundle = sandbox.work().join("bundle.pem");
    fs::write(&bundle, ca.replacen("MII", "M!I", 1) + &ca).unwrap();
    for library in ["openssl", "rustls"] {
        let target = format!("{}?ssl-ca=bundle.pem", server.url_with(server.password()));
        let finished = sandbox.finish(&["connect", &target, "--library", library]);
        finished.fails(
            0,
            "Warning: certificate 1 of 2 in bundle.pem cannot be read; the others are used",
        );
        finished.shows("verified");
    }
}

fn measure(sandbox: &Sandbox, study: &str) -> Run {
    let mut running = sandbox.start_study(study, &[]);
    running.measures();
    assert_eq!(servers_of(&sandbox.temporary()).len(), 3);
    let finished = running.finish_within(2 * PATIENCE);
    finished.measured();
    sandbox.expect_nothing_left();
    record(&sandbox.run())
}

fn expect_keys_and_servers(run: &Run, server: &str) {
    no_slice_failed(run);
    let names: BTreeSet<&str> = run
        .head
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    let [rsa, again, ecdsa] =
        ["rsa-2048", "rsa-2048, a second one", "ecdsa-p256"].map(|key| format!("{server}, {key}"));
    assert_eq!(names, [rsa.as_str(), &again, &ecdsa].into());
    let seen: BTreeMap<&str, (&str, &str)> = run
        .head
        .arms
        .iter()
        .map(|arm| {
            let [session] = &arm.sessions[..] else {
                panic!("{:?}", arm.sessions)
            };
            let key = session
                .facts
                .tls
                .as_ref()
                .map_or("", |tls| tls.certificate.key.as_str());
            (arm.name.as_str(), (session.server.as_str(), key))
        })
        .collect();
    let expected = [
        ("plain", (rsa.as_str(), "")),
        ("baseline again", (again.as_str(), "")),
        ("rsa", (rsa.as_str(), "RSA 2048")),
        ("ecdsa", (ecdsa.as_str(), "EC P-256")),
    ];
    assert_eq!(seen, expected.into());
    assert_eq!(run.results.cells[0].server, rsa);
    let apart = run
        .results
        .findings
        .iter()
        .find(|finding| finding.summary.contains("two processes are compared"));
    let apart = apart.expect("a word of the other server");
    let beginning = "ecdsa and the baseline need different servers";
    assert!(apart.summary.starts_with(beginning), "{apart:?}");
    assert!(apart.evidence.contains(&ecdsa), "{apart:?}");
}

mod test_all {
    use super::*;

    #[test]
    fn the_same_holds_for_mongodb() {
        let sandbox = Sandbox::new();
        let run = measure(&sandbox, &format!("server = \"mongodb\"\n{STUDY}"));
        expect_keys_and_servers(&run, "mongodb");
        let driver = run
            .results
            .findings
            .iter()
            .find(|finding| finding.summary.contains("official driver"));
        let driver = driver.expect("a word of what drivers open");
        says(&driver.summary, "opens 3 connections where ciphertax opens one");
        let beginning = "the server saw 1.00 connections for each of";
        assert!(driver.evidence.starts_with(beginning), "{driver:?}");
    }
}
