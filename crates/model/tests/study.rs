//! Studies: what is accepted, and how clearly the rest is refused.

use ciphertax_model::study::BASELINE_AGAIN;
use ciphertax_model::{
    Arm, AuthenticationMethod, Cell, CertificateKind, Dataset, Distribution, Group, PoolMode, ReadPreference,
    Resumption, SshCipher, Study, TlsLibrary, TlsNegotiation, TlsVersion, Transport, Workload,
};

use crate::rule_cases::STUDY;

fn refusal(change: impl Fn(&str) -> String) -> String {
    Study::from_toml(&change(STUDY)).unwrap_err().to_string()
}

#[test]
fn without_an_arm_a_study_compares_what_is_left_of_it() {
    let text = r#"
        name = "mine"
        question = "?"
        time_s = 1
        arm = [
            { name = "plain", transport = "plain" },
            { name = "tls1.2", transport = "tls1.2" },
            { name = "tls1.3", transport = "tls1.3" },
        ]
        cell = [
            { name = "all", workload = "oltp_point_select", load = { connections = 1 } },
            { name = "some", workload = "connect", load = { connections = 1 }, arms = ["plain", "tls1.2"] },
        ]
        [[published]]
        source = "somewhere"
        cell = "all"
        arm = "tls1.2"
        metric = "latency_mean"
        baseline = 1.0
        variant = 2.0
    "#;
    let study = Study::from_toml(text).unwrap();
    assert_eq!(study.without_arms(&[]), study);
    let left = study.without_arms(&["tls1.2"]);
    let names: Vec<&str> = left.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["plain", "tls1.3"]);
    // The other cell has nothing to compare the baseline with.
    assert_eq!((left.cells.len(), left.cells[0].name.as_str()), (1, "all"));
    assert!(left.published.is_empty());
    assert!(left.validated().is_ok());
    assert!(study.without_arms(&["tls1.2", "tls1.3"]).cells.is_empty());
}

#[test]
fn a_study_gets_the_baseline_again_as_its_second_arm() {
    let study = Study::from_toml(STUDY).unwrap();
    let arms = study.measured_arms();
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["plain", BASELINE_AGAIN, "tls"]);
    assert_eq!(arms[1].transport, Transport::Plain);
    assert!(study.needs_tls());
}

#[test]
fn a_cell_measures_the_arms_it_names_and_the_baseline_again() {
    let text = STUDY
        .replace(
            "[[cell]]",
            "[[arm]]\nname = \"old\"\ntransport = \"tls1.2\"\n[[cell]]",
        )
        .replace("load = {", "arms = [\"old\", \"plain\"]\nload = {");
    let study = Study::from_toml(&text).unwrap();
    let names = |arms: Vec<Arm>| arms.into_iter().map(|arm| arm.name).collect::<Vec<_>>();
    let cell = &study.cells[0];
    assert_eq!(names(study.arms_of(cell).cloned().collect()), ["plain", "old"]);
    let found = names(study.measured_arms_of(cell));
    assert_eq!(found, ["plain", BASELINE_AGAIN, "old"]);
    let all = Cell {
        arms: None,
        ..cell.clone()
    };
    assert_eq!(study.measured_arms_of(&all), study.measured_arms());
}

#[test]
fn on_the_users_own_server_cells_that_differ_in_their_private_server_are_one() {
    let cell = |name: &str, rest: &str| {
        format!("[[cell]]\nname = {name:?}\nworkload = \"connect\"\nload.connections = 1\n{rest}\n")
    };
    let published = |cell: &str| {
        let row = "source = \"s\"\narm = \"tls\"\nmetric = \"throughput\"\nchange = -0.5";
        format!("[[published]]\ncell = {cell:?}\n{row}\n")
    };
    let text = [
        STUDY.to_owned(),
        cell("old", "server = \"mysql-5.6\""),
        cell("new", "server = \"mysql\"\ncertificate = \"rsa-4096\""),
        cell("far", "server = \"mysql\"\nlink.rtt_ms = 44.5"),
        cell("busy", "server = \"mysql\"\nload.workers = 1"),
        published("near"),
        published("old"),
    ];
    let text = text
        .concat()
        .replace("time_s = 10", "time_s = 10\nplacement = \"free\"");
    let study = Study::from_toml(&text).unwrap().on_external_server();
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["near", "connect", "connect at 44.5 ms", "connect 2"]);
    assert!(
        study
            .cells
            .iter()
            .all(|cell| cell.server.is_none() && cell.certificate.is_none())
    );
    let published: Vec<&str> = study.published.iter().map(|row| row.cell.as_str()).collect();
    assert_eq!(published, ["near"]);
    study.validated().unwrap();
}

