//! The studies that are built in.

/// What does TLS cost, in two minutes?
pub(crate) const QUICK: &str = include_str!("../studies/quick.toml");

/// By name, in the order they are listed.
const STUDIES: [(&str, &str); 23] = [
    ("quick", QUICK),
    (
        "mysql-tls-library",
        include_str!("../studies/mysql-tls-library.toml"),
    ),
    (
        "mysql-tls-tunnel-wan",
        include_str!("../studies/mysql-tls-tunnel-wan.toml"),
    ),
    (
        "mysql-connect-rate",
        include_str!("../studies/mysql-connect-rate.toml"),
    ),
    (
        "mysql-connect-distance",
        include_str!("../studies/mysql-connect-distance.toml"),
    ),
    (
        "mysql-tls-scenarios",
        include_str!("../studies/mysql-tls-scenarios.toml"),
    ),
    (
        "mysql-tls-versions",
        include_str!("../studies/mysql-tls-versions.toml"),
    ),
    (
        "mysql-tls-client-library",
        include_str!("../studies/mysql-tls-client-library.toml"),
    ),
    (
        "mysql-tls-resumption",
        include_str!("../studies/mysql-tls-resumption.toml"),
    ),
    (
        "mysql-post-quantum",
        include_str!("../studies/mysql-post-quantum.toml"),
    ),
    ("mysql-login", include_str!("../studies/mysql-login.toml")),
    (
        "mongodb-tls-connection",
        include_str!("../studies/mongodb-tls-connection.toml"),
    ),
    (
        "mongodb-tls-versions",
        include_str!("../studies/mongodb-tls-versions.toml"),
    ),
    ("mongodb-auth", include_str!("../studies/mongodb-auth.toml")),
    ("mongodb-login", include_str!("../studies/mongodb-login.toml")),
    ("postgres-tls", include_str!("../studies/postgres-tls.toml")),
    (
        "postgres-tls-versions",
        include_str!("../studies/postgres-tls-versions.toml"),
    ),
    ("postgres-login", include_str!("../studies/postgres-login.toml")),
    (
        "postgres-connect-distance",
        include_str!("../studies/postgres-connect-distance.toml"),
    ),
    (
        "postgres-post-quantum",
        include_str!("../studies/postgres-post-quantum.toml"),
    ),
    ("postgres-pooler", include_str!("../studies/postgres-pooler.toml")),
    ("sqlcipher", include_str!("../studies/sqlcipher.toml")),
    ("databases-tls", include_str!("../studies/databases-tls.toml")),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(name, _)| *name)
}

/// The TOML of a study.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    let study = STUDIES.iter().find(|(known, _)| *known == name);
    study.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_model::StudyText;

    #[test]
    fn every_study_is_good_at_every_scale_and_knows_its_name() {
        for (name, toml) in STUDIES {
            let text = StudyText::new(name, toml);
            let scales = text.scales().unwrap();
            for scale in [None]
                .into_iter()
                .chain(scales.iter().map(|scale| Some(scale.as_str())))
            {
                let study = text.clone().scale(scale).study();
                let study = study.unwrap_or_else(|error| panic!("{scale:?}: {error}"));
                assert_eq!(study.name, name);
            }
        }
    }

    #[test]
    fn a_study_takes_ten_minutes_and_shows_all_that_was_published_at_the_published_scale() {
        for (name, toml) in STUDIES {
            let text = StudyText::new(name, toml);
            let study = text.study().unwrap();
            assert!(study.time_s <= 540.0, "{name} takes {} s", study.time_s);
            if !study.published.is_empty() {
                let published = text.scale(Some("published")).study().unwrap();
                let rows = toml.matches("[[published]]").count();
                assert_eq!(published.published.len(), rows, "{name}");
            }
        }
    }
}
