//! Links of the documents lead somewhere, and every page is in the book.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::tidy::{root, walk};

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut lost = Vec::new();
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).unwrap());
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = match path {
                "" => document.clone(),
                path => document.parent().unwrap().join(path),
            };
            let has_heading = heading.is_empty()
                || fs::read_to_string(&file)
                    .is_ok_and(|text| anchors(&prose(&text)).iter().any(|a| a == heading));
            if !file.exists() || !has_heading {
                lost.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(lost.is_empty(), "links that lead nowhere:\n{}", lost.join("\n"));
}

#[test]
fn every_page_is_in_the_book() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let chapters: Vec<&str> = links(&summary).collect();
    for page in documents()
        .iter()
        .filter_map(|page| page.strip_prefix(root().join("docs")).ok())
    {
        let page = page.to_str().unwrap();
        assert!(
            page == "SUMMARY.md" || chapters.contains(&page),
            "docs/SUMMARY.md lacks {page}"
        );
    }
}

/// The Markdown files that are committed.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), "md", &mut found);
    assert!(found.len() > 20, "{found:?}");
    found
}

/// A document without its blocks of code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Where the links go, without those that code shows.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("](").skip(1);
    parts.filter_map(|part| part.split_once(')').map(|(link, _)| link))
}

/// What GitHub and mdBook call the headings; one that is there again has a number.
fn anchors(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|char| char.is_alphanumeric() || " -_".contains(*char));
            let anchor = kept.collect::<String>().replace(' ', "-");
            let before = seen.entry(anchor.clone()).or_insert(0);
            *before += 1;
            match *before {
                1 => anchor,
                count => format!("{anchor}-{}", count - 1),
            }
        })
        .collect()
}
