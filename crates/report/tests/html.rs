//! What the page is made of; `browser.rs` looks at it as a reader does.

use std::collections::BTreeSet;

use ciphertax_base::{Interval, Witness};
use ciphertax_records::{
    ArmRecord, EstimateRow, Finding, RoundsOfCell, Run, RunStatus, Severity, VoidReason,
};
use ciphertax_report::html;
use ciphertax_report_check::unpacked;

use crate::fixture;

/// A page as it is when all of it is unfolded, without the record.
pub(crate) fn unfolded(page: &str) -> String {
    let (page, _) = page.split_once("id=\"run\">").unwrap();
    let mut parts = page.split(" data-packed=\"");
    let mut whole = parts.next().unwrap().to_owned();
    for part in parts {
        let (packed, rest) = part.split_once('"').unwrap();
        let (summary, rest) = rest.split_once("</summary>").unwrap();
        whole += &format!("{summary}</summary>{}{rest}", unpacked(packed).unwrap());
    }
    whole
}

#[test]
fn hostile_text_is_escaped_in_the_page_and_in_the_embedded_record() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" onclick=\"x";
    let mut run = fixture::run();
    run.head.servers[0].version = hostile.into();
    run.results.verdict = hostile.into();
    run.head.command = hostile.into();
    run.head.status = RunStatus::Partial {
        reason: hostile.into(),
    };
    run.head.arms[2].name = hostile.into();
    run.head.arms[2].sessions[0].proofs[0].evidence = hostile.into();
    run.results.cells[0].name = hostile.into();
    run.head.study.cells[0].name = hostile.into();
    run.results.void[0].reason = VoidReason::ServerDied {
        detail: hostile.into(),
    };
    run.results.findings[0].summary = hostile.into();
    let page = html::render(&run).unwrap();
    assert_eq!(page.matches("</script>").count(), 2, "the record and one script");
    for page in [unfolded(&page), page] {
        assert!(!page.contains("<script>alert"));
        assert!(!page.contains("<img"));
        assert!(!page.contains("\" onclick=\""));
    }
}

