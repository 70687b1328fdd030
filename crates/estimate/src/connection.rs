//! Figures of connections that were taken apart: medians and quartiles of their phases and of what both sides computed.

use ciphertax_base::Interval;
use ciphertax_base::{AuthenticationFacts, ChainCertificate, ConnectTrace, Phase, PhaseTrace, SessionFacts};
use ciphertax_records::{
    CONNECTION_SCHEMA, ConnectionPhase, ConnectionRecord, ConnectionTotal, Spread, Tool, TriedConnection,
};

/// What was asked, and of whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Who measured.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The server as a URL without its password.
    pub target: String,
    /// The server's name, as far as it says it.
    pub product: String,
    /// True where TLS begins at once, and the server greets after it.
    pub greets_over_tls: bool,
    /// Where it listens.
    pub address: String,
    /// True if it runs on this machine.
    pub same_host: bool,
    /// What listens in its place and passes connections on.
    pub through: Option<String>,
}

/// What was seen of connections that are all made alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// One for each connection, one at least, in order.
    pub connections: Vec<SeenConnection>,
    /// What the last negotiated.
    pub facts: SessionFacts,
    /// The certificates that the server sent to the last.
    pub chain: Vec<ChainCertificate>,
    /// A way tried between them.
    pub tried: Option<Tried>,
}

/// One connection.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenConnection {
    /// What each phase took.
    pub trace: ConnectTrace,
    /// CPU time of the client's thread until the first answer, in nanoseconds.
    pub client_cpu_ns: u64,
    /// CPU time of the server until it was quiet after the first answer, in nanoseconds; or why it was not read.
    pub server_cpu_ns: Result<u64, String>,
    /// How it logged in.
    pub login: AuthenticationFacts,
}

/// Another way, tried between the connections.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Which, as the rest of a sentence.
    pub way: &'static str,
    /// Wall time of its TLS handshake in nanoseconds, of one connection beside each of those, in their order, as long as it
    /// could be had.
    pub walls_ns: Vec<u64>,
    /// Why it cannot be had, or not always.
    pub impossible: Option<String>,
}

/// The figures of connections; who computes what, and what would be cheaper, is for others to say.
///
/// # Panics
/// Without a single connection.
pub fn connection(asked: Asked, seen: &Seen) -> ConnectionRecord {
    assert!(!seen.connections.is_empty(), "somebody connected");
    ConnectionRecord {
        schema: CONNECTION_SCHEMA.to_owned(),
        tool: asked.tool,
        started: asked.started,
        product: asked.product,
        target: asked.target,
        address: asked.address,
        same_host: asked.same_host,
        through: asked.through,
        connections: seen.connections.len() as u32,
        phases: phases(seen, asked.greets_over_tls),
        first_answer: total(seen),
        facts: seen.facts.clone(),
        logins: seen.connections.iter().map(|seen| seen.login.clone()).collect(),
        chain: seen.chain.clone(),
        work: Vec::new(),
        tried: seen.tried.as_ref().map(|tried| as_tried(seen, tried)),
        findings: Vec::new(),
    }
}

/// Over a Unix socket there is no name to look up, over TCP there always is, be it an address.
fn is_over_socket(seen: &Seen) -> bool {
    let mut connections = seen.connections.iter();
    !connections.any(|seen| seen.trace.of(Phase::Resolve).is_some())
}

fn phases(seen: &Seen, greets_over_tls: bool) -> Vec<ConnectionPhase> {
    let mut phases: Vec<ConnectionPhase> = Phase::ALL
        .into_iter()
        .filter_map(|phase| in_phase(seen, phase))
        .collect();
    if greets_over_tls
        && let Some(tls) = phases.iter().position(|found| found.phase == Phase::Tls)
        && let Some(greeting) = phases.iter().position(|found| found.phase == Phase::Preface)
    {
        phases.swap(tls, greeting);
    }
    phases
}

fn in_phase(seen: &Seen, phase: Phase) -> Option<ConnectionPhase> {
    let of_each = seen.connections.iter().map(|seen| seen.trace.of(phase));
    let traces: Vec<PhaseTrace> = of_each.flatten().copied().collect();
    if traces.is_empty() {
        return None;
    }
    let each = |value: &dyn Fn(&PhaseTrace) -> f64| traces.iter().map(value).collect::<Vec<f64>>();
    let cpu = |ns: &dyn Fn(&PhaseTrace) -> Option<u64>| -> Option<Spread> {
        let of_all: Option<Vec<f64>> = traces.iter().map(|trace| Some(ns(trace)? as f64 / 1e3)).collect();
        of_all.map(spread)
    };
    let bytes_received = median(each(&|trace| trace.bytes_received as f64));
    let label = match phase {
        // Nobody greets: the client asks for TLS, and a single byte answers.
        Phase::Preface if bytes_received <= 1.0 => "TLS request",
        Phase::Tcp if is_over_socket(seen) => "socket",
        _ => phase.label(),
    };
    Some(ConnectionPhase {
        phase,
        label: label.to_owned(),
        wall_us: spread(each(&|trace| trace.wall_ns as f64 / 1e3)),
        client_cpu_us: cpu(&|trace| trace.thread_cpu_ns),
        cryptography_us: cpu(&|trace| trace.client_cpu_ns),
        bytes_sent: median(each(&|trace| trace.bytes_sent as f64)),
        bytes_received,
        flights: median(each(&|trace| f64::from(trace.flights))),
    })
}

