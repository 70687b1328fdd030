//! `[[budget]]` in a study.

use ciphertax_model::{Budget, Metric, Study, StudyText};

const STUDY: &str = r#"
name = "s"
question = "?"
time_s = 9

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "tls"
transport = "tls1.3"

[[arm]]
name = "old"
transport = "tls1.2"

[[cell]]
name = "ecdsa"
workload = "connect"
load = { connections = 1 }
certificate = "ecdsa-p256"

[[cell]]
name = "rsa"
workload = "connect"
load = { connections = 1 }
certificate = "rsa-2048"
arms = ["plain", "tls"]
"#;

fn with(budget: &str) -> String {
    format!("{STUDY}\n[[budget]]\n{budget}\n")
}

#[test]
fn a_budget_is_of_a_cell_or_of_all() {
    let study = Study::from_toml(&with("metric = \"throughput\"\nat_most = 0.1")).unwrap();
    let expected = Budget {
        arm: None,
        cell: None,
        metric: Metric::Throughput,
        at_most: 0.1,
    };
    assert_eq!(study.budgets, [expected]);
    let text = toml::to_string(&study).unwrap();
    assert_eq!(Study::from_toml(&text).unwrap(), study);
}

#[test]
fn a_budget_of_what_is_not_measured_is_refused_where_it_stands() {
    for (budget, words) in [
        (
            "arm = \"tsl\"\nmetric = \"throughput\"\nat_most = 0.1",
            "did you mean \"tls\"?",
        ),
        (
            "arm = \"plain\"\nmetric = \"throughput\"\nat_most = 0.1",
            "is no variant",
        ),
        (
            "cell = \"rsb\"\nmetric = \"throughput\"\nat_most = 0.1",
            "did you mean \"rsa\"?",
        ),
        (
            "arm = \"old\"\ncell = \"rsa\"\nmetric = \"throughput\"\nat_most = 0.1",
            "arm \"old\" is not measured in cell \"rsa\"",
        ),
        ("metric = \"tunnel_cpu_per_op\"\nat_most = 0.1", "is not compared"),
        ("metric = \"throughput\"\nat_most = 1.0", "below 1"),
        ("metric = \"server_cpu_per_op\"\nat_most = -1.0", "above -1"),
        ("metric = \"server_cpu_per_op\"\nat_most = nan", "above -1"),
        ("metric = \"server_cpu_per_op\"", "at_most"),
        ("metric = \"server_cpu\"\nat_most = 0.1", "server_cpu"),
    ] {
        let error = StudyText::new("study.toml", &with(budget))
            .study()
            .unwrap_err()
            .to_string();
        let holds = error.contains(words) && error.contains("study.toml:3");
        assert!(holds, "{budget}: {error}");
    }
}

#[test]
fn on_a_server_of_the_users_own_a_budget_follows_its_cell() {
    let budget = "cell = \"rsa\"\nmetric = \"server_cpu_per_op\"\nat_most = 9.0";
    let study = Study::from_toml(&with(budget)).unwrap().on_external_server();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let cell = study.budgets[0].cell.as_deref().unwrap();
    assert!(cells.contains(&cell), "{cell} is none of {cells:?}");
    study.validated().unwrap();
}

#[test]
fn a_budget_of_a_cell_that_only_a_scale_has_is_left_out_elsewhere() {
    let scale = "[scale.large.cell.more]\nworkload = \"connect\"\nload = { connections = 2 }\n";
    let budget = "cell = \"more\"\nmetric = \"server_cpu_per_op\"\nat_most = 9.0";
    let text = format!("{}\n{scale}", with(budget));
    let text = StudyText::new("study.toml", &text);
    assert!(text.study().unwrap().budgets.is_empty());
    assert_eq!(text.scale(Some("large")).study().unwrap().budgets.len(), 1);
}

#[test]
fn a_program_has_no_percentiles_and_only_connects_have_phases() {
    let program = "[[cell]]\nname = \"own\"\nworkload = \"command\"\ncommand = { run = [\"x\"] }\n";
    let study = Study::from_toml(&format!("{STUDY}\n{program}")).unwrap();
    let compared = |cell: usize| study.cells[cell].compared().collect::<Vec<_>>();
    let of_connects = [
        &Metric::COMPARED[..],
        &Metric::COMPARED_OF_CONNECTS[..],
        &Metric::COMPARED_OF_HARDWARE[..],
    ]
    .concat();
    assert_eq!(compared(0), of_connects);
    let of_program = compared(2);
    assert!(of_program.contains(&Metric::ServerCpuPerOp) && of_program.contains(&Metric::LatencyMean));
    assert!(!of_program.contains(&Metric::LatencyP95) && !of_program.contains(&Metric::ConnectMean));
}
