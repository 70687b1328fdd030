//! Roles of the members of a replica set, as far as a load needs them.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use bson::rawdoc;
use ciphertax_model::ReadPreference;
use ciphertax_reactor::{Reactor, Together};

use super::connect::{ConnectOptions, Login, Silence};
use super::identity::Identity;
use super::session::Session;
use super::unreadable;
use crate::address::Address;
use crate::client::Session as _;
use crate::error::{Result, WireError};

/// How often a member's round trip is timed, and how long at most where it is far away: the shortest counts, since what
/// is longer has waited for something else too.
const ROUND_TRIPS: usize = 5;
const TIMING: Duration = Duration::from_millis(100);
/// Members whose round trips differ by no more than this are equally near (`localThresholdMS`, by its default).
const AS_NEAR: Duration = Duration::from_millis(15);
/// How long to wait before a set without a primary is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(10);
/// How much later than the first another member may answer: a dozen round trips around the world. One that accepts
/// connections and says nothing is taken for one that is gone.
const LATER: Duration = Duration::from_secs(3);
/// The same for members that were waited for so long before, and said nothing.
const A_MOMENT: Duration = Duration::from_millis(50);
/// Members of a replica set at most (MongoDB's own limit).
const MOST_MEMBERS: usize = 50;

/// A server, or the members of a replica set that can be read from: hidden members and arbiters are none.
#[derive(Debug)]
pub struct Topology {
    /// Name of the replica set; `None` for a server of its own.
    pub set_name: Option<String>,
    /// Who answered, in the order of the set's configuration.
    pub members: Vec<Member>,
    /// Servers that answer where the set's configuration names a member, and are none, each with what it is.
    pub strangers: Vec<WireError>,
    /// Why other members cannot be reached by the names that they have in the set's configuration.
    silent: Vec<WireError>,
}

/// A member that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Where it is.
    pub address: Address,
    /// What it is.
    pub role: Role,
    /// What it says of itself.
    pub identity: Identity,
    /// Time of a `hello`, the shortest of a few, while no other member is asked.
    pub round_trip: Duration,
}

/// What a member is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It takes writes; a server of its own does so too.
    Primary,
    /// It follows the primary; it may be one that never becomes primary (priority 0).
    Secondary,
    /// It is starting, catching up or going away.
    Neither,
}

impl Topology {
    /// Asks all of `seeds` for the other members and takes the first answer; then asks each member for its role, all at
    /// the same time, and times their round trips one after the other. Everything but host and port is as in `options`;
    /// nobody logs in. If `options` name a set, all must be of it. Members that cannot be reached, and those that answer
    /// three seconds later than the first or never, are left out; the latter are hardly waited for again within a minute,
    /// wherever in this process.
    ///
    /// # Errors
    /// That of the last seed when none answers within ten seconds.
    pub async fn discover(
        reactor: &Rc<Reactor>,
        seeds: &[Address],
        options: &ConnectOptions,
    ) -> Result<Self> {
        Self::discover_until(Instant::now() + PATIENCE, reactor, seeds, options).await
    }

    async fn discover_until(
        deadline: Instant,
        reactor: &Rc<Reactor>,
        seeds: &[Address],
        options: &ConnectOptions,
    ) -> Result<Self> {
        let looks = Together::new(seeds.iter().map(|seed| {
            let expected = Identity {
                set_name: options.identity.set_name.clone(),
                me: options.identity.me.clone().filter(|me| me == seed),
                ..Identity::default()
            };
            look_at(reactor, seed, options, expected)
        }));
        let first = reactor.until(deadline, looks.first_ok()).await;
        let nobody = || WireError::Request("there is no server to ask for the others".into());
        let look = first.ok_or_else(|| silent(seeds))?.ok_or_else(nobody)??;
        if look.hello.set_name.is_some() {
            let seed = look.session.identity.clone();
            reactor.until(deadline, look.session.close()).await;
            return Ok(Self::of_set(deadline, reactor, look.hello, &seed, options).await);
        }
        let timed = reactor.until(deadline, look.timed()).await;
        Ok(Self {
            set_name: None,
            members: vec![timed.ok_or_else(|| silent(seeds))??],
            strangers: Vec::new(),
            silent: Vec::new(),
        })
    }

    /// As [`Topology::discover`], again and again until there is a primary.
    ///
    /// # Errors
    /// When there is none at `deadline`, or other servers answer than members of the set.
    pub async fn wait_for_primary(
        reactor: &Rc<Reactor>,
        seeds: &[Address],
        options: &ConnectOptions,
        deadline: Instant,
    ) -> Result<Self> {
        let mut before = None;
        loop {
            let problem = match Self::discover_until(deadline, reactor, seeds, options).await {
                Ok(topology) if topology.primary().is_some() => return Ok(topology),
                Ok(mut topology) => topology.strangers.pop().unwrap_or(WireError::NoPrimary {
                    set: topology.set_name.unwrap_or_default(),
                    silent: topology.silent,
                }),
                // That the time is over says less than what was seen while it was not.
                Err(error) => before.filter(|_| Instant::now() >= deadline).unwrap_or(error),
            };
            let now = Instant::now();
            if now >= deadline || matches!(problem, WireError::OtherServer { .. }) {
                return Err(problem);
            }
            reactor.sleep_until(deadline.min(now + LOOK_AGAIN)).await;
            before = Some(problem);
        }
    }

