//! The headline answers the study's question in its shape.

use ciphertax_model::{Answer, Study};
use ciphertax_records::{Head, Sample};

use crate::made_up::*;

const LOGINS: &str = r#"
name = "logins"
question = "Which login costs most?"
answer = "ranking"
time_s = 60
arm = [
    { name = "plain", transport = "plain" },
    { name = "md5", transport = "plain" },
    { name = "scram", transport = "plain" },
    { name = "tls", transport = "tls1.3" },
]

[[cell]]
name = "connect"
workload = "connect"
load = { connections = 2 }
"#;

/// Samples of the arms of a study of one cell, whose CPU per operation in µs is that of the client and of the server.
fn measured(text: &str, costs: &[(&str, [f64; 2])]) -> (Head, Vec<Sample>) {
    let study = Study::from_toml(text).unwrap();
    let cell = study.cells[0].name.clone();
    let mut samples = Vec::new();
    for block in 0..30 {
        for (position, (arm, cpu)) in costs.iter().enumerate() {
            let step = block * 7 + position as u32 * 3;
            let noise = 1.0 + 0.002 * (f64::from(step % 11) / 5.0 - 1.0);
            samples.push(sample(
                &cell,
                block,
                position as u32,
                arm,
                cpu.map(|us| us * noise),
            ));
        }
    }
    (head(study), samples)
}

fn headline(text: &str, costs: &[(&str, [f64; 2])]) -> String {
    let (head, samples) = measured(text, costs);
    explain(&head, samples.as_slice()).unwrap().verdict
}

#[test]
fn a_ranking_names_the_dearest_and_the_cheapest_of_each_side() {
    let told = headline(
        LOGINS,
        &[
            ("plain", [100.0, 200.0]),
            ("baseline again", [100.0, 200.0]),
            ("md5", [120.0, 200.0]),
            ("scram", [400.0, 260.0]),
            ("tls", [300.0, 500.0]),
        ],
    );
    for words in [
        "Against plain, server CPU",
        "server CPU per new connection rises most with tls (+300 µs, +150 % … and least with scram (+60 µs, +30 %",
        "client CPU per new connection rises most with scram (+300 µs, +300 % … and least with md5 (+20 µs, +20 %",
        "; by no more than 2.0 % with md5",
    ] {
        says(&told, words);
    }
}

#[test]
fn arms_that_cannot_be_told_apart_are_no_order_and_savings_are_called_that() {
    let alike = headline(
        LOGINS,
        &[
            ("plain", [100.0, 200.0]),
            ("baseline again", [100.0, 200.0]),
            ("md5", [150.0, 260.0]),
            ("scram", [150.01, 260.01]),
            ("tls", [149.99, 259.99]),
        ],
    );
    says(
        &alike,
        "server CPU per new connection rises with … in no sure order; client CPU per new connection rises with",
    );
    let savings = headline(
        &LOGINS.replace("transport = \"tls1.3\"", "transport = \"plain\""),
        &[
            ("plain", [400.0, 500.0]),
            ("baseline again", [400.0, 500.0]),
            ("md5", [200.0, 400.0]),
            ("scram", [300.0, 450.0]),
            ("tls", [350.0, 100.0]),
        ],
    );
    says(
        &savings,
        "server CPU per new connection falls most with tls (−400 µs, −80 % … and least with scram (−50 µs",
    );
    says(
        &savings,
        "client CPU per new connection falls most with md5 (−200 µs",
    );
}

#[test]
fn where_the_shape_has_nothing_decided_the_first_arm_is_told_of() {
    let text = LOGINS.replace("ranking", "sum");
    let costs: [(&str, [f64; 2]); 5] = [
        ("plain", [100.0, 200.0]),
        ("baseline again", [100.0, 200.0]),
        ("md5", [120.0, 200.0]),
        ("scram", [400.0, 260.0]),
        ("tls", [300.0, 500.0]),
    ];
    assert_eq!(Study::from_toml(&text).unwrap().answer, Answer::Sum);
    let told = headline(&text, &costs);
    says(
        &told,
        "Against plain, md5 costs the client 20 µs more CPU per new connection (+20 %",
    );
}

#[test]
fn cells_that_ask_the_same_are_ranked_together() {
    let text = LOGINS.replace(
        "[[cell]]",
        "[[cell]]\nname = \"again\"\nworkload = \"connect\"\nload = { connections = 2 }\ncertificate = \"rsa-2048\"\n\n[[cell]]",
    );
    let costs = |dearest: f64| {
        [
            ("plain", [100.0, 200.0]),
            ("baseline again", [100.0, 200.0]),
            ("md5", [100.0, 240.0]),
            ("scram", [100.0, 260.0]),
            ("tls", [100.0, dearest]),
        ]
    };
    let (head, mut samples) = measured(&text, &costs(500.0));
    let (_, of_connect) = measured(LOGINS, &costs(900.0));
    samples.extend(of_connect);
    let told = explain(&head, samples.as_slice()).unwrap().verdict;
    says(
        &told,
        "Against plain, server CPU per new connection rises most with tls in connect (+700 µs, +350 %",
    );
    says(
        &told,
        "least with md5 in connect (+40 µs, +20 % … and md5 in again (+40 µs",
    );
}

#[test]
fn what_has_no_cost_beside_savings_is_said_to_rise_by_no_more() {
    let told = headline(
        &LOGINS.replace("transport = \"tls1.3\"", "transport = \"plain\""),
        &[
            ("plain", [400.0, 500.0]),
            ("baseline again", [400.0, 500.0]),
            ("md5", [400.0, 500.0]),
            ("scram", [300.0, 450.0]),
            ("tls", [350.0, 100.0]),
        ],
    );
    says(
        &told,
        "server CPU per new connection falls most with tls (−400 µs … and least with scram (−50 µs … rises by no more than 2.0 % with md5",
    );
}
