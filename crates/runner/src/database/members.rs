//! Several servers of the user's own that form one database, and which of them the load goes to.

use std::time::Duration;

use ciphertax_records::MemberRecord;
use ciphertax_wire::{Client, Endpoint as Reached, Session, WireError};

use super::clients::Clients;
use super::control::Control;
use super::reached::Endpoint;
use crate::error::{Result, RunError};

/// How long each may take to say what it is.
const ANSWER: Duration = Duration::from_secs(5);

/// One of several servers that form one database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) endpoint: Endpoint,
    /// What it is among them, in its product's own word.
    pub(crate) role: String,
    /// False for one that nobody can log in to now.
    pub(crate) answers: bool,
}

impl Member {
    pub(crate) fn record(&self) -> MemberRecord {
        MemberRecord {
            address: self.endpoint.to_string(),
            role: self.role.clone(),
        }
    }
}

/// What a server says of itself among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// In its product's own word.
    pub(crate) role: String,
    pub(crate) takes_writes: bool,
    /// What all servers of its database have in common; `None` if it does not say.
    pub(crate) group: Option<String>,
}

impl<D: Clients> Control<D> {
    /// Asks each of the servers what it is, and puts that first which takes writes; of several such, the first one named. One
    /// server is not asked.
    pub(crate) fn members_by(
        &self,
        standing: impl AsyncFn(&mut D::Session) -> Result<Standing, WireError>,
    ) -> Result<Option<Vec<Member>>> {
        if self.ways.len() < 2 {
            return Ok(None);
        }
        let mut found = Vec::new();
        for way in &self.ways {
            // A Unix socket is a target by itself.
            let Reached::Tcp(host, port) = D::Session::endpoint(way) else {
                continue;
            };
            let ask = async {
                let (mut session, _) = D::Session::connect_with_settings(&self.reactor, way).await?;
                let said = standing(&mut session).await?;
                session.close().await?;
                Ok::<_, WireError>(said)
            };
            let said = match self.wait_for(ANSWER, ask) {
                Err(RunError::Stopped) => return Err(RunError::Stopped),
                Err(_) => Err(format!("no answer within {} s", ANSWER.as_secs())),
                Ok(said) => said.map_err(|error| error.to_string()),
            };
            found.push((Endpoint::new(host, port), said));
        }
        in_order(found)
            .map(Some)
            .map_err(|problem| self.unusable(problem))
    }
}

/// The one that takes writes, and so the load, first, and last those that do not answer.
fn in_order(found: Vec<(Endpoint, Result<Standing, String>)>) -> Result<Vec<Member>, String> {
    let writers: Vec<(&Endpoint, &Standing)> = found
        .iter()
        .filter_map(|(endpoint, said)| Some((endpoint, said.as_ref().ok()?)))
        .filter(|(_, standing)| standing.takes_writes)
        .collect();
    let [(first, standing), others @ ..] = writers.as_slice() else {
        let each = found.iter().map(|(endpoint, said)| match said {
            Ok(standing) => format!("{endpoint} is {}", standing.role),
            Err(problem) => format!("{endpoint}: {problem}"),
        });
        return Err(format!(
            "none of its servers takes writes, which ciphertax needs for data of its own: {}",
            each.collect::<Vec<_>>().join("; ")
        ));
    };
    let stranger = others
        .iter()
        .find(|(_, other)| other.group.is_none() || other.group != standing.group);
    if let Some((stranger, _)) = stranger {
        return Err(format!(
            "{first} and {stranger} both take writes and do not say that they are one database; name the one to be measured"
        ));
    }
    let first = (*first).clone();
    let mut members: Vec<Member> = found
        .into_iter()
        .map(|(endpoint, said)| Member {
            endpoint,
            answers: said.is_ok(),
            role: said.map_or_else(|_| "no answer".to_owned(), |standing| standing.role),
        })
        .collect();
    members.sort_by_key(|member| (member.endpoint != first, !member.answers));
    Ok(members)
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;

    use super::*;

    fn standing(role: &str, takes_writes: bool, group: Option<&str>) -> Result<Standing, String> {
        Ok(Standing {
            role: role.to_owned(),
            takes_writes,
            group: group.map(str::to_owned),
        })
    }

    fn ordered(found: [(&str, Result<Standing, String>); 3]) -> Result<Vec<String>, String> {
        let found = found.map(|(host, said)| (Endpoint::new(host, 1), said));
        let members = in_order(found.into())?;
        let words = |member: Member| format!("{} {} {}", member.endpoint, member.role, member.answers);
        Ok(members.into_iter().map(words).collect())
    }

    #[test]
    fn the_one_that_takes_writes_is_first_and_who_does_not_answer_last() {
        let found = [
            ("a", Err("refused".to_owned())),
            ("b", standing("standby", false, None)),
            ("c", standing("primary", true, None)),
        ];
        assert_eq!(
            ordered(found).unwrap(),
            ["c:1 primary true", "b:1 standby true", "a:1 no answer false"]
        );
    }

    #[test]
    fn of_several_that_take_writes_and_are_one_database_the_first_named_is_first() {
        let synced = |group| standing("Synced", true, Some(group));
        let found = [("a", synced("g")), ("b", synced("g")), ("c", synced("g"))];
        assert_eq!(ordered(found).unwrap()[0], "a:1 Synced true");
        let found = [("a", synced("g")), ("b", synced("g")), ("c", synced("h"))];
        let problem = ordered(found).unwrap_err();
        assert!(problem.starts_with("a:1 and c:1 both take writes"), "{problem}");
        let alone = || standing("primary", true, None);
        let problem = ordered([("a", alone()), ("b", alone()), ("c", alone())]).unwrap_err();
        says(&problem, "name the one to be measured");
    }

    #[test]
    fn where_none_takes_writes_each_is_named_with_what_it_is() {
        let found = [
            ("a", standing("standby", false, None)),
            ("b", standing("standby", false, None)),
            ("c", Err("the server refused the connection".to_owned())),
        ];
        let problem = ordered(found).unwrap_err();
        says(
            &problem,
            "a:1 is standby; b:1 is standby; c:1: the server refused",
        );
    }
}
