//! Which servers the cells with one spec need: arms share one unless they differ in what only a whole server has.

use ciphertax_model::study::BASELINE_AGAIN;
use ciphertax_model::{
    Arm, AtRest, AuthenticationMethod, Cell, Certificate, ColumnEncryption, ServerSpec, Study,
};

/// Arms that share a private server.
pub(crate) struct Group<'a> {
    /// The server's name, unique in its study.
    pub(crate) name: String,
    pub(crate) needs: Needs<'a>,
    pub(crate) arms: Vec<&'a Arm>,
    /// Whose TLS versions and accounts the server has: those of all arms of these cells that could use it, so that the
    /// servers of one spec differ in nothing but what their arms need.
    pub(crate) set_up_for: Vec<&'a Arm>,
}

/// What an arm needs that cannot be switched for a connection, and so is a property of a whole server. A further one is a field
/// here, what an arm says of it in [`Needs::of`], its words in [`Needs::name`], and the setting of the private server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs<'a> {
    pub(crate) certificate: Certificate,
    /// Whether who may ask is controlled, which MongoDB can do without.
    pub(crate) access_control: bool,
    /// Whether several servers encrypt what they tell each other.
    pub(crate) cluster_tls: bool,
    pub(crate) at_rest: AtRest,
    /// What the client stores in YCSB's table, where that is not plain.
    pub(crate) stored: Option<&'a ColumnEncryption>,
}

impl<'a> Needs<'a> {
    /// What an arm needs in the cells with this spec.
    fn of(study: &Study, spec: &ServerSpec, arm: &'a Arm) -> Self {
        let mut cells = study.cells.iter().filter(|cell| study.server_spec(cell) == *spec);
        let asks_usertable = cells.any(|cell| cell.workload.asks_usertable());
        let stores = |columns: &&ColumnEncryption| columns.stores() && asks_usertable;
        Self {
            certificate: study.certificate_of(arm, spec),
            access_control: arm.authentication.method != Some(AuthenticationMethod::NoLogin),
            cluster_tls: arm.cluster_tls,
            at_rest: arm.at_rest,
            stored: arm.columns.as_ref().filter(stores),
        }
    }

    /// `mariadb, ecdsa-p256`, which is the spec itself where the baseline is; then what differs from it.
    fn name(self, spec: &ServerSpec, baseline: Self) -> String {
        let with_certificate = ServerSpec {
            certificate: self.certificate,
            ..spec.clone()
        };
        let mut name = with_certificate.to_string();
        if self.access_control != baseline.access_control {
            name.push_str(match self.access_control {
                true => ", with access control",
                false => ", without access control",
            });
        }
        if self.cluster_tls != baseline.cluster_tls {
            name.push_str(match self.cluster_tls {
                true => ", TLS between its servers",
                false => ", plaintext between its servers",
            });
        }
        if self.at_rest != baseline.at_rest {
            name.push_str(&format!(", at rest: {}", self.at_rest));
        }
        if let Some(stored) = self.stored {
            name.push_str(&format!(", cells: {stored}"));
        }
        name
    }
}

/// The groups of the cells with one spec, that of the baseline first. Where there are several, the baseline again is one of
/// its own, so that the noise floor is that of two servers. Where arms differ at rest each arm is one: what a server does
/// between its slices is then that arm's.
pub(crate) fn groups<'a>(study: &Study, spec: &ServerSpec, arms: Vec<&'a Arm>) -> Vec<Group<'a>> {
    let needs = |arm: &'a Arm| Needs::of(study, spec, arm);
    let like = |one: Needs<'_>| {
        // A server for one can be set up with the TLS versions and accounts of both: with all that differs in nothing else.
        let alike = arms
            .iter()
            .filter(|arm| needs(arm).access_control == one.access_control);
        alike.copied().collect::<Vec<&Arm>>()
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    let shares = !study.differs_at_rest();
    for arm in arms.iter().copied() {
        let needs = needs(arm);
        let name = needs.name(spec, groups.first().map_or(needs, |first| first.needs));
        let alike = groups.iter_mut().find(|group| group.needs == needs);
        let name = match alike {
            Some(group) if shares => {
                group.arms.push(arm);
                continue;
            }
            Some(_) if arm.name == BASELINE_AGAIN => format!("{name}, a second one"),
            Some(_) => format!("{name}, for {}", arm.name),
            None => name,
        };
        groups.push(Group {
            name,
            needs,
            arms: vec![arm],
            set_up_for: like(needs),
        });
    }
    if let (true, [first, _, ..]) = (shares, &mut groups[..]) {
        let (again, others) = first.arms.iter().partition(|arm| arm.name == BASELINE_AGAIN);
        first.arms = others;
        let again = Group {
            name: format!("{}, a second one", first.name),
            needs: first.needs,
            arms: again,
            set_up_for: first.set_up_for.clone(),
        };
        groups.insert(1, again);
    }
    groups
}