fn total(seen: &Seen) -> ConnectionTotal {
    let each = |value: &dyn Fn(&PhaseTrace) -> u64| -> Vec<f64> {
        let sum = |seen: &SeenConnection| until_answer(&seen.trace).map(value).sum::<u64>() as f64;
        seen.connections.iter().map(sum).collect()
    };
    let (server_cpu_us, server_cpu_unread) = server_cpu(&seen.connections);
    let client = seen
        .connections
        .iter()
        .map(|seen| seen.client_cpu_ns as f64 / 1e3);
    let microseconds = |ns: Vec<f64>| spread(ns.into_iter().map(|ns| ns / 1e3).collect());
    ConnectionTotal {
        wall_us: microseconds(each(&|trace| trace.wall_ns)),
        client_cpu_us: spread(client.collect()),
        cryptography_us: microseconds(each(&|trace| trace.client_cpu_ns.unwrap_or(0))),
        server_cpu_us,
        server_cpu_unread,
        bytes_sent: median(each(&|trace| trace.bytes_sent)),
        bytes_received: median(each(&|trace| trace.bytes_received)),
        flights: median(each(&|trace| u64::from(trace.flights))),
    }
}

/// In microseconds, of the connections of which it was read; or why it was not, where these are fewer than half: what is left
/// then are those that other work happened to spare.
fn server_cpu(connections: &[SeenConnection]) -> (Option<Spread>, Option<String>) {
    let read = connections
        .iter()
        .filter_map(|seen| seen.server_cpu_ns.as_ref().ok());
    let read: Vec<f64> = read.map(|ns| *ns as f64 / 1e3).collect();
    if read.len() * 2 >= connections.len() {
        return (Some(spread(read)), None);
    }
    let unread = connections
        .iter()
        .find_map(|seen| seen.server_cpu_ns.as_ref().err());
    (None, unread.cloned())
}

/// The phases that a user waits for.
fn until_answer(trace: &ConnectTrace) -> impl Iterator<Item = &PhaseTrace> {
    trace
        .phases()
        .filter(|(phase, _)| *phase != Phase::Close)
        .map(|(_, trace)| trace)
}

fn as_tried(seen: &Seen, tried: &Tried) -> TriedConnection {
    let mut record = TriedConnection {
        way: tried.way.to_owned(),
        resumed: tried.walls_ns.len() as u32,
        impossible: tried.impossible.clone(),
        wall_us: None,
        saves_us: None,
    };
    if tried.impossible.is_some() || tried.walls_ns.is_empty() {
        return record;
    }
    let asked = seen.connections.iter();
    let asked = asked.map(|seen| seen.trace.handshake_ns());
    let saved: Vec<f64> = asked
        .zip(&tried.walls_ns)
        .map(|(asked, tried)| (asked as f64 - *tried as f64) / 1e3)
        .collect();
    record.wall_us = Some(spread(tried.walls_ns.iter().map(|ns| *ns as f64 / 1e3).collect()));
    record.saves_us = median_interval(saved);
    record
}

/// The median with its quartiles; of nothing, zero.
fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    Spread {
        median: quantile(&values, 0.5),
        low: quantile(&values, 0.25),
        high: quantile(&values, 0.75),
        least: quantile(&values, 0.0),
        most: quantile(&values, 1.0),
    }
}

fn median(values: Vec<f64>) -> f64 {
    spread(values).median
}

/// The median with its 95 % interval, which ends at two of the values: as many below the one as above the other, so that the
/// true median lies outside by one chance in twenty at most, whatever the values' distribution (that of the sign test;
/// Conover, Practical Nonparametric Statistics, 3.2). `None` for fewer than six values, of which no two are far enough apart.
fn median_interval(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let outside = outside(values.len())?;
    Some(Interval {
        value: quantile(&values, 0.5),
        low: values[outside],
        high: values[values.len() - 1 - outside],
    })
}

/// The chance that a 95 % interval leaves on each side.
const TAIL: f64 = 0.025;

/// How many of so many values may lie on each side of the interval: the most whose binomial chance (of one half each) is
/// not above [`TAIL`].
fn outside(count: usize) -> Option<usize> {
    // Of exactly `below` values under the median, in logarithms: two to the minus ten thousand is no number.
    let mut log_chance = -(count as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    let mut outside = None;
    for below in 0..count {
        sum += log_chance.exp();
        if sum > TAIL {
            break;
        }
        outside = Some(below);
        log_chance += ((count - below) as f64 / (below + 1) as f64).ln();
    }
    outside
}

/// Between the two nearest of sorted values (type 7 of Hyndman and Fan, the default of R and NumPy).
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = part * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table of binomial chances: of 12, three or more on a side are too many (0.019 for two at most, 0.073 for three).
    #[test]
    fn a_median_has_the_interval_of_the_sign_test_from_six_values_on() {
        let of = |count: u32| median_interval((1..=count).rev().map(f64::from).collect());
        assert_eq!(of(5), None);
        for (count, low, value, high) in [
            (6, 1.0, 3.5, 6.0),
            (12, 3.0, 6.5, 10.0),
            (20, 6.0, 10.5, 15.0),
            (100, 40.0, 50.5, 61.0),
        ] {
            assert_eq!(of(count), Some(Interval { value, low, high }), "{count}");
        }
        let many = of(10_000).unwrap();
        assert!((4_900.0..4_910.0).contains(&many.low), "{many:?}");
    }

    #[test]
    fn quartiles_are_those_of_r() {
        let found = spread(vec![7.0, 1.0, 2.0, 4.0]);
        let seen = [found.least, found.low, found.median, found.high, found.most];
        assert_eq!(seen, [1.0, 1.75, 3.0, 4.75, 7.0]);
        assert_eq!(spread(vec![5.0]).high, 5.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
