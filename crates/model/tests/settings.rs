//! `--set` and scales: the same study with some things different, and the same words for what is wrong.

use ciphertax_model::{
    AuthenticationMethod, CertificateKind, Group, Pace, Study, StudyText, TlsLibrary, Transport, Tunnel,
};
use insta::assert_snapshot;

const STUDY: &str = r#"name = "small"
question = "What does TLS cost?"
time_s = 10

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "tls"
transport = "tls"

[[arm]]
name = "tls1.3"
transport = "tls1.3"
tls = { group = "P-256" }

[[cell]]
name = "near"
workload = "oltp_point_select"
load = { connections = 8 }

[[published]]
source = "elsewhere"
cell = "near"
arm = "tls"
metric = "throughput"
change = -0.25

[[published]]
source = "elsewhere"
cell = "far"
arm = "tls"
metric = "throughput"
change = -0.5

[scale.published]
time_s = 3600
load.connections = 50
arm."tls1.3".tls.group = "P-384"

[scale.published.cell.far]
workload = "connect"
load = { connections = 100 }
link = { rtt_ms = 170 }

[scale.tiny]
time_s = 1
cell.near.load.connections = 1
"#;

fn with(settings: &[&str]) -> Study {
    read(None, settings).unwrap()
}

fn refusal(settings: &[&str]) -> String {
    read(None, settings).unwrap_err()
}

fn read(scale: Option<&str>, settings: &[&str]) -> Result<Study, String> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    StudyText::new("study.toml", STUDY)
        .scale(scale)
        .settings(&settings)
        .study()
        .map_err(|error| error.to_string())
}

#[test]
fn a_setting_changes_any_key() {
    let study = with(&[
        "time_s=60",
        "certificate=rsa-4096",
        "server=mysql-5.6",
        "link.rtt_ms=45",
        "link.jitter_ms = 2.5",
        "arm.tls.tls.group=P-384",
        "arm.tls.tunnel={ ssh = \"aes256-cbc\" }",
        "arm.tls.tunnel.ssh=aes256-ctr",
        "arm.tls1.3.transport=tls1.2",
        "arm.\"tls1.3\".name=\"tls1.2\"",
        "cell.near.load.connections=64",
        "cell.near.link.rtt_ms=0",
        "cell.near.arms=[\"plain\", \"tls1.2\"]",
        "published=[]",
    ]);
    let found = (study.time_s, study.certificate);
    assert_eq!(found, (60.0, CertificateKind::Rsa4096));
    let link = study.link.unwrap();
    let found = (study.server.as_str(), link.rtt_ms, link.jitter_ms);
    assert_eq!(found, ("mysql-5.6", 45.0, 2.5));
    assert_eq!(study.arms[1].tls.group, Some(Group::P384));
    assert!(matches!(study.arms[1].tunnel, Some(Tunnel::Ssh(cipher)) if cipher.name() == "aes256-ctr"));
    let found = (study.arms[2].transport, study.arms[2].name.as_str());
    assert_eq!(found, (Transport::Tls12, "tls1.2"));
    assert_eq!(study.cells[0].load.connections, 64);
    assert_eq!(study.arms_of(&study.cells[0]).count(), 2);
}

#[test]
fn some_settings_are_those_of_all_arms_or_cells() {
    let study = with(&[
        "tls.library=rustls",
        "tls.group=X25519MLKEM768",
        "authentication.method=ed25519",
        "load.connections=3",
        "load.batch=100",
    ]);
    assert!(study.arms[0].tls.is_default(), "a plain arm has no TLS settings");
    for arm in &study.arms[1..] {
        assert_eq!(arm.tls.library, TlsLibrary::Rustls);
        assert_eq!(arm.tls.group, Some(Group::X25519MlKem768));
    }
    for arm in &study.arms {
        assert_eq!(arm.authentication.method, Some(AuthenticationMethod::Ed25519));
    }
    assert_eq!(study.cells[0].load.connections, 3);
    assert_eq!(study.cells[0].load.pace(), Pace::Batch { operations: 100 });
}

#[test]
fn the_last_setting_of_a_key_counts() {
    assert_eq!(with(&["time_s=60", "time_s=30"]).time_s, 30.0);
}

#[test]
fn a_scale_changes_what_it_says_and_adds_cells() {
    let study = read(Some("published"), &["cell.far.load.connections=7"]).unwrap();
    assert_eq!(study.time_s, 3600.0);
    assert_eq!(study.arms[2].tls.group, Some(Group::P384));
    let cells: Vec<(&str, u32)> = study
        .cells
        .iter()
        .map(|cell| (cell.name.as_str(), cell.load.connections))
        .collect();
    assert_eq!(cells, [("near", 50), ("far", 7)]);
    assert_eq!(study.published.len(), 2);
}

#[test]
fn published_figures_of_cells_that_only_another_scale_has_are_left_out() {
    let study = with(&[]);
    assert_eq!(study.cells.len(), 1);
    let cells: Vec<&str> = study.published.iter().map(|row| row.cell.as_str()).collect();
    assert_eq!(cells, ["near"]);
}

#[test]
fn a_text_knows_its_scales() {
    let text = StudyText::new("study.toml", STUDY);
    assert_eq!(text.scales().unwrap(), ["published", "tiny"]);
}