    /// The member that takes writes.
    pub fn primary(&self) -> Option<&Member> {
        self.with_role(Role::Primary).next()
    }

    /// The members that follow the primary.
    pub fn secondaries(&self) -> impl Iterator<Item = &Member> {
        self.with_role(Role::Secondary)
    }

    /// The member that the connection with this number reads from; `None` when there is none of that kind.
    pub fn choose(&self, preference: ReadPreference, connection: usize) -> Option<&Member> {
        match preference {
            ReadPreference::Primary => self.primary(),
            ReadPreference::Secondary => {
                let count = self.secondaries().count().max(1);
                self.secondaries().nth(connection % count)
            }
            ReadPreference::Nearest => {
                let count = self.nearest().count().max(1);
                self.nearest().nth(connection % count)
            }
        }
    }

    /// The members that can be read from and answer hardly later than the fastest, in the order of the set's
    /// configuration: so noise does not send one arm elsewhere than another.
    fn nearest(&self) -> impl Iterator<Item = &Member> {
        let readable = || self.members.iter().filter(|member| member.role != Role::Neither);
        let fastest = readable()
            .map(|member| member.round_trip)
            .min()
            .unwrap_or_default();
        readable().filter(move |member| member.round_trip <= fastest + AS_NEAR)
    }

    async fn of_set(
        deadline: Instant,
        reactor: &Rc<Reactor>,
        hello: Hello,
        seed: &Identity,
        options: &ConnectOptions,
    ) -> Self {
        let addresses = &hello.members;
        let mut looks = Together::new(addresses.iter().map(|address| {
            let expected = Identity {
                set_name: hello.set_name.clone(),
                me: Some(address.clone()),
                process: seed.process.filter(|_| seed.me.as_ref() == Some(address)),
                ..Identity::default()
            };
            look_at(reactor, address, options, expected)
        }));
        let (mut strangers, mut silent) = (Vec::new(), Vec::new());
        let mut waiting: Vec<&Address> = addresses.iter().collect();
        let mut found = Vec::with_capacity(addresses.len());
        let (mut end, mut patience) = (deadline, None);
        while let Some(Some((place, outcome))) = reactor.until(end, looks.next()).await {
            waiting.retain(|address| **address != addresses[place]);
            match outcome {
                Ok(look) => {
                    Silence::is_over(&look.address);
                    found.push((place, look));
                }
                Err(stranger @ WireError::OtherServer { .. }) => strangers.push(stranger),
                Err(error) => silent.push(error),
            }
            if !found.is_empty() {
                let now = Instant::now();
                let patience = *patience.get_or_insert(now + LATER);
                let is_known = waiting.iter().all(|address| Silence::is_known(address));
                end = end.min(if is_known { now + A_MOMENT } else { patience });
            }
        }
        if patience.is_some_and(|patience| Instant::now() >= patience) {
            for address in waiting {
                Silence::note(address);
            }
        }
        found.sort_unstable_by_key(|(place, _)| *place);
        let mut members = Vec::with_capacity(found.len());
        // One after the other: so no answer waits for the handshake of another member.
        for (_, look) in found {
            let end = deadline.min(Instant::now() + LATER);
            members.extend(reactor.until(end, look.timed()).await.and_then(Result::ok));
        }
        Self {
            set_name: hello.set_name,
            members,
            strangers,
            silent,
        }
    }

    fn with_role(&self, role: Role) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |member| member.role == role)
    }
}

/// What a member says of itself and of its set.
struct Hello {
    set_name: Option<String>,
    role: Role,
    members: Vec<Address>,
}

impl Hello {
    fn parse(answer: &RawDocument) -> Result<Self> {
        let is = |name: &str| answer.get_bool(name).unwrap_or(false);
        let set_name = answer.get_str("setName").ok().map(str::to_owned);
        let mut members = Vec::new();
        // Those that can become primary, and those that cannot but are read from.
        for list in ["hosts", "passives"] {
            let Some(RawBsonRef::Array(hosts)) = answer.get(list).map_err(unreadable)? else {
                continue;
            };
            for host in hosts {
                let host = host.map_err(unreadable)?;
                let address = host.as_str().and_then(Address::parse);
                let unknown = || WireError::protocol("a member of the replica set without host and port");
                members.push(address.ok_or_else(unknown)?);
                if members.len() > MOST_MEMBERS {
                    return Err(WireError::protocol("a replica set of more than 50 members"));
                }
            }
        }
        Ok(Self {
            role: match (is("isWritablePrimary"), is("secondary")) {
                (true, _) => Role::Primary,
                (false, true) => Role::Secondary,
                (false, false) => Role::Neither,
            },
            set_name,
            members,
        })
    }
}

