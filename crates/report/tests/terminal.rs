//! What the terminal shows.

use ciphertax_base::Witness;
use ciphertax_model::{Link, Metric, ReadPreference, TlsVersion};
use ciphertax_records::Run;
use ciphertax_records::{
    Agreement, LeftOut, LeftOutReason, LinkRecord, MemberRecord, PublishedRow, RunStatus, ServerId,
    VoidReason,
};
use ciphertax_report::terminal::{self, Place, Style};

use crate::fixture;

pub(crate) const NARROW: Style = Style {
    width: 80,
    colour: false,
};

pub(crate) const WIDE: Style = Style {
    width: 200,
    colour: false,
};

const UNBOUND: Style = Style {
    width: terminal::AS_WIDE_AS_NEEDED,
    colour: false,
};

pub(crate) const PLACE: Place<'_> = Place {
    folder: "runs/quick",
    report: "runs/quick/report.html",
    at_rate: None,
};

/// All that the terminal shows of a run.
pub(crate) fn full(run: &Run, style: Style) -> String {
    terminal::full(run, PLACE, style).unwrap()
}

#[test]
fn a_complete_run_at_80_columns() {
    insta::assert_snapshot!(full(&fixture::run(), NARROW));
}

#[test]
fn a_complete_run_at_100_columns() {
    insta::assert_snapshot!(full(&fixture::run(), Style { width: 100, ..NARROW }));
}

#[test]
fn a_run_that_ended_before_anything_was_measured() {
    let mut run = fixture::run();
    run.head.status = RunStatus::Partial {
        reason: "the server died during block 0 of oltp_point_select".into(),
    };
    run.results.verdict = "Cannot tell: nothing was measured.".into();
    for cell in &mut run.results.cells {
        cell.blocks = 0;
    }
    run.results.measurements.clear();
    run.results.estimates.clear();
    run.results.noise_floor.clear();
    run.results.block_ratios.clear();
    run.results.connect_phases.clear();
    run.results.churn.clear();
    run.results.capacity.clear();
    run.results.findings.clear();
    insta::assert_snapshot!(full(&run, NARROW));
}

#[test]
fn what_stays_readable_is_a_table_of_files_and_arms() {
    let mut run = fixture::with_disks();
    let lines = |text: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines = text
            .lines()
            .skip_while(|line| *line != "What stays readable on the disk");
        lines.take_while(|line| *line != "Why").map(words).collect()
    };
    let told = lines(&full(&run, WIDE));
    for line in [
        // The arms of one server share a column, and the repeated baseline has none.
        "files plain tls1.3, tls1.2",
        "tables readable encrypted",
        "redo log readable readable",
        "temporary files not encrypted –",
    ] {
        let is_told = told.iter().any(|other| other == line);
        assert!(is_told, "{line:?} is not in {told:#?}");
    }
    // Files of a database without a server are each arm's own.
    let mut apart = run.clone();
    let own = apart.head.arms[0].sessions[0].disk.clone();
    apart.head.arms[3].sessions[0].disk = own;
    let told = lines(&full(&apart, WIDE));
    assert!(told.contains(&"files plain tls1.3 tls1.2".into()), "{told:#?}");
    // A second server has a table of its own, and each its name.
    for arm in &mut run.head.arms[2..] {
        let mut elsewhere = arm.sessions[0].clone();
        elsewhere.server = "mysql".into();
        elsewhere.server_id = ServerId::numbered(5);
        elsewhere.beside_id = Some(ServerId::numbered(4));
        elsewhere.beside = Some("mysql, plain".into());
        arm.sessions.push(elsewhere);
    }
    let told = lines(&full(&run, WIDE));
    assert!(told.contains(&"mariadb, ecdsa-p256".into()), "{told:#?}");
    assert!(told.contains(&"mysql, plain".into()), "{told:#?}");
    assert!(!full(&fixture::run(), WIDE).contains("stays readable"));
}

