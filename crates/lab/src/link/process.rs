//! The process of a link, what its owner and it say to each other, and what it says of itself. They speak over a Unix
//! socket in the private folder (see [`ciphertax_supervise::Conversation`]).

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use ciphertax_model as model;
use ciphertax_supervise::Conversation;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::devices::Devices;
use super::forward::{forward, run_first, sleep_precisely};
use super::{Endpoints, ROLE, WaySettings};
use crate::helper_process::Answered;

/// What the process of a link does; the whole of the hidden command `link`.
pub fn main() -> ExitCode {
    ROLE.play(serve)
}

fn serve(mut owner: Conversation) -> io::Result<()> {
    sleep_precisely();
    match owner.receive()? {
        None => Ok(()),
        Some(Request::Start(distances)) => match start(&distances) {
            Err(error) => owner.send(&refused(error)),
            Ok((settings, devices)) => {
                end_on_sigterm(&owner);
                owner.send(&Answered::Ok(Answer::Started(devices.endpoints.clone())))?;
                run_first();
                forward(&devices, settings, owner)
            }
        },
        Some(_) => owner.send(&refused("was not started")),
    }
}

pub(super) fn refused(problem: impl ToString) -> Answered<Answer> {
    Err(problem.to_string())
}

fn start(distances: &model::Distances) -> io::Result<(WaySettings, Devices)> {
    let settings = WaySettings::try_from(distances).map_err(io::Error::other)?;
    Ok((settings, Devices::make(distances)?))
}

/// Makes SIGTERM end the conversation, which ends the process with all that it has to remove.
fn end_on_sigterm(owner: &Conversation) {
    static OWNER: AtomicI32 = AtomicI32::new(-1);
    extern "C" fn end(_: libc::c_int) {
        // SAFETY: a system call that a signal handler may make, on a number.
        unsafe { libc::shutdown(OWNER.load(Ordering::Relaxed), libc::SHUT_RDWR) };
    }
    OWNER.store(owner.as_fd().as_raw_fd(), Ordering::Relaxed);
    // SAFETY: the handler makes one system call, so it may run at any point.
    unsafe {
        libc::signal(
            libc::SIGTERM,
            end as extern "C" fn(libc::c_int) as libc::sighandler_t,
        )
    };
}

/// What the owner asks. The first is [`Request::Start`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    Start(model::Distances),
    Set(model::Distances),
    Report,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    Started(Endpoints),
    Set,
    Report(LinkReport),
}

/// Nanoseconds: the greatest lateness kept; greater ones count as this.
const LATEST: u64 = 10_000_000_000;
/// Significant decimal digits of a lateness.
const DIGITS: u8 = 3;

/// What a link did since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Packets delivered, both directions together.
    pub packets: u64,
    /// Median over the packets of how much later than due they were handed to the receiving side, in microseconds. A
    /// packet is due its delay after the link process took it: waking up for that is not in it. 0 without packets.
    pub lateness_median_us: f64,
    /// 99th percentile of the same.
    pub lateness_p99_us: f64,
    /// The greatest of the same.
    pub lateness_max_us: f64,
    /// Packets dropped because the queue before a limited bandwidth was full, as a router drops them.
    pub drops: u64,
}

/// Counts what a link does.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    drops: u64,
    lateness: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            drops: 0,
            lateness: Histogram::new_with_bounds(1, LATEST, DIGITS)
                .expect("the bounds are constants that the library allows"),
        }
    }

    pub(super) fn delivered(&mut self, lateness: Duration) {
        let nanoseconds = u64::try_from(lateness.as_nanos()).unwrap_or(LATEST);
        self.lateness.saturating_record(nanoseconds);
    }

    pub(super) fn dropped(&mut self) {
        self.drops += 1;
    }

    pub(super) fn report(&self) -> LinkReport {
        let microseconds = |quantile| self.lateness.value_at_quantile(quantile) as f64 / 1e3;
        LinkReport {
            packets: self.lateness.len(),
            lateness_median_us: microseconds(0.5),
            lateness_p99_us: microseconds(0.99),
            lateness_max_us: microseconds(1.0),
            drops: self.drops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_supervise::Conversation;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let (mut owner, process) = Conversation::pair().unwrap();
        let mut process = Conversation::over(process.into()).unwrap();
        let link = model::Link {
            rtt_ms: 0.1 + 0.2,
            jitter_ms: 1e-9,
            bandwidth_mbit: None,
        };
        for request in [Request::Start(link.into()), Request::Report] {
            owner.send(&request).unwrap();
            assert_eq!(process.receive().unwrap(), Some(request));
        }
    }

    #[test]
    fn a_report_counts_all_that_was_delivered_and_dropped() {
        let mut tally = Tally::new();
        assert_eq!(tally.report().lateness_max_us, 0.0);
        for microseconds in 1..=100 {
            tally.delivered(Duration::from_micros(microseconds));
        }
        tally.dropped();
        let report = tally.report();
        assert_eq!((report.packets, report.drops), (100, 1));
        assert!((report.lateness_median_us - 50.0).abs() < 1.0, "{report:?}");
        assert!((report.lateness_p99_us - 99.0).abs() < 1.0, "{report:?}");
        assert!((report.lateness_max_us - 100.0).abs() < 1.0, "{report:?}");
    }
}
