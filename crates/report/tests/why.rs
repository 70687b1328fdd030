//! Why, as text, as a page, and for other programs.

use ciphertax_records::Run;
use ciphertax_records::VoidReason;
use ciphertax_records::VoidRow;
use ciphertax_records::why::Why;
use ciphertax_report::terminal::{self, Style};
use ciphertax_report::{html, why};

use crate::fixture;
use crate::html::unfolded;

const STYLE: Style = Style {
    width: 100,
    colour: false,
};

#[test]
fn the_part_alone_is_tables() {
    let (run, _) = fixture::why::with_why();
    let chosen = why::Chosen {
        cells: Some(&["oltp_point_select"]),
        arms: None,
    };
    insta::assert_snapshot!(terminal::why(&run, chosen, STYLE));
}

#[test]
fn the_report_names_the_bound_and_the_five_largest_differences_of_each_cell() {
    let (run, _) = fixture::why::with_why();
    let text = terminal::render(&run, STYLE);
    let part = text.split("Where the CPU time goes").nth(1).unwrap();
    let part = part.split("\nWhy\n").next().unwrap();
    insta::assert_snapshot!(part);
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
    assert!(terminal::render(&run, STYLE).contains("No profile: the kernel refused <it>."));
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
    let text = terminal::why(&run, why::Chosen::default(), Style { width: 1000, ..STYLE });
    assert!(
        text.contains(
            "Too few blocks to say what profiling both sides and watching what threads wait for cost in \
             oltp_point_select, connect."
        ),
        "{text}"
    );
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
