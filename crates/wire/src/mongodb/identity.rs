//! Identity of a server of MongoDB: the replica set, the member of it, and the process.

use bson::oid::ObjectId;
use bson::raw::RawDocument;

use crate::address::Address;

/// What a server says of itself in its answer to `hello`, or what is expected there. All that is not known is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Name of its replica set.
    pub set_name: Option<String>,
    /// Address by which its replica set knows it.
    pub me: Option<Address>,
    /// Number of its process, made anew at each start (`topologyVersion.processId`).
    pub process: Option<ObjectId>,
    /// True for a member that has not read the configuration of its set yet, and so takes no writes.
    pub is_starting: bool,
}

impl Identity {
    pub(super) fn parse(answer: &RawDocument) -> Self {
        let version = answer.get_document("topologyVersion");
        Self {
            set_name: answer.get_str("setName").ok().map(str::to_owned),
            me: answer.get_str("me").ok().and_then(Address::parse),
            process: version
                .and_then(|version| version.get_object_id("processId"))
                .ok(),
            is_starting: answer.get_bool("isreplicaset").unwrap_or(false),
        }
    }

    /// What a server is that is not the expected one, as the rest of a sentence about it; `None` for the expected one. What
    /// a server does not say is no contradiction, but for the name of its set.
    pub(super) fn contradicted_by(&self, found: &Self) -> Option<String> {
        if let Some(set) = &self.set_name
            && found.set_name != self.set_name
            && !found.is_starting
        {
            return Some(match (&self.me, &found.set_name) {
                (Some(_), _) => format!("is no member of {set}, though the configuration of {set} names it"),
                (None, None) => "is no replica set; leave replicaSet out".to_owned(),
                (None, Some(found)) => format!("is of a replica set named {found}; say replicaSet={found}"),
            });
        }
        if let (Some(expected), Some(found)) = (&self.me, &found.me)
            && !(expected.host.eq_ignore_ascii_case(&found.host) && expected.port == found.port)
        {
            return Some(format!(
                "leads to the member that its set calls {found}, not to {expected}"
            ));
        }
        if let (Some(expected), Some(found)) = (&self.process, &found.process)
            && expected != found
        {
            return Some("leads to another process than the member that its set calls so".to_owned());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};

    use super::*;

    fn of(set: &str, me: &str, process: u8) -> RawDocumentBuf {
        let process = ObjectId::from_bytes([process; 12]);
        rawdoc! { "setName": set, "me": me, "topologyVersion": { "processId": process, "counter": 1_i64 } }
    }

    #[test]
    fn a_server_is_another_by_its_set_its_name_or_its_process() {
        let member = Identity::parse(&of("rs0", "db1:27017", 1));
        let says = |answer: RawDocumentBuf| member.contradicted_by(&Identity::parse(&answer));
        assert_eq!(says(of("rs0", "DB1:27017", 1)), None);
        for (answer, words) in [
            (of("rs1", "db1:27017", 1), "no member of rs0"),
            (rawdoc! { "isWritablePrimary": true }, "no member of rs0"),
            (
                of("rs0", "db2:27017", 1),
                "its set calls db2:27017, not to db1:27017",
            ),
            (
                of("rs0", "db1:27018", 1),
                "its set calls db1:27018, not to db1:27017",
            ),
            (of("rs0", "db1:27017", 2), "another process"),
        ] {
            let problem = says(answer).expect(words);
            assert!(problem.contains(words), "{problem}");
        }
        // A member says neither before it has read what its set is, and an older one never says its process.
        assert_eq!(says(rawdoc! { "isreplicaset": true }), None);
        assert_eq!(says(rawdoc! { "setName": "rs0" }), None);
        assert_eq!(Identity::default().contradicted_by(&member), None);
    }
}
