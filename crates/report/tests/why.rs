//! Why, as text, as a page, and for other programs.

use ciphertax_model::Metric;
use ciphertax_records::why::{CategoryRow, ProfiledSide, Why};
use ciphertax_records::{Run, VoidReason, VoidRow};
use ciphertax_report::terminal::{self, Style};
use ciphertax_report::{html, why};

use crate::fixture;
use crate::html::unfolded;
use crate::terminal::full;

const STYLE: Style = Style {
    width: 100,
    colour: false,
};

#[test]
fn all_of_it_is_what_is_beyond_noise() {
    let (run, _) = fixture::why::with_why();
    let chosen = why::Chosen {
        cells: Some(&["oltp_point_select"]),
        arms: None,
    };
    insta::assert_snapshot!(terminal::why_in_full(&run, chosen, STYLE).unwrap());
}

#[test]
fn the_report_says_of_what_each_cost_consists_and_whether_it_shows() {
    let (run, _) = fixture::why::with_why();
    let text = full(&run, STYLE);
    let part = text.split("\nWhy\n═══\n").nth(1).unwrap();
    let part = part.split("\nPer operation, from slices").next().unwrap();
    insta::assert_snapshot!(part);
}

/// Why TLS 1.3 costs the server what it does in `connect`, given its categories: more than the baseline in microseconds and half the
/// interval's width, and by how many microseconds the profiled slices differ.
fn of_connect(categories: &[(&str, f64, f64)], profiled: f64) -> Run {
    let (mut run, _) = fixture::why::with_why();
    let results = &mut run.results;
    let is_meant = |cell: &str, arm: &str| cell == "connect" && arm == "tls1.3";
    results
        .estimates
        .retain(|row| is_meant(&row.cell, &row.arm) && row.metric == Metric::ServerCpuPerOp);
    results.estimates[0].difference = fixture::interval(1_000.0, 20.0);
    results.why.categories = categories
        .iter()
        .map(|(category, more, half)| CategoryRow {
            cell: "connect".into(),
            arm: "tls1.3".into(),
            side: ProfiledSide::Server,
            category: (*category).into(),
            baseline_us: 50.0,
            variant_us: 50.0 + more,
            difference: Some(fixture::interval(*more, *half)),
            floor_us: Some(5.0),
            is_significant: more > half,
        })
        .collect();
    let mut sides = results.why.differences.iter_mut();
    let side = sides.find(|row| is_meant(&row.cell, &row.arm) && row.side == ProfiledSide::Server);
    let side = side.unwrap();
    side.sum_us = categories.iter().map(|(_, more, _)| more).sum();
    side.measured = Some(fixture::interval(profiled, 30.0));
    side.estimated = Some(fixture::interval(1_000.0, 20.0));
    run
}

fn sentences(run: &Run) -> String {
    terminal::why(
        run,
        why::Chosen::default(),
        Style {
            width: 1_000,
            ..STYLE
        },
    )
}