#[test]
fn whole_rounds_stand_before_slices_and_say_what_storage_took() {
    let text = full(&fixture::run_of_whole_rounds(), UNBOUND);
    for words in [
        "1.3 s of idle servers before each slice on average; 3 of 256 slices ran while another arm's server was busy",
        "server and file system CPU per operation, whole round",
        "server CPU per operation, whole round",
        "bytes written to storage per operation",
        "Whole rounds: what each server did between its slices too",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn batches_are_told_with_their_mean_and_standard_deviation() {
    let text = full(&fixture::run_of_batches(), WIDE);
    for words in [
        "new connection, one query, close, 2 connects at a time, in batches of 100; 64 blocks",
        "Connections per second, mean and standard deviation over the batches: plain 1,001 (59.3) in 64 batches, \
         tls1.3 238 (12.6) in 64 batches, tls1.2 22.2 (–) in 64 batches",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn what_is_missing_of_a_run_is_said_with_its_reason() {
    let mut run = fixture::run();
    run.head.left_out = vec![LeftOut {
        arm: "tls1.1".into(),
        reason: LeftOutReason::TlsVersion {
            lacks_tls: TlsVersion::V1_1,
            has: Some("TLSv1.3".into()),
        },
    }];
    run.head.servers[0].cpu_unread =
        Some("it runs on another machine; to have it, run ciphertax there".into());
    let text = full(&run, WIDE);
    for words in [
        "\nServer CPU is not measured on mariadb, ecdsa-p256: it runs on another machine; to have it, run ciphertax there.\n",
        "\nLeft out: tls1.1, because the server does not offer TLSv1.1, it has TLSv1.3.\n",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn two_servers_of_the_same_name_are_two_in_the_answer() {
    let answered = |ids: [usize; 2]| {
        let mut run = fixture::run();
        let shown = ["oltp_point_select", "connect"];
        for (cell, id) in shown.into_iter().zip(ids) {
            let mut cells = run.results.cells.iter_mut();
            let found = cells.find(|found| found.name == cell).unwrap();
            found.server_id = ServerId::numbered(id);
        }
        run.results
            .cells
            .retain(|found| shown.contains(&found.name.as_str()));
        let text = ciphertax_report::markdown::render(&run);
        let table = text.split("each arm takes more than plain").nth(1).unwrap();
        let table = table.split("###").next().unwrap();
        table.lines().filter(|line| line.starts_with("| tls1.3")).count()
    };
    assert_eq!(answered([1, 1]), 1);
    assert_eq!(answered([1, 2]), 2);
}

#[test]
fn an_open_loop_shows_response_times_in_place_of_throughput_and_latency() {
    let text = full(&fixture::run_in_open_loop(), Style { width: 100, ..NARROW });
    let cell = text.split("\nconnect: ").nth(1).unwrap();
    let cell = cell.split("\nbulk_read: ").next().unwrap();
    insta::assert_snapshot!(cell);
}

fn link_of(distances: Vec<Link>, node_distances: Vec<Link>) -> LinkRecord {
    LinkRecord {
        distances,
        node_distances,
        packets: 12_000,
        lateness_median_us: 11.0,
        lateness_p99_us: 87.0,
        lateness_max_us: 3_100.0,
        dropped: 0,
    }
}

#[test]
fn a_distance_is_reported_with_its_lateness() {
    let mut run = fixture::run();
    let far = Link {
        rtt_ms: 45.0,
        ..Link::NONE
    };
    run.head.study.cells[0].link = Some(far);
    run.head.servers[0].link = Some(link_of(vec![far], Vec::new()));
    let text = full(&run, Style { width: 300, ..NARROW });
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("45 ms away")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_distance_between_nodes_is_told_beside_that_of_the_server() {
    let mut run = fixture::run();
    let at = |rtt_ms| Link { rtt_ms, ..Link::NONE };
    run.head.study.cells[0].node_link = Some(at(10.0));
    run.head.servers[0].link = Some(link_of(vec![at(1.0)], vec![at(0.0), at(10.0)]));
    let text = full(&run, Style { width: 300, ..NARROW });
    let told = |words: &str| text.lines().any(|line| line.contains(words));
    assert!(told("1 ms away and 0 ms, 10 ms between its nodes: "), "{text}");
    assert!(told(", nodes 10 ms apart"), "{text}");
}

#[test]
fn what_the_server_does_not_prove_is_said_with_the_reason() {
    let mut run = fixture::run();
    run.head.arms[0].sessions[0].unproved = Some("it has no variables Ssl_version and Ssl_cipher".into());
    let proofs = &mut run.head.arms[0].sessions[0].proofs;
    proofs.retain(|proof| proof.witness != Witness::Server);
    let page = full(&run, UNBOUND);
    let words = "  it has no variables Ssl_version and Ssl_cipher\n";
    assert_eq!(page.matches(words).count(), 1, "{page}");
}

#[test]
fn the_load_goes_to_the_members_that_are_read_from() {
    let mut run = fixture::run();
    let member = |address: &str, role: &str| MemberRecord {
        address: address.into(),
        role: role.into(),
    };
    run.head.servers[0].members = vec![
        member("db1:1", "PRIMARY"),
        member("db2:1", "SECONDARY"),
        member("db3:1", "SECONDARY"),
    ];
    let mut says = |preference, words: &str| {
        run.head.study.read_preference = preference;
        let page = full(&run, UNBOUND);
        assert!(page.contains(words), "{words:?} is not in: {page}");
    };
    let [first, second, third] = ["db1:1 (PRIMARY)", "db2:1 (SECONDARY)", "db3:1 (SECONDARY)"];
    says(
        ReadPreference::Primary,
        &format!("the load goes to {first}, beside {second}, {third}\n"),
    );
    says(
        ReadPreference::Secondary,
        &format!("the load goes to {second}, {third}, beside {first}\n"),
    );
    says(
        ReadPreference::Nearest,
        &format!("the load goes to {first}, {second}, {third}\n"),
    );
}

#[test]
fn no_line_is_wider_than_asked() {
    for width in [80, 90, 100, 120] {
        for run in [
            fixture::run(),
            fixture::run_of_batches(),
            fixture::run_in_open_loop(),
        ] {
            let text = full(&run, Style { width, ..NARROW });
            for line in text.lines() {
                assert!(line.chars().count() <= width, "wider than {width}: {line:?}");
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = full(
        &fixture::run(),
        Style {
            colour: true,
            ..NARROW
        },
    );
    assert!(coloured.contains("\u{1b}["));
    let plain = full(&fixture::run(), NARROW);
    let stripped: String = without_colour(&coloured)
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    assert_eq!(stripped, plain);
}

#[test]
fn hostile_text_cannot_rule_the_terminal() {
    let mut run = fixture::run();
    run.head.servers[0].version = "10\u{1b}]0;owned\u{7}".into();
    run.results.void[0].reason = VoidReason::ServerDied {
        detail: "\u{1b}[2J\u{202e}".into(),
    };
    run.head.arms[2].name = "\u{1b}[31mred".into();
    run.results.findings[0].summary = "\u{9b}31m".into();
    run.head.command = "a\u{1b}c".into();
    run.head.servers[0].product = "</dd><p class=\"on-page\"> &lt; it's".into();
    let text = full(&run, NARROW);
    assert!(
        text.contains("server: </dd><p class=\"on-page\"> &lt; it's 10"),
        "{text}"
    );
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(!text.contains('\u{202e}'));
}

#[test]
fn the_cpu_of_a_pooler_is_a_column_beside_the_two_sides() {
    let text = full(&fixture::run(), WIDE);
    assert!(!text.contains("pooler"), "{text}");
    let text = full(&fixture::with_pooler(), WIDE);
    for words in ["  pooler", "pooler CPU per operation", "+18.5 µs", " 18.5 µs"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_part_of_the_servers_cpu_stands_beside_the_server_and_a_published_figure_that_was_not_measured_says_so_once()
 {
    let mut run = fixture::with_pooler();
    for row in &mut run.results.measurements {
        if row.metric == Metric::PoolerCpuPerOp {
            row.metric = Metric::ColumnRelayCpuPerOp;
        }
    }
    run.results.published = vec![PublishedRow {
        source: "elsewhere".into(),
        cell: "connect".into(),
        arm: "tls1.3".into(),
        metric: Metric::Throughput,
        kind: None,
        change: Some(-0.35),
        within: None,
        measured: None,
        margin: None,
        agreement: Agreement::CannotTell,
        explanation: None,
        note: None,
    }];
    let text = full(&run, UNBOUND);
    let lines: Vec<&str> = text.lines().collect();
    let relay = lines.iter().position(|line| line.starts_with("column relay CPU"));
    let above = lines[..relay.unwrap()].iter().rev();
    let above = above.into_iter().find(|line| line.contains("CPU per operation"));
    assert!(above.unwrap().starts_with("server CPU per operation"), "{text}");
    assert_eq!(text.matches("  not measured  ").count(), 1, "{text}");
}

#[test]
fn what_decides_the_cost_at_rest_is_said_of_every_arm_where_it_is_known() {
    let text = full(&fixture::run(), UNBOUND);
    assert!(!text.contains("cache hit rate"), "{text}");
    let text = full(&fixture::with_storage(), UNBOUND);
    assert_eq!(text.matches("\ncache hit rate ").count(), 1, "{text}");
    let mut without_device = fixture::with_storage();
    for row in &mut without_device.results.storage {
        row.device_busy = Some(0.0);
    }
    let without_device = full(&without_device, UNBOUND);
    assert!(!without_device.contains("device busy") && without_device.contains("device traffic"));
    let line = |label: &str| {
        let line = text.lines().find(|line| line.starts_with(label));
        line.unwrap_or_else(|| panic!("{label}: {text}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (label, of_plain) in [
        ("data and indexes", "268 MB"),
        ("size on the disk", "273 MB"),
        ("cache memory", "67.1 MB"),
        ("data to memory", "4"),
        ("cache hit rate", "91.4 %"),
        ("pages read per operation", "0.35"),
        ("pages written per operation", "0.00412"),
        ("log written per operation", "312 B"),
        ("device busy (all programs)", "98 %"),
        ("device traffic per second (all programs)", "31.2 MB"),
    ] {
        assert!(
            line(label).starts_with(&format!("{label} {of_plain}")),
            "{}",
            line(label)
        );
    }
}

#[test]
fn where_the_database_runs_in_its_client_nothing_is_said_of_servers_and_of_what_travels() {
    let text = full(&fixture::embedded(), UNBOUND);
    for words in [
        "embedded: it runs in the application's process, here called the client, which bears all costs",
        "client CPU per operation",
        "Where the time of opening the database goes",
        "opened 12,345 times",
        "cache memory of each connection",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let of_a_server = full(&fixture::run(), UNBOUND);
    for words in [
        "server cores",
        "server CPU per operation",
        "logins by",
        "TLS handshakes",
        "flights",
        "Client and server shared",
    ] {
        assert!(of_a_server.contains(words), "{words}: {of_a_server}");
        assert!(!text.contains(words), "{words}: {text}");
    }
}

#[test]
fn the_whole_report_ends_with_where_the_charts_are_and_how_to_repeat_the_run() {
    let text = full(&fixture::run(), NARROW);
    let end = "\n\nReport: runs/quick/report.html\nRepeat: ciphertax quick --seed 2026\n";
    assert!(text.ends_with(end), "{text}");
}

/// The text without its SGR sequences.
pub(crate) fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}