#[test]
fn what_is_wrong_names_the_setting() {
    assert_snapshot!(refusal(&[
        "tiem_s=60",
        "certificate=rsa-4069",
        "time_s=ten",
        "link.rtt=45",
        "arm.tsl.transport=tls1.2",
        "arm.tls.tls.grup=P-384",
        "arm.tls=5",
        "arm=5",
        "cell.nera.load.connections=3",
        "cell.near.load.connections=0.5",
        "tls.cipher=AES 256",
        "tls.library=rutsls",
        "time_s",
        "=3",
        "a..b=3",
        "a.b.c.d.e.f.g.h.i.j=3",
        "precision.scale=3",
    ]), @r#"
    16 problems in study.toml
    --set tiem_s=60: unknown key "tiem_s"; did you mean "time_s"?
    --set certificate=rsa-4069: "certificate" cannot be "rsa-4069"; did you mean "rsa-4096"?
    --set time_s=ten: "time_s" must be a number, not a string
    --set link.rtt=45: unknown key "rtt"; did you mean "rtt_ms"?
    --set arm.tsl.transport=tls1.2: unknown arm "tsl"; did you mean "tls"?
    --set arm.tls.tls.grup=P-384: unknown key "grup"; did you mean "group"?
    --set arm.tls=5: arm.tls must be followed by a key: arm.tls.KEY
    --set arm=5: "arm" must be followed by the name of one: arm.NAME.KEY
    --set cell.nera.load.connections=3: unknown cell "nera"; did you mean "near"?
    --set cell.near.load.connections=0.5: "connections" must be a whole number, not a number with a fraction
    --set tls.library=rutsls: "library" cannot be "rutsls"; did you mean "rustls"?
    --set time_s: a setting is written key=value, for example time_s=60
    --set =3: "" is no key; keys are names joined by dots, for example link.rtt_ms
    --set a..b=3: "a..b" is no key; keys are names joined by dots, for example link.rtt_ms
    --set a.b.c.d.e.f.g.h.i.j=3: "a.b.c.d.e.f.g.h.i.j" is no key; keys are names joined by dots, for example link.rtt_ms
    --set precision.scale=3: unknown key "scale"; known are "cpu", "throughput"
    "#);
}

#[test]
fn a_contradiction_names_the_setting_that_makes_it() {
    assert_snapshot!(refusal(&[
        "time_s=0",
        "arm.plain.tls.group=P-384",
        "tls.resumption=session_id",
        "tls.cipher=AES256-SHA",
        "cell.near.arms=[\"tls\"]",
    ]), @r#"
    5 problems in study.toml
    --set time_s=0: time_s is 0; it must lie between 1 and 86400
    --set arm.plain.tls.group=P-384: arm "plain": it is plain, so its tls settings say nothing; leave them out or give it a TLS transport
    --set tls.resumption=session_id: arm "tls1.3": TLS 1.3 resumes by ticket alone; take resumption = "ticket", or TLS 1.2 or older
    --set tls.cipher=AES256-SHA: arm "tls1.3": AES256-SHA is a cipher suite of TLSv1, TLSv1.1, TLSv1.2, not of TLSv1.3; take another
    --set cell.near.arms=["tls"]: cell "near": its arms must include "plain", the baseline they are compared with; add it
    "#);
}

#[test]
fn an_axis_that_concerns_no_arm_is_refused() {
    let study = "name = \"x\"\nquestion = \"?\"\ntime_s = 1\narm = []\ncell = []\n";
    let settings = ["tls.library=rustls".to_owned()];
    let error = StudyText::new("x.toml", study)
        .settings(&settings)
        .study()
        .unwrap_err();
    assert_snapshot!(error, @r#"
    3 problems in x.toml
    x.toml:4:7: a comparison needs at least two arms; give a baseline and a variant
    x.toml:5:8: there is no cell, so nothing would be measured; add [[cell]]
    --set tls.library=rustls: no arm of the study uses TLS
    "#);
}

#[test]
fn an_unknown_scale_names_those_there_are() {
    assert_snapshot!(read(Some("publishde"), &[]).unwrap_err(), @r#"study.toml: the study has no scale "publishde"; did you mean "published"?"#);
    let error = StudyText::new("x.toml", "")
        .scale(Some("published"))
        .study()
        .unwrap_err();
    let is_told = error.to_string().contains("no scale \"published\"; it has none");
    assert!(is_told, "{error}");
}

#[test]
fn scales_that_are_not_asked_for_are_checked_too() {
    let text = STUDY
        .replace("time_s = 3600", "tiem_s = 3600")
        .replace("cell.near.load.connections = 1", "cell.nera.load.connections = 1")
        .replace("time_s = 1\n", "time_s = 0\n");
    let error = StudyText::new("study.toml", &text).study().unwrap_err();
    assert_snapshot!(error, @r#"
    3 problems in study.toml
    study.toml:38:1: unknown key "tiem_s"; did you mean "time_s"?
    study.toml:48:10: time_s is 0; it must lie between 1 and 86400
    study.toml:49:6: unknown cell "nera"; did you mean "near"?
    "#);
}

#[test]
fn a_scale_that_is_no_table_is_refused() {
    for (scale, words) in [
        ("scale = 3", "must be a table of scales"),
        ("scale.published = 3", "must be a table, headed [scale.published]"),
    ] {
        let error = StudyText::new("x.toml", scale).study().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn the_load_of_all_cells_is_not_that_of_a_command() {
    let command = "[[cell]]\nname = \"own\"\nworkload = \"command\"\ncommand = { run = [\"x\"] }\narms = [\"plain\", \"tls\"]\n";
    let text = STUDY.replacen("[[published]]", &format!("{command}[[published]]"), 1);
    let settings = [
        "load.connections=3".to_owned(),
        "cell.own.command.timeout_s=5".to_owned(),
    ];
    let study = StudyText::new("study.toml", &text)
        .settings(&settings)
        .study()
        .unwrap();
    assert_eq!(study.cells[0].load.connections, 3);
    assert!(study.cells[1].load.is_none());
    assert_eq!(study.cells[1].command.as_ref().unwrap().timeout_s, 5.0);
}
