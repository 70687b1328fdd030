//! `--cell` and `--arm`: a part of a study.

use ciphertax_model::{Study, nearest};
pub(crate) use glob::Pattern;

/// A pattern of names, where `*` stands for any text, `?` for any letter and `[ab]` for one of these.
pub(crate) fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| format!("{} at letter {}", error.msg, error.pos + 1))
}

/// The study with the cells and arms alone that a pattern is for: all where there is none. The baseline stays in any case.
///
/// # Errors
/// When a pattern is for nothing, or nothing is left to be compared; says what there is.
pub(crate) fn selected(mut study: Study, cells: &[Pattern], arms: &[Pattern]) -> Result<Study, String> {
    let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    each_means_one("arm", arms, &names)?;
    if !arms.is_empty() {
        let variants = &names[1..];
        let left_out = variants.iter().copied().filter(|name| !is_asked(arms, name));
        let left_out: Vec<&str> = left_out.collect();
        if left_out.len() == variants.len() {
            return Err(format!(
                "--arm leaves nothing to compare the baseline {} with, which is measured in any case; there are {}",
                names[0],
                variants.join(", ")
            ));
        }
        study = study.without_arms(&left_out);
    }
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    if names.is_empty() {
        return Err(
            "of these arms no cell measures one beside the baseline; choose others with --arm".into(),
        );
    }
    each_means_one("cell", cells, &names)?;
    if !cells.is_empty() {
        study = study.with_cells(|name| is_asked(cells, name));
    }
    Ok(study)
}

/// Makes sure that every pattern is for one of the names.
///
/// # Errors
/// When one is for none of them; says which there are, and which was probably meant.
fn each_means_one(what: &str, patterns: &[Pattern], names: &[&str]) -> Result<(), String> {
    for pattern in patterns {
        if !names.iter().any(|name| is_for(pattern, name)) {
            let near = nearest(pattern.as_str(), names.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("did you mean {near}? "));
            return Err(format!(
                "no {what} is called {:?}; {hint}there are {}",
                pattern.as_str(),
                names.join(", ")
            ));
        }
    }
    Ok(())
}

/// True if a name is asked for: any is where there is no pattern.
fn is_asked(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| is_for(pattern, name))
}

/// True if a pattern is for a name. A name may hold what means something in a pattern: given as it is, it is meant. Names match as
/// they are: what a shell would take apart is nothing special here.
fn is_for(pattern: &Pattern, name: &str) -> bool {
    pattern.as_str() == name || pattern.matches(name)
}

/// The names that are asked for; `None` where nothing is, and so all are meant.
pub(crate) fn chosen<'a>(
    what: &str,
    patterns: &[Pattern],
    names: Vec<&'a str>,
) -> Result<Option<Vec<&'a str>>, String> {
    each_means_one(what, patterns, &names)?;
    let asked = names.into_iter().filter(|name| is_asked(patterns, name));
    Ok((!patterns.is_empty()).then(|| asked.collect()))
}

#[cfg(test)]
mod tests {
    use ciphertax_model::Budget;

    use super::*;

    fn study() -> Study {
        Study::from_toml(
            r#"name = "s"
            question = "?"
            time_s = 60
            arm = [{ name = "plain", transport = "plain" }, { name = "tls1.3", transport = "tls1.3" },
                   { name = "tls1.2", transport = "tls1.2" }, { name = "tls [old]", transport = "tls1.1" }]
            cell = [{ name = "select", workload = "oltp_point_select", load = { connections = 1 } },
                    { name = "select many", workload = "oltp_point_select", load = { connections = 9 } },
                    { name = "connect", workload = "connect", load = { connections = 1 }, arms = ["plain", "tls1.2"] }]"#,
        )
        .unwrap()
    }

    fn names_of(cells: &[&str], arms: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let patterns = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| pattern(text).unwrap())
                .collect::<Vec<_>>()
        };
        let study = selected(study(), &patterns(cells), &patterns(arms))?;
        let study = study.validated().map_err(|error| error.to_string())?;
        Ok((
            study.cells.into_iter().map(|cell| cell.name).collect(),
            study.arms.into_iter().map(|arm| arm.name).collect(),
        ))
    }

    #[test]
    fn patterns_choose_cells_and_arms_and_the_baseline_stays() {
        let of = |cells: &[&str], arms: &[&str]| {
            let (cells, arms) = names_of(cells, arms).unwrap();
            (cells.join("|"), arms.join("|"))
        };
        let all = (
            "select|select many|connect".to_owned(),
            "plain|tls1.3|tls1.2|tls [old]".to_owned(),
        );
        assert_eq!(of(&[], &[]), all);
        assert_eq!(of(&["*"], &["*"]), all);
        assert_eq!(of(&["select*"], &["tls1.?"]).0, "select|select many");
        assert_eq!(of(&[], &["tls1.?"]).1, "plain|tls1.3|tls1.2");
        assert_eq!(of(&["connect", "select"], &[]).0, "select|connect");
        // Nothing is left to be compared in the cell that does not measure the arm.
        assert_eq!(of(&[], &["tls1.3"]).0, "select|select many");
        assert_eq!(of(&[], &["tls [old]"]).1, "plain|tls [old]");
    }

    #[test]
    fn budgets_of_what_is_left_out_are_left_out_too() {
        let mut study = study();
        for budget in [
            "tls1.3: server_cpu_per_op <= 35%",
            "tls1.2: server_cpu_per_op <= 35%",
            "connect/tls1.2: server_cpu_per_op <= 900%",
            "select/*: throughput >= -10%",
            "*: server_cpu_per_op <= 99%",
        ] {
            study.budgets.push(Budget::parse(budget, &study).unwrap());
        }
        let left = |cells: &[&str], arms: &[&str]| {
            let patterns = |texts: &[&str]| {
                texts
                    .iter()
                    .map(|text| pattern(text).unwrap())
                    .collect::<Vec<_>>()
            };
            let study = selected(study.clone(), &patterns(cells), &patterns(arms)).unwrap();
            let study = study.validated().unwrap();
            study
                .budgets
                .iter()
                .map(|budget| budget.at_most)
                .collect::<Vec<_>>()
        };
        assert_eq!(left(&[], &[]), [0.35, 0.35, 9.0, 0.1, 0.99]);
        assert_eq!(left(&[], &["tls1.3"]), [0.35, 0.1, 0.99]);
        assert_eq!(left(&["select*"], &["tls1.2"]), [0.35, 0.1, 0.99]);
        // The cell does not measure the other arm.
        assert_eq!(left(&["connect"], &[]), [0.35, 9.0, 0.99]);
    }

    #[test]
    fn a_pattern_for_nothing_is_told_with_what_there_is() {
        for (cells, arms, words) in [
            (&["selct"][..], &[][..], "did you mean"),
            (&["x*"], &[], "there are select, select many, connect"),
            (&[], &["quic"], "there are plain, tls1.3, tls1.2"),
            (
                &[],
                &["plain"],
                "leaves nothing to compare the baseline plain with",
            ),
            (&["connect"], &["tls1.3"], "no cell is called \"connect\""),
        ] {
            let error = names_of(cells, arms).unwrap_err();
            assert!(error.contains(words), "{words:?} is not in {error}");
        }
        assert!(pattern("a[").unwrap_err().contains("at letter"));
    }
}