/// What to say of servers none of which answered in time.
fn silent(seeds: &[Address]) -> WireError {
    let addresses: Vec<String> = seeds.iter().map(Address::to_string).collect();
    WireError::Connect {
        address: addresses.join(", "),
        source: io::Error::new(io::ErrorKind::TimedOut, "nobody answered in time"),
    }
}

/// A member that has answered.
struct Look {
    address: Address,
    session: Session,
    hello: Hello,
}

async fn look_at(
    reactor: &Rc<Reactor>,
    address: &Address,
    options: &ConnectOptions,
    identity: Identity,
) -> Result<Look> {
    let options = ConnectOptions {
        host: address.host.clone(),
        port: address.port,
        login: Login::None,
        identity,
        ..options.clone()
    };
    let (mut session, _) = Session::connect(reactor, &options).await?;
    let hello = Hello::parse(&session.command(&hello()).await?)?;
    Ok(Look {
        address: address.clone(),
        session,
        hello,
    })
}

impl Look {
    /// Times the member's round trip, and says goodbye.
    async fn timed(mut self) -> Result<Member> {
        let hello = hello();
        let mut round_trip = Duration::MAX;
        let began = Instant::now();
        for _ in 0..ROUND_TRIPS {
            let asked = Instant::now();
            self.session.command(&hello).await?;
            round_trip = round_trip.min(asked.elapsed());
            if began.elapsed() > TIMING {
                break;
            }
        }
        let identity = self.session.identity.clone();
        self.session.close().await?;
        Ok(Member {
            identity,
            address: self.address,
            role: self.hello.role,
            round_trip,
        })
    }
}

fn hello() -> RawDocumentBuf {
    rawdoc! { "hello": 1_i32, "$db": "admin" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(port: u16, role: Role, round_trip_ms: u64) -> Member {
        Member {
            address: Address {
                host: "h".into(),
                port,
            },
            role,
            identity: Identity::default(),
            round_trip: Duration::from_millis(round_trip_ms),
        }
    }

    fn ports(topology: &Topology, preference: ReadPreference) -> Vec<Option<u16>> {
        let port = |connection| {
            topology
                .choose(preference, connection)
                .map(|member| member.address.port)
        };
        (0..3).map(port).collect()
    }

    #[test]
    fn a_connection_reads_from_the_member_that_is_preferred() {
        let mut topology = Topology {
            set_name: Some("set".into()),
            members: vec![
                member(1, Role::Secondary, 30),
                member(2, Role::Primary, 20),
                member(3, Role::Neither, 0),
                member(4, Role::Secondary, 1),
            ],
            strangers: Vec::new(),
            silent: Vec::new(),
        };
        assert_eq!(ports(&topology, ReadPreference::Primary), [Some(2); 3]);
        let found = ports(&topology, ReadPreference::Secondary);
        assert_eq!(found, [Some(1), Some(4), Some(1)]);
        assert_eq!(ports(&topology, ReadPreference::Nearest), [Some(4); 3]);
        topology.members[1].round_trip = Duration::from_millis(10);
        let found = ports(&topology, ReadPreference::Nearest);
        assert_eq!(found, [Some(2), Some(4), Some(2)]);
        topology.members.truncate(1);
        assert_eq!(ports(&topology, ReadPreference::Primary), [None; 3]);
        topology.members.clear();
        assert_eq!(ports(&topology, ReadPreference::Secondary), [None; 3]);
        assert_eq!(ports(&topology, ReadPreference::Nearest), [None; 3]);
    }

    #[test]
    fn members_that_never_become_primary_are_read_from_too() {
        let hello = Hello::parse(&rawdoc! {
            "setName": "rs", "secondary": true, "isWritablePrimary": false,
            "hosts": ["a:1", "[::1]:2"], "passives": ["b:3"], "arbiters": ["c:4"], "ok": 1.0,
        });
        let hello = hello.unwrap();
        let found = (hello.set_name.as_deref(), hello.role);
        assert_eq!(found, (Some("rs"), Role::Secondary));
        let hosts: Vec<_> = hello.members.iter().map(|a| (a.host.as_str(), a.port)).collect();
        assert_eq!(hosts, [("a", 1), ("::1", 2), ("b", 3)]);
    }

    #[test]
    fn a_set_that_makes_no_sense_is_refused() {
        for hosts in [rawdoc! { "hosts": ["a"] }, rawdoc! { "hosts": [1_i32] }] {
            assert!(Hello::parse(&hosts).is_err());
        }
        let many = bson::RawArrayBuf::from_iter((0..51).map(|port| format!("a:{port}")));
        assert!(Hello::parse(&rawdoc! { "hosts": many }).is_err());
    }
}