#[test]
fn defaults_are_those_of_the_method() {
    let study = Study::from_toml(STUDY).unwrap();
    assert_eq!(
        (
            study.slice_seconds(),
            study.precision.cpu,
            study.precision.throughput
        ),
        (0.5, 0.01, 0.03)
    );
    assert_eq!(study.cells[0].load.poll_delay_us, 0);
    // What is paid later needs longer ones, unless somebody says otherwise.
    let mut at_rest = study;
    at_rest.arms[1].at_rest.tables = true;
    assert!(at_rest.differs_at_rest());
    assert_eq!(at_rest.slice_seconds(), 2.0);
    at_rest.slice_s = Some(0.2);
    assert_eq!(at_rest.slice_seconds(), 0.2);
    at_rest.arms.iter_mut().for_each(|arm| arm.at_rest.tables = true);
    assert!(!at_rest.differs_at_rest(), "all are alike");
}

#[test]
fn what_a_type_refuses_is_reported_with_its_line() {
    let message = refusal(|text| text.replace("tls1.3", "preferred"));
    let is_told = message.starts_with("study:11:13: \"transport\" cannot be \"preferred\"");
    assert!(is_told, "{message}");
    let message = refusal(|text| text.replace("time_s", "tiem_s"));
    assert_eq!(
        message,
        "study:3:1: unknown key \"tiem_s\"; did you mean \"time_s\"?"
    );
}

#[test]
fn the_data_set_is_named_as_sysbench_names_it() {
    let dataset = |text: &str| {
        Study::from_toml(&STUDY.replace("time_s = 10", text))
            .unwrap()
            .dataset
    };
    assert_eq!(dataset("time_s = 10"), Dataset::default());
    let settings = "tables = 100, table_size = 4000000, distribution = \"zipfian\"";
    let large = dataset(&format!("time_s = 10\ndataset = {{ {settings} }}"));
    let expected = Dataset {
        tables: 100,
        table_size: 4_000_000,
        distribution: Distribution::Zipfian,
    };
    assert_eq!(large, expected);
    assert_eq!(large.rows(), 400_000_000);
}

#[test]
fn every_workload_is_read_back_by_its_name() {
    for workload in Workload::ALL {
        let text = STUDY.replace("oltp_point_select", workload.name());
        let text = match workload {
            Workload::Command => text.replacen("load = {", "command = { run = [\"x\"] } #", 1),
            Workload::Ycsb => text.replacen("load = {", "mix = { read = 1.0 }\nload = {", 1),
            _ => text,
        };
        assert_eq!(Study::from_toml(&text).unwrap().cells[0].workload, workload);
    }
}

#[test]
fn the_core_workloads_of_ycsb_have_shares_that_add_up() {
    for workload in Workload::ALL {
        if let Some(mix) = workload.ycsb_mix() {
            assert!(workload.asks_usertable());
            let sum: f64 = mix.shares().iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", workload.name());
        }
    }
}

#[test]
fn a_certificate_differs_by_cell_or_by_arm() {
    let by_arm = STUDY.replacen(
        "transport = \"tls",
        "certificate = \"rsa-2048\"\ntransport = \"tls",
        1,
    );
    let study = Study::from_toml(&by_arm).unwrap();
    let server = study.server_spec(&study.cells[0]);
    for arm in &study.arms {
        let found = study.certificate_of(arm, &server).kind;
        assert_eq!(found, CertificateKind::Rsa2048, "{}", arm.name);
    }
    let by_both = by_arm.replacen("load = {", "certificate = \"rsa-4096\"\nload = {", 1);
    let error = Study::from_toml(&by_both).unwrap_err().to_string();
    assert!(error.contains("differs by cell or by arm, not both"), "{error}");
}