#[test]
fn the_embedded_record_is_the_run() {
    let mut run = fixture::run();
    run.head.servers[0].version = "<!--<script>".into();
    let page = html::render(&run).unwrap();
    let start = page.find(r#"id="run">"#).unwrap() + r#"id="run">"#.len();
    let end = start + page[start..].find("</script>").unwrap();
    assert_eq!(
        Run::from_json(&unpacked(&page[start..end]).unwrap()).unwrap(),
        run
    );
}

#[test]
fn the_cpu_of_a_pooler_stands_beside_the_two_sides() {
    let page = unfolded(&html::render(&fixture::with_pooler()).unwrap());
    assert_eq!(
        page.matches(">pooler</th>").count(),
        2,
        "per query and per connection"
    );
    assert!(page.contains("<th scope=\"row\">pooler CPU per operation</th>"));
    assert!(page.contains("<data value=\"18.5\">+18.5 µs</data>"));
    assert!(!unfolded(&html::render(&fixture::run()).unwrap()).contains("pooler"));
}

#[test]
fn where_the_database_runs_in_its_client_no_column_is_left_empty() {
    let embedded = unfolded(&html::render(&fixture::embedded()).unwrap());
    let of_a_server = unfolded(&html::render(&fixture::run()).unwrap());
    for words in [
        ">server, %</th>",
        ">server cores</th>",
        ">sent</th>",
        ">flights</th>",
        ">negotiated</th>",
        "how connects logged in",
        "<dt>login</dt>",
        "<dt>server</dt>",
        "Server settings",
        "more ready sockets",
        "server CPU per operation</th>",
    ] {
        assert!(of_a_server.contains(words), "{words}");
        assert!(!embedded.contains(words), "{words}");
    }
    for words in [
        ">client, %</th>",
        ">client cores</th>",
        ">opened as</th>",
        "<td class=\"text\">plaintext</td>",
        "<dt>database</dt>",
        "bears all costs",
    ] {
        assert!(embedded.contains(words), "{words}");
    }
}

#[test]
fn what_decides_the_cost_at_rest_stands_among_the_details_of_its_cell() {
    let page = unfolded(&html::render(&fixture::with_storage()).unwrap());
    for text in [
        "<th scope=\"row\">data to memory</th>",
        "<th scope=\"row\">cache hit rate</th>",
        ">91.4 %</data>",
        "<data value=\"0.00412\">0.00412</data>",
        ">31.2 MB</data>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("pages read per operation").count(), 1);
    assert!(!unfolded(&html::render(&fixture::run()).unwrap()).contains("cache hit rate"));
}

#[test]
fn what_stays_readable_is_a_table_of_files_and_arms() {
    let mut run = fixture::with_disks();
    run.head.arms[0].sessions[0].disk.as_mut().unwrap().files[0].kind = "<b>tables</b>".into();
    let page = html::render(&run).unwrap();
    for words in [
        "<h2>What stays readable on the disk</h2>",
        "<th scope=\"row\">&lt;b&gt;tables",
        "<th scope=\"row\">redo log</th><td class=\"c\"><span>readable</span></td>\
         <td class=\"c\"><span>readable</span></td></tr>",
        "<th scope=\"row\">temporary files</th><td class=\"c\"><span>not encrypted</span></td>\
         <td class=\"c\"><span class=\"absent\">–</span></td></tr>",
        "<th scope=\"row\">tables</th><td class=\"c\"><span class=\"absent\">–</span></td>\
         <td class=\"c\"><span class=\"yes\">encrypted</span></td></tr>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!html::render(&fixture::run()).unwrap().contains("stays readable"));
}

#[test]
fn the_page_names_nothing_to_load() {
    let page = html::render(&fixture::run()).unwrap();
    for loading in [
        "<script src",
        "<iframe",
        "<img",
        "@import",
        "url(",
        "<link rel=\"stylesheet",
    ] {
        let ours = page.split("<script>").next().unwrap();
        assert!(!ours.contains(loading), "{loading}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_page_tells_batches_and_response_times() {
    let page = unfolded(&html::render(&fixture::run_of_batches()).unwrap());
    assert!(page.contains("plain 1,001 (59.3) in 64 batches"), "{page}");
    let page = unfolded(&html::render(&fixture::run_in_open_loop()).unwrap());
    assert!(page.contains("2 connects at a time at most, 200 begun per second"));
    let cell = page.split(r#"id="cell-2""#).nth(1).unwrap();
    let cell = cell.split(r#"<details class="cell""#).next().unwrap();
    assert!(cell.contains("median response time") && cell.contains("p99 response time"));
    assert!(!cell.contains("throughput") && !cell.contains("latency"));
}

#[test]
fn an_unfinished_run_says_so_first() {
    let mut run = fixture::run();
    assert!(!html::render(&run).unwrap().contains("role=\"alert\""));
    run.head.status = RunStatus::Running;
    let page = html::render(&run).unwrap();
    assert!(page.find("role=\"alert\"").unwrap() < page.find("<h1").unwrap());
}

#[test]
fn the_answer_comes_first_then_what_follows_every_cell_why_and_whether_it_is_true() {
    let page = html::render(&fixture::run()).unwrap();
    let places = [
        "id=\"verdict\"",
        "class=\"answer\"",
        "id=\"follows\"",
        "id=\"cells\"",
        "id=\"why\"",
        "id=\"true\"",
    ]
    .map(|section| {
        page.find(section)
            .unwrap_or_else(|| panic!("{section} is missing"))
    });
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_answer_gives_microseconds_beside_percent() {
    let mut run = fixture::run();
    let row = run
        .results
        .estimates
        .iter_mut()
        .find(|row| row.arm == "tls1.3" && row.unit == "us/op")
        .unwrap();
    (row.change, row.low, row.high) = (0.123, 0.101, 0.145);
    row.difference = Interval {
        value: 4.567,
        low: 3.0,
        high: 6.0,
    };
    let page = html::render(&run).unwrap();
    let answer = page.split("class=\"answer\"").nth(1).unwrap();
    let answer = answer.split("</section>").next().unwrap();
    for text in [
        "+4.57 µs",
        "+12.3 %",
        ">10.1</data>",
        ">14.5</data>",
        "per query",
        "per new connection",
        "title=\"TLSv1.3, TLS_AES_256_GCM_SHA384",
    ] {
        assert!(answer.contains(text), "{text:?} is not in {answer}");
    }
}

#[test]
fn findings_that_say_the_same_are_one() {
    let mut run = fixture::run();
    let template = run.results.findings[0].clone();
    let finding = |arm: &str, time: &str| {
        let mut finding = template.clone();
        finding.summary = format!("A connect over {arm} is slow.");
        finding.evidence = format!("{arm} took {time}");
        finding
    };
    run.results.findings = vec![finding("tls1.3", "3 µs"), finding("tls1.2", "4 µs")];
    let page = html::render(&run).unwrap();
    let page = page.split("type=\"application/json\"").next().unwrap();
    assert_eq!(page.matches("A connect over tls1.3, tls1.2 is slow.").count(), 1);
    assert_eq!(page.matches("is slow.").count(), 1);
    for evidence in ["tls1.3: tls1.3 took 3 µs", "tls1.2: tls1.2 took 4 µs"] {
        assert!(page.contains(evidence));
    }

    // Two arms in one sentence are not put together: nobody could tell which belongs to which.
    for finding in &mut run.results.findings {
        finding.summary = finding
            .summary
            .replace("is slow", "is slower than one over tls1.2");
    }
    let page = html::render(&run).unwrap();
    let page = page.split("type=\"application/json\"").next().unwrap();
    assert_eq!(page.matches("is slower than one over tls1.2.").count(), 2);
}

#[test]
fn doubts_are_shown_first_and_all_but_two_findings_are_folded() {
    let mut run = fixture::run();
    let template = run.results.findings[0].clone();
    let words = ["one", "two", "three", "four", "five", "doubt"];
    run.results.findings = words
        .map(|word| Finding {
            severity: if word == "doubt" {
                Severity::Suspicion
            } else {
                Severity::Cause
            },
            summary: format!("Found: {word}."),
            ..template.clone()
        })
        .to_vec();
    let page = html::render(&run).unwrap();
    let (_, found) = page.split_once("id=\"why\"").unwrap();
    let (shown, folded) = found.split_once(">4 more</summary>").unwrap();
    let places = |text: &str| words.map(|word| text.find(&format!("Found: {word}.")));
    let [one, two, three, four, five, doubt] = places(shown);
    assert!(doubt < one && doubt.is_some());
    assert_eq!((two, three, four, five), (None, None, None, None));
    assert!(places(folded)[1] < places(folded)[2]);
}

#[test]
fn a_missing_interval_is_explained_once() {
    let mut run = fixture::run();
    assert!(!html::render(&run).unwrap().contains("needs 5 blocks"));
    for cell in &mut run.results.cells {
        cell.blocks = 3;
    }
    run.results.estimates.clear();
    let page = html::render(&run).unwrap();
    assert_eq!(page.matches("needs 5 blocks").count(), 1);
}

#[test]
fn a_page_names_the_release_that_made_it() {
    let page = html::render(&fixture::run()).unwrap();
    assert_eq!(html::release_of(&page), Some(html::RELEASE));
    assert_eq!(html::release_of("<html>"), None);
}

#[test]
fn arms_in_cells_are_a_table_whose_longer_side_is_down_and_whose_entries_lead_to_their_cells() {
    let run = fixture::run_of_many_cells();
    let page = html::render(&run).unwrap();
    let (_, table) = page.split_once("grid-of-cells\">").unwrap();
    let (head, body) = table.split_once("</thead>").unwrap();
    let (body, _) = body.split_once("</table>").unwrap();
    let variants = run.head.variants().count();
    assert_eq!(head.matches("<th scope=\"col\"").count(), variants + 1);
    assert_eq!(body.matches("<th scope=\"row\"").count(), run.cells().count());
    assert_eq!(
        body.matches("class=\"of of-1").count(),
        variants * run.cells().count()
    );
    for cell in 1..=run.cells().count() {
        assert!(
            body.contains(&format!("href=\"#cell-{cell}\"")) && page.contains(&format!("id=\"cell-{cell}\""))
        );
    }
    let is_shown = |row: &&EstimateRow| {
        let words = format!("title=\"{}, {}, {}: ", row.cell, row.arm, row.metric);
        let entry = body
            .split(&words)
            .nth(1)
            .and_then(|entry| entry.split("</a>").next());
        entry.is_some_and(|entry| entry.contains(&format!("<data value=\"{}\"", row.change)))
    };
    let shown = run.results.estimates.iter().filter(is_shown).count();
    assert_eq!(
        shown,
        3 * variants * run.cells().count(),
        "server, client and speed"
    );
    let mut of_one = fixture::run();
    of_one.results.cells.truncate(1);
    of_one.head.study.cells.truncate(1);
    assert!(!html::render(&of_one).unwrap().contains("grid-of-cells\""));
}

#[test]
fn no_two_of_fourteen_arms_look_alike() {
    let mut run = fixture::run();
    let template = run.head.arms[2].clone();
    run.head.arms = (0..14)
        .map(|arm| ArmRecord {
            name: format!("arm {arm}"),
            ..template.clone()
        })
        .collect();
    let page = html::render(&run).unwrap();
    let (_, matrix) = page.split_once("aria-label=\"proofs\"").unwrap();
    let looks: BTreeSet<&str> = matrix
        .split("class=\"arm ")
        .skip(1)
        .filter_map(|arm| Some(arm.split_once('"')?.0))
        .collect();
    assert_eq!(looks.len(), 14);
}

#[test]
fn an_arm_that_a_witness_does_not_prove_says_why() {
    let mut run = fixture::run();
    run.head.arms[2].sessions[0].unproved = Some("it has no variable Ssl_cipher".into());
    run.head.arms[2].sessions[0]
        .proofs
        .retain(|proof| proof.witness != Witness::Server);
    run.head.arms[3].sessions[0]
        .proofs
        .retain(|proof| proof.witness != Witness::Authentication);
    let page = html::render(&run).unwrap();
    assert!(page.contains("<td class=\"c\"><small>it has no variable Ssl_cipher</small></td>"));
    assert!(page.contains("<small>no secret to get wrong</small>"));
    run.head.command += " --no-wrong-logins";
    assert!(
        html::render(&run)
            .unwrap()
            .contains("<small>forbidden by --no-wrong-logins</small>")
    );
    assert!(page.contains("4 arms, proved by ") && page.contains("server (3)"));
}

#[test]
fn a_note_that_every_cell_has_stands_once() {
    let mut run = fixture::run();
    for cell in &mut run.results.cells {
        cell.rounds = Some(RoundsOfCell {
            dropped: 0,
            slices: 256,
            disturbed: 0,
            quiet_s: 1.3,
        });
    }
    assert_eq!(
        unfolded(&html::render(&run).unwrap())
            .matches("1.3 s of idle servers")
            .count(),
        1
    );
    run.results.cells[0].rounds = None;
    assert_eq!(
        unfolded(&html::render(&run).unwrap())
            .matches("1.3 s of idle servers")
            .count(),
        2
    );
}

#[test]
fn an_arm_is_told_by_what_arms_differ_in() {
    let mut run = fixture::run();
    let arm = (run.head.study.arms.iter_mut()).find(|arm| arm.name == "tls1.2");
    arm.unwrap().authentication.scram_iterations = Some(100_000);
    let page = html::render(&run).unwrap();
    let answer = page.split("class=\"answer\"").nth(1).unwrap();
    let answer = answer.split("</section>").next().unwrap();
    assert!(answer.contains(">baseline: plain TCP</small>"));
    assert!(answer.contains(", 100,000 iterations\">TLSv1.2, "));
    // All arms over TLS have this key.
    assert!(page.contains("EC P-256") && !answer.contains("EC P-256"));
}