/// Those of `arms` that any cell with this spec measures.
pub(crate) fn measured_at<'a>(study: &Study, arms: &'a [Arm], spec: Option<&ServerSpec>) -> Vec<&'a Arm> {
    let cells = study.cells.iter().filter(|cell| holds(spec, study, cell));
    let here: Vec<Arm> = cells.flat_map(|cell| study.measured_arms_of(cell)).collect();
    arms.iter().filter(|arm| here.contains(arm)).collect()
}

/// A study with those of its cells alone that are measured on servers with this spec: what others ask need not be there.
pub(crate) fn of_own_cells(spec: Option<&ServerSpec>, study: &Study) -> Study {
    let mut own = study.clone();
    own.cells.retain(|cell| holds(spec, study, cell));
    own
}

/// True if a cell is measured on servers with this spec; `None` for the user's own, which hold all.
pub(crate) fn holds(spec: Option<&ServerSpec>, study: &Study, cell: &Cell) -> bool {
    spec.is_none_or(|spec| study.server_spec(cell) == *spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of each server, and the arms on it.
    fn of(arms: &str) -> Vec<(String, Vec<String>)> {
        names(&Study::from_toml(&study_text(arms)).unwrap())
    }

    fn study_text(arms: &str) -> String {
        format!(
            r#"name = "s"
            question = "?"
            server = "mongodb"
            time_s = 60
            arm = [{arms}]
            cell = [{{ name = "c", workload = "connect_only", load = {{ connections = 1 }} }}]"#
        )
    }

    fn names(study: &Study) -> Vec<(String, Vec<String>)> {
        let measured = study.measured_arms();
        let groups = groups(
            study,
            &study.server_spec(&study.cells[0]),
            measured.iter().collect(),
        );
        let names = |group: Group<'_>| {
            let arms = group.arms.iter().map(|arm| arm.name.clone());
            (group.name, arms.collect())
        };
        groups.into_iter().map(names).collect()
    }

    fn expect(arms: &str, expected: &[(&str, &[&str])]) {
        let found = of(arms);
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|(name, arms)| (name.as_str(), arms.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(&str, Vec<&str>)> = expected
            .iter()
            .map(|(name, arms)| (*name, arms.to_vec()))
            .collect();
        assert_eq!(found, expected);
    }

    const AGAIN: &str = BASELINE_AGAIN;

    #[test]
    fn arms_that_need_nothing_of_their_own_share_one_server() {
        expect(
            r#"{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls" }"#,
            &[("mongodb, ecdsa-p256", &["plain", AGAIN, "tls"])],
        );
        // All arms that use a certificate use the same.
        expect(
            r#"{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls", certificate = "rsa-2048" }"#,
            &[("mongodb, rsa-2048", &["plain", AGAIN, "tls"])],
        );
    }

    #[test]
    fn arms_with_another_certificate_have_another_server_and_plain_ones_lie_on_the_first() {
        expect(
            r#"{ name = "plain", transport = "plain" },
               { name = "rsa", transport = "tls", certificate = "rsa-2048" },
               { name = "study's", transport = "tls" },
               { name = "rsa 1.2", transport = "tls1.2", certificate = "rsa-2048" }"#,
            &[
                ("mongodb, rsa-2048", &["plain", "rsa", "rsa 1.2"]),
                ("mongodb, rsa-2048, a second one", &[AGAIN]),
                ("mongodb, ecdsa-p256", &["study's"]),
            ],
        );
    }

    #[test]
    fn the_servers_of_a_spec_have_the_same_versions_and_accounts() {
        let study = Study::from_toml(
            r#"name = "s"
            question = "?"
            time_s = 60
            arm = [{ name = "plain", transport = "plain" },
                   { name = "old", transport = "tls1.0", certificate = "rsa-2048" },
                   { name = "new", transport = "tls1.3", certificate = "ecdsa-p256" }]
            cell = [{ name = "c", workload = "connect_only", load = { connections = 1 } }]"#,
        )
        .unwrap();
        let measured = study.measured_arms();
        let groups = groups(
            &study,
            &study.server_spec(&study.cells[0]),
            measured.iter().collect(),
        );
        assert_eq!(groups.len(), 3);
        for group in groups {
            assert_eq!(group.set_up_for.len(), 4, "{}", group.name);
        }
    }

    #[test]
    fn an_encrypted_baseline_lies_on_the_server_with_its_certificate() {
        expect(
            r#"{ name = "ec", transport = "tls" }, { name = "plain", transport = "plain" },
               { name = "rsa", transport = "tls", certificate = "rsa-4096" }"#,
            &[
                ("mongodb, ecdsa-p256", &["ec", "plain"]),
                ("mongodb, ecdsa-p256, a second one", &[AGAIN]),
                ("mongodb, rsa-4096", &["rsa"]),
            ],
        );
    }

    #[test]
    fn where_arms_differ_at_rest_each_has_a_server_of_its_own() {
        expect(
            r#"{ name = "plain", transport = "plain" },
               { name = "tls", transport = "tls" },
               { name = "tables", transport = "plain", at_rest = { tables = true } },
               { name = "tables, tls", transport = "tls", at_rest = { tables = true } },
               { name = "all", transport = "plain", at_rest = { tables = true, redo_log = true } }"#,
            &[
                ("mongodb, ecdsa-p256", &["plain"]),
                ("mongodb, ecdsa-p256, a second one", &[AGAIN]),
                ("mongodb, ecdsa-p256, for tls", &["tls"]),
                ("mongodb, ecdsa-p256, at rest: tables", &["tables"]),
                (
                    "mongodb, ecdsa-p256, at rest: tables, for tables, tls",
                    &["tables, tls"],
                ),
                ("mongodb, ecdsa-p256, at rest: tables, redo_log", &["all"]),
            ],
        );
    }

    #[test]
    fn arms_that_store_cells_in_ycsbs_table_have_servers_of_their_own() {
        let arms = r#"{ name = "plain", transport = "plain" },
               { name = "ready", transport = "plain", columns = { feature = "stored", format = "csfle", columns = "none" } },
               { name = "one", transport = "plain", columns = { feature = "stored", format = "csfle", columns = ["field0"] } },
               { name = "all", transport = "plain", columns = { feature = "stored", format = "csfle", columns = "all" } }"#;
        let text = study_text(arms).replace("connect_only", "ycsb_c");
        let found = names(&Study::from_toml(&text).unwrap());
        let arms: Vec<&Vec<String>> = found.iter().map(|(_, arms)| arms).collect();
        assert_eq!(
            arms,
            [&vec!["plain", "ready"], &vec![AGAIN], &vec!["one"], &vec!["all"]]
        );
        assert!(
            found[2].0.contains("cells: csfle") && found[2].0.ends_with("field0"),
            "{found:?}"
        );
    }

    #[test]
    fn access_control_and_certificate_together_make_servers_with_names_of_their_own() {
        expect(
            r#"{ name = "open", transport = "plain", authentication = { method = "none" } },
               { name = "login", transport = "plain" },
               { name = "ec", transport = "tls" },
               { name = "rsa", transport = "tls", certificate = "rsa-2048" }"#,
            &[
                ("mongodb, ecdsa-p256", &["open"]),
                ("mongodb, ecdsa-p256, a second one", &[AGAIN]),
                ("mongodb, ecdsa-p256, with access control", &["login", "ec"]),
                ("mongodb, rsa-2048, with access control", &["rsa"]),
            ],
        );
    }
}