#[test]
fn a_login_adds_protection_to_a_server_without_access_control_and_nothing_to_one_with_it() {
    let arm = |name: &str, method: &str, transport: &str| {
        format!(
            "[[arm]]\nname = \"{name}\"\ntransport = \"{transport}\"\nauthentication = {{ method = \"{method}\" }}\n"
        )
    };
    let (arms, cell) = STUDY.split_at(STUDY.find("[[cell]]").unwrap());
    let head = &arms[..arms.find("[[arm]]").unwrap()];
    let study = |arms: [String; 2]| Study::from_toml(&format!("{head}{}{cell}", arms.concat())).unwrap();
    let open = |transport| arm("open", "none", transport);
    let scram = |transport| arm("scram", "SCRAM-SHA-256", transport);
    assert!(study([open("plain"), scram("plain")]).adds_protection("scram"));
    assert!(!study([scram("plain"), open("plain")]).adds_protection("open"));
    assert!(!study([open("tls1.3"), scram("plain")]).adds_protection("scram"));
    let trust = arm("trust", "trust", "plain");
    assert!(study([trust.clone(), scram("plain")]).adds_protection("scram"));
    assert!(!study([open("plain"), trust]).adds_protection("trust"));
    let other = arm("sha-1", "SCRAM-SHA-1", "plain");
    assert!(!study([scram("plain"), other]).adds_protection("sha-1"));
}

#[test]
fn names_are_those_of_study_files_and_are_read_back() {
    fn expect<T: Copy + serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
        all: impl IntoIterator<Item = T>,
        name: impl Fn(T) -> &'static str,
    ) {
        for one in all {
            assert_eq!(serde_json::to_value(one).unwrap(), name(one));
            assert_eq!(serde_json::from_value::<T>(name(one).into()).unwrap(), one);
        }
    }
    expect(CertificateKind::ALL, CertificateKind::name);
    expect(Distribution::ALL, Distribution::name);
    expect(AuthenticationMethod::ALL, AuthenticationMethod::name);
    expect(Group::ALL, Group::name);
    expect(SshCipher::ALL, SshCipher::name);
    expect(TlsVersion::ALL, TlsVersion::name);
    expect(
        [Resumption::Off, Resumption::SessionId, Resumption::Ticket],
        Resumption::name,
    );
    expect([TlsLibrary::OpenSsl, TlsLibrary::Rustls], TlsLibrary::name);
    expect(
        [TlsNegotiation::Request, TlsNegotiation::Direct],
        TlsNegotiation::name,
    );
    expect([PoolMode::Session, PoolMode::Transaction], PoolMode::name);
    let preferences = [
        ReadPreference::Primary,
        ReadPreference::Secondary,
        ReadPreference::Nearest,
    ];
    expect(preferences, ReadPreference::name);
}

#[test]
fn what_is_encrypted_at_rest_adds_protection_part_by_part() {
    let study = |at_rest: [&str; 2]| {
        let arm = |(name, at_rest): (&str, &str)| {
            format!("{{ name = \"{name}\", transport = \"plain\", at_rest = {{ {at_rest} }} }}")
        };
        let arms = ["one", "other"].into_iter().zip(at_rest).map(arm);
        let text = format!(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 60\narm = [{}]\n\
             cell = [{{ name = \"c\", workload = \"connect_only\", load = {{ connections = 1 }}, storage = {{ memory_mb = 64 }} }}]",
            arms.collect::<Vec<_>>().join(", ")
        );
        Study::from_toml(&text).unwrap()
    };
    let adds = |one, other| study([one, other]).adds_protection("other");
    assert!(adds("", "tables = true"));
    assert!(adds("tables = true", "tables = true, redo_log = true"));
    assert!(adds("file_system = \"ext4\"", "file_system = \"fscrypt\""));
    assert!(!adds("tables = true", "redo_log = true"));
    assert!(!adds("tables = true", "tables = true, algorithm = \"AES-CTR\""));
    assert!(!adds("", "file_system = \"ext4\""));
    assert!(adds("", "sqlcipher = {}"));
    assert!(!adds("sqlcipher = {}", "sqlcipher = { hmac = false }"));

    let study = study(["", "tables = true"]);
    let spec = study.server_spec(&study.cells[0]);
    assert_eq!(spec.to_string(), "mariadb, ecdsa-p256, memory_mb = 64");
    // Whose memory that is, the study does not decide.
    let external = study.on_external_server();
    assert!(external.server_spec(&external.cells[0]).storage.is_default());
}