#[test]
fn shares_add_up_to_the_cost_and_what_few_samples_show_is_other() {
    let run = of_connect(
        &[
            ("TLS handshake: protocol", 303.0, 100.0),
            ("TLS handshake: public key", 302.0, 90.0),
            // An interval half as wide again would hold zero.
            ("TLS handshake: hashes", 71.0, 50.0),
            ("storage engine", 180.0, 130.0),
            ("kernel: network", 51.0, 5.0),
            ("kernel: files", 50.0, 5.0),
            // Clear, and too small to be named.
            ("copies", 43.0, 1.0),
        ],
        1_000.0,
    );
    let text = sentences(&run);
    let expected = "connect: tls1.3 costs the server 1.00 ms per connection: 67 % TLS handshake (30 % protocol, 30 % public key), \
                    10 % kernel (5 % network, 5 % files), 23 % other. tls1.3 shows in full: the server's CPU is the bottleneck. \
                    Cheaper: keep connections open.\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_profile_that_measured_something_else_says_so() {
    let categories = [("login: hashes", 1_400.0, 90.0)];
    let (alike, apart) = (of_connect(&categories, 1_040.0), of_connect(&categories, 1_400.0));
    assert!(!sentences(&alike).contains("Profiling changed"));
    let expected = "connect: tls1.3 costs the server 1.00 ms per connection: 100 % login (hashes). Profiling changed what it measured \
                    (1.40 ms instead of 1.00 ms): the server's shares are rough. ";
    let text = sentences(&apart);
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn parts_of_different_signs_are_microseconds_that_add_up_to_the_cost() {
    let categories = [
        ("login: hashes", 1_500.0, 90.0),
        ("kernel: network", -400.0, 40.0),
        ("copies", -100.0, 90.0),
    ];
    let text = sentences(&of_connect(&categories, 1_000.0));
    let expected = "connection: +1.50 ms login (hashes), −400 µs kernel (network), −100 µs other. ";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_cost_of_which_too_few_samples_are_there_is_named_without_parts() {
    let text = sentences(&of_connect(&[("login: hashes", 1_000.0, 700.0)], 1_000.0));
    let expected = "Not explained (too few samples): connect/tls1.3. Measure longer (--time).\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn many_arms_take_at_most_25_lines_of_which_the_dearest_is_the_first() {
    let (mut run, _) = fixture::why::with_why();
    for n in 1..12 {
        let name = format!("tls1.3-{n}");
        let mut arm = run.head.arms[2].clone();
        arm.name.clone_from(&name);
        run.head.arms.push(arm);
        let results = &mut run.results;
        macro_rules! again {
            ($rows:expr) => {
                let rows = $rows.iter().filter(|row| row.arm == "tls1.3").cloned();
                let rows: Vec<_> = rows
                    .map(|mut row| {
                        row.arm.clone_from(&name);
                        row
                    })
                    .collect();
                $rows.extend(rows);
            };
        }
        again!(results.estimates);
        again!(results.why.categories);
        again!(results.why.differences);
    }
    let text = terminal::why(&run, why::Chosen::default(), Style { width: 80, ..STYLE });
    assert!((20..=25).contains(&text.lines().count()), "{text}");
    assert!(text.starts_with("connect: tls1.3 costs the server"), "{text}");
    assert!(text.contains(" more: choose with --cell and --arm.\n"), "{text}");
    let arm = why::Chosen {
        cells: None,
        arms: Some(&["tls1.3-11"]),
    };
    let text = terminal::why(&run, arm, STYLE);
    assert_eq!(text.matches("tls1.3-11 costs the server").count(), 2, "{text}");
}

#[test]
fn the_main_table_has_a_word_for_the_bound() {
    let (run, _) = fixture::why::with_why();
    let page = html::render(&run).unwrap();
    let answer = page.split("class=\"answer\"").nth(1).unwrap();
    let answer = answer.split("</section>").next().unwrap();
    assert_eq!(answer.matches("<small>bound by server CPU</small>").count(), 2);
    assert_eq!(answer.matches("<small>bound by mixed</small>").count(), 2);
}

#[test]
fn a_run_that_was_not_looked_into_says_so_where_a_reason_is_known_and_else_nothing() {
    let mut run = fixture::run();
    let page = unfolded(&html::render(&run).unwrap());
    assert!(!page.contains("in which stacks were read") && !page.contains("data-chart=\"categories\""));
    run.head.not_explained = Some("No profile: the kernel refused <it>.".into());
    assert!(html::render(&run).unwrap().contains("refused &lt;it&gt;."));
    assert!(full(&run, STYLE).contains("No profile: the kernel refused <it>."));
}

#[test]
fn a_flame_graph_is_smaller_than_150_kb_and_keeps_what_is_wide() {
    let (run, pictures) = fixture::why::with_why();
    let page = html::render_with(&run, &pictures).unwrap();
    assert!(page.len() < 400_000, "{}", page.len());
    let page = unfolded(&page);
    let graphs: Vec<&str> = page.split("<figure data-chart=\"flame\"").skip(1).collect();
    assert_eq!(graphs.len(), pictures.flames.len());
    for graph in graphs {
        let graph = graph.split("</figure>").next().unwrap();
        assert!(graph.len() < 150_000, "{} bytes", graph.len());
        let boxes = graph.matches("<title>").count();
        assert!((50..=420).contains(&boxes), "{boxes}");
        // Significance is said by a sign and in words too.
        assert!(graph.contains("<text>+ ") && graph.contains(", within noise</title>"));
        assert!(
            graph.contains("aria-label=\"CPU time of the ") || graph.contains("aria-label=\"What sessions")
        );
        assert!(graph.contains("Where the difference is made"));
    }
}

#[test]
fn what_has_nothing_beyond_noise_is_no_picture() {
    let (mut run, mut pictures) = fixture::why::with_why();
    run.results
        .why
        .categories
        .iter_mut()
        .for_each(|row| row.is_significant = false);
    fn noise(frame: &mut ciphertax_records::why::FlameFrame) {
        frame.is_significant = false;
        frame.calls.iter_mut().for_each(noise);
    }
    pictures
        .flames
        .iter_mut()
        .for_each(|flame| noise(&mut flame.root));
    let page = unfolded(&html::render_with(&run, &pictures).unwrap());
    let has = |chart: &str| page.contains(&format!("<figure data-chart=\"{chart}\""));
    assert!(!has("categories") && !has("flame") && has("states"));
}

#[test]
fn hostile_names_are_text_in_a_flame_graph() {
    let (run, mut pictures) = fixture::why::with_why();
    let hostile = "</svg><script>alert(1)</script>\" onclick=\"x";
    pictures.flames.truncate(1);
    pictures.flames[0].root.name = hostile.into();
    pictures.flames[0].root.calls[0].name = hostile.repeat(10_000);
    pictures.flames[0].root.calls[0].module = hostile.into();
    pictures.flames[0].root.baseline_us = f64::NAN;
    let page = unfolded(&html::render_with(&run, &pictures).unwrap());
    assert!(!page.contains("<script>alert") && !page.contains("\" onclick=\""));
    assert!(page.len() < 1_000_000);
}

#[test]
fn cells_of_which_nobody_can_say_what_looking_cost_are_named_together() {
    let (mut run, _) = fixture::why::with_why();
    run.results
        .why
        .costs
        .iter_mut()
        .for_each(|row| row.server_cpu = None);
    let text = terminal::why_in_full(&run, why::Chosen::default(), STYLE).unwrap();
    let expected = "oltp_point_select, connect: too few blocks to measure the overhead of profiling.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn json_is_what_the_record_has_of_the_chosen() {
    let (run, _) = fixture::why::with_why();
    let all: Why = serde_json::from_str(&why::json(&run, why::Chosen::default())).unwrap();
    assert_eq!(all, run.results.why);
    let chosen = why::Chosen {
        cells: Some(&["connect"]),
        arms: Some(&["tls1.2"]),
    };
    let part: Why = serde_json::from_str(&why::json(&run, chosen)).unwrap();
    assert!(!part.categories.is_empty() && !part.states.is_empty() && part.wait_events.len() == 3);
    let is_chosen = |cell: &str, arm: &str| cell == "connect" && arm == "tls1.2";
    assert!(part.categories.iter().all(|row| is_chosen(&row.cell, &row.arm)));
    assert_eq!(part.bounds.len(), 1);
    assert_eq!(part.costs.len(), 1);
}

#[test]
fn csv_has_a_line_a_category() {
    let (run, _) = fixture::why::with_why();
    let text = why::csv(&run, why::Chosen::default());
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some(
            "cell,arm,side,category,baseline_us,variant_us,difference_us,low_us,high_us,floor_us,is_significant"
        )
    );
    assert_eq!(lines.count(), run.results.why.categories.len());
    assert!(text.contains("oltp_point_select,tls1.3,server,TLS record: protocol,0,3.21,3.21,"));
}

#[test]
fn a_name_with_commas_and_quotes_is_one_field_of_csv() {
    let (mut run, _) = fixture::why::with_why();
    run.results.why.categories[0].category = "a, \"b\"".into();
    let text = why::csv(&run, why::Chosen::default());
    assert!(text.contains(",server,\"a, \"\"b\"\"\","), "{text}");
}

#[test]
fn collapsed_stacks_are_microseconds_of_what_counts() {
    let (mut run, _) = fixture::why::with_why();
    let looks = fixture::why::looks();
    let collapsed = |run: &Run, chosen: why::Chosen<'_>| {
        let mut text = Vec::new();
        why::collapsed(run, &looks, chosen, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(
        collapsed(&run, why::Chosen::default()),
        "oltp_point_select;plain;server;dispatch_command;SSL_write 0\n\
         oltp_point_select;plain;server;dispatch_command 4000\n\
         oltp_point_select;plain;server;dispatch_command;a:b\u{fffd}c 9 1000\n\
         oltp_point_select;tls1.3;server;dispatch_command;SSL_write 4000\n\
         oltp_point_select;tls1.3;server;dispatch_command 4000\n\
         oltp_point_select;tls1.3;server;dispatch_command;a:b\u{fffd}c 9 0\n"
    );
    let tls = why::Chosen {
        cells: Some(&["oltp_point_select"]),
        arms: Some(&["tls1.3"]),
    };
    let both = why::Chosen {
        cells: Some(&["oltp_point_select"]),
        arms: Some(&["plain", "tls1.3"]),
    };
    assert!(collapsed(&run, both).starts_with("plain;server;dispatch_command;SSL_write 0\n"));
    run.results.void.push(VoidRow {
        cell: "oltp_point_select".into(),
        block: 6,
        arm: "tls1.3".into(),
        reason: VoidReason::Empty,
    });
    assert!(collapsed(&run, tls).starts_with("server;dispatch_command;SSL_write 3000\n"));
}
