//! Moving packets between TUN devices, each after its delay, with jitter, on time.

use std::collections::VecDeque;
use std::f64::consts::{FRAC_PI_2, TAU};
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use ciphertax_supervise::Conversation;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::Timespec;

use super::devices::{Devices, MTU};
use super::process::{Answer, Request, Tally, refused};
use super::{Settings, WaySettings};

/// Packets of one direction that are moved before the other has its turn.
const TURN: usize = 32;

/// Bytes that may be on the way in one direction, a bound on this process's memory: more than one CPU moves in a
/// second.
const MOST_ON_THE_WAY: usize = 256 << 20;

/// Moves packets until the owner is gone.
pub(super) fn forward(devices: &Devices, settings: WaySettings, mut owner: Conversation) -> io::Result<()> {
    let Devices { near, far, nodes, .. } = devices;
    let to_servers = [(near, far), (far, near)];
    let mut to_servers = to_servers.map(|(from, to)| Way::between(from, to, settings.to_servers));
    let between_nodes = nodes.as_ref();
    let mut between_nodes = between_nodes.map(|tun| Way::between(tun, tun, settings.between_nodes));
    let mut tally = Tally::new();
    let mut alarm = Alarm::default();
    loop {
        let mut ways: Vec<&mut Way<'_>> = to_servers.iter_mut().chain(&mut between_nodes).collect();
        let is_asked = wait(&mut ways, &owner, &mut alarm)?;
        for way in ways.iter_mut().filter(|way| way.is_ready) {
            way.take_in(&mut tally)?;
        }
        for way in ways {
            way.deliver(&mut tally);
        }
        if is_asked {
            let Some(request) = owner.receive()? else {
                return Ok(());
            };
            owner.send(&match request {
                Request::Report => Ok(Answer::Report(tally.report())),
                Request::Start(_) => refused("runs already"),
                Request::Set(distances) => match WaySettings::try_from(&distances) {
                    Err(error) => refused(error),
                    Ok(settings) => {
                        for way in &mut to_servers {
                            way.line.set(settings.to_servers, Instant::now());
                        }
                        if let Some(way) = &mut between_nodes {
                            way.line.set(settings.between_nodes, Instant::now());
                        }
                        Ok(Answer::Set)
                    }
                },
            })?;
        }
    }
}

/// Sleeps until there is something to read or the next packet is due, or a little less, and notes which ways have something; true
/// if the owner asks something.
fn wait(ways: &mut [&mut Way<'_>], owner: &Conversation, alarm: &mut Alarm) -> io::Result<bool> {
    let next_due = ways.iter().filter_map(|way| way.next_due()).min();
    let mut sources: Vec<PollFd<'_>> = ways
        .iter()
        .map(|way| PollFd::new(way.from, PollFlags::IN))
        .collect();
    sources.push(PollFd::new(owner, PollFlags::IN));
    let asleep_from = Instant::now();
    let sleep = next_due.map(|due| alarm.sleep(due.saturating_duration_since(asleep_from)));
    match poll(&mut sources, sleep.map(timespec).as_ref()) {
        Ok(0) => alarm.learn(sleep.unwrap_or_default(), asleep_from.elapsed()),
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let ready: Vec<bool> = sources
        .iter()
        .map(|source| !source.revents().is_empty())
        .collect();
    for (way, is_ready) in ways.iter_mut().zip(&ready) {
        way.is_ready = *is_ready;
    }
    Ok(ready[ways.len()])
}

/// Sleeps so much less than asked as waking up usually takes.
///
/// Waking takes a few microseconds on some machines and a tenth of a millisecond on others, virtual ones for example.
/// Who sleeps to the end is late by that; who looks at the clock all the time burns a CPU that the measured programs
/// need.
#[derive(Debug, Default)]
struct Alarm {
    /// What waking up usually takes.
    early: Duration,
}

impl Alarm {
    /// The longest that is spent looking at the clock.
    const EARLIEST: Duration = Duration::from_micros(100);

    /// What one wake-up changes, up or down: what is learnt is the median.
    const STEP: Duration = Duration::from_micros(1);

    fn sleep(&self, time: Duration) -> Duration {
        time.saturating_sub(self.early)
    }

    fn learn(&mut self, wanted: Duration, taken: Duration) {
        if wanted.is_zero() {
            return;
        }
        self.early = if taken > wanted + self.early {
            (self.early + Self::STEP).min(Self::EARLIEST)
        } else {
            self.early.saturating_sub(Self::STEP)
        };
    }
}

/// One direction.
struct Way<'a> {
    from: &'a File,
    to: &'a File,
    line: DelayLine,
    /// Its device has something to read.
    is_ready: bool,
    /// Packets on their way, the next first.
    waiting: VecDeque<Packet>,
    bytes_waiting: usize,
    /// Memory of packets that have left.
    spare: Vec<Vec<u8>>,
}

struct Packet {
    due: Instant,
    bytes: Vec<u8>,
}

impl<'a> Way<'a> {
    fn between(from: &'a File, to: &'a File, settings: Settings) -> Self {
        Self {
            from,
            to,
            line: DelayLine::new(settings, Instant::now()),
            is_ready: false,
            waiting: VecDeque::new(),
            bytes_waiting: 0,
            spare: Vec::new(),
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.waiting.front().map(|packet| packet.due)
    }

    /// Takes packets from the device.
    fn take_in(&mut self, tally: &mut Tally) -> io::Result<()> {
        let mut buffer = [0; MTU];
        for _ in 0..TURN {
            let packet = match self.from.read(&mut buffer) {
                Ok(length) => &buffer[..length],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if !is_ipv4(packet) {
                continue;
            }
            let now = Instant::now();
            if !self.line.has_room(packet.len(), now) || self.bytes_waiting + packet.len() > MOST_ON_THE_WAY {
                tally.dropped();
                continue;
            }
            let due = self.line.enter(packet.len(), now);
            let mut bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(MTU));
            bytes.extend_from_slice(packet);
            self.bytes_waiting += bytes.len();
            self.waiting.push_back(Packet { due, bytes });
        }
        Ok(())
    }

    fn deliver(&mut self, tally: &mut Tally) {
        for _ in 0..TURN {
            let now = Instant::now();
            if self.next_due().is_none_or(|due| due > now) {
                return;
            }
            let Some(Packet { due, mut bytes }) = self.waiting.pop_front() else {
                return;
            };
            self.bytes_waiting -= bytes.len();
            // The kernel refuses a packet only when it has no memory for it.
            match self.to.write(&bytes) {
                Ok(_) => tally.delivered(now - due),
                Err(_) => tally.dropped(),
            }
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

/// False for what the kernel says of its own accord on every new device: looking for IPv6 routers and neighbours.
fn is_ipv4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 4)
}

/// Bytes that at least fit into the queue before a limited bandwidth: a hundred full packets.
const SMALLEST_QUEUE: f64 = 150_000.0;

/// One direction of a line: a queue that feeds a line of limited bandwidth, then the way itself.
///
/// The queue holds one product of bandwidth and round-trip time, the rule by which routers' buffers were long
/// made (Villamizar and Song, *High Performance TCP in ANSNET*, 1994), but at least a hundred full packets.
/// What comes when it is full does not fit any more. Bandwidth counts the bytes of IP packets, headers included.
#[derive(Debug)]
pub(super) struct DelayLine {
    settings: Settings,
    jitter: Jitter,
    /// When everything in the queue will have been sent.
    queue_empty: Instant,
    /// When the last packet that entered leaves: none leaves before it.
    last_leaves: Instant,
}

impl DelayLine {
    pub(super) fn new(settings: Settings, now: Instant) -> Self {
        Self::with_seed(settings, now, rand::random())
    }

    fn with_seed(settings: Settings, now: Instant, seed: u64) -> Self {
        Self {
            settings,
            jitter: Jitter::new(settings.sigma, seed, now),
            queue_empty: now,
            last_leaves: now,
        }
    }

    /// Changes the line for packets that enter from now on. They leave after those that are on their way.
    pub(super) fn set(&mut self, settings: Settings, now: Instant) {
        *self = Self {
            last_leaves: self.last_leaves,
            ..Self::new(settings, now)
        };
    }

    /// Whether a packet of `bytes` fits into the queue.
    pub(super) fn has_room(&self, bytes: usize, now: Instant) -> bool {
        let Some(rate) = self.settings.rate else {
            return true;
        };
        let queued = self.queue_empty.saturating_duration_since(now).as_secs_f64() * rate;
        let round_trip = 2.0 * self.settings.one_way.as_secs_f64();
        queued + bytes as f64 <= SMALLEST_QUEUE.max(rate * round_trip)
    }

    /// Lets a packet of `bytes` enter and says when it leaves.
    pub(super) fn enter(&mut self, bytes: usize, now: Instant) -> Instant {
        let sent = match self.settings.rate {
            None => now,
            Some(rate) => {
                let sending = Duration::from_secs_f64(bytes as f64 / rate);
                self.queue_empty = self.queue_empty.max(now) + sending;
                self.queue_empty
            }
        };
        let delay = self.settings.one_way.as_secs_f64() + self.jitter.at(sent);
        let leaves = sent + Duration::from_secs_f64(delay.max(0.0));
        self.last_leaves = self.last_leaves.max(leaves);
        self.last_leaves
    }
}

/// Length of a period in standard deviations. Within a period the delay changes by at most π/2 · r standard deviations,
/// where r is Rayleigh distributed; packets would overtake each other only where it falls faster than time passes, that
/// is for r > 12/π, once in three thousand periods.
const PERIOD_SIGMAS: f64 = 6.0;

/// A delay that varies like a real line's: normally distributed, and not faster than packets can follow in order. A
/// random function of time whose value at every instant is normally distributed around 0.  Drawing a new delay for
/// every packet and then keeping the order makes each packet wait for the slowest before it: with many packets per
/// standard deviation all delays become large and alike. So a value is drawn once a period and the delay moves from
/// one to the next: x(t) = cos θ · xᵢ + sin θ · xᵢ₊₁ with θ from 0 to π/2, which has the same normal distribution at
/// every t because cos² θ + sin² θ = 1.
#[derive(Debug)]
pub(super) struct Jitter {
    /// Standard deviation in seconds.
    sigma: f64,
    random: StdRng,
    period_began: Instant,
    from: f64,
    to: f64,
}

impl Jitter {
    /// Jitter of `sigma` seconds standard deviation.
    pub(super) fn new(sigma: f64, seed: u64, now: Instant) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        Self {
            sigma,
            from: normal(&mut random),
            to: normal(&mut random),
            random,
            period_began: now,
        }
    }

    /// What is added to the delay at `now`, in seconds. Time must not go back by more than a period.
    pub(super) fn at(&mut self, now: Instant) -> f64 {
        if self.sigma == 0.0 {
            return 0.0;
        }
        let period = PERIOD_SIGMAS * self.sigma;
        let mut periods = now.saturating_duration_since(self.period_began).as_secs_f64() / period;
        if periods >= 2.0 {
            self.period_began = now;
            self.from = normal(&mut self.random);
            self.to = normal(&mut self.random);
            periods = 0.0;
        } else if periods >= 1.0 {
            self.period_began += Duration::from_secs_f64(period);
            self.from = self.to;
            self.to = normal(&mut self.random);
            periods -= 1.0;
        }
        let (sin, cos) = (periods * FRAC_PI_2).sin_cos();
        self.sigma * (cos * self.from + sin * self.to)
    }
}

/// A standard normal deviate, by the method of Box and Muller (1958).
fn normal(random: &mut StdRng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (TAU * random.random::<f64>()).cos()
}

/// Lets sleeps of this thread, and of those it starts, end within a microsecond of their time, not within the usual 50.
pub(super) fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000_u64) };
}

/// Lets this thread run before ordinary ones, as a line does not wait for the computers at its ends. Without the
/// rights for that, or where the control group has no real-time share, packets are later on a busy machine, which the
/// link's report says.
pub(super) fn run_first() {
    let lowest_real_time = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads one `sched_param`, which outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest_real_time) };
}

/// For `poll`.
pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn the_alarm_learns_what_waking_takes_and_forgets_it_again() {
        let mut alarm = Alarm::default();
        let mut wake_ups = |count: u32, least: u32, spread: u32| {
            for number in 0..count {
                let sleep = alarm.sleep(1000 * US);
                alarm.learn(sleep, sleep + (least + number % spread) * US);
            }
            alarm.early
        };
        let early = wake_ups(2_000, 60, 10);
        assert!((62 * US..=68 * US).contains(&early), "{early:?}");
        let early = wake_ups(2_000, 1_000, 10);
        assert_eq!(early, Alarm::EARLIEST);
        let early = wake_ups(2_000, 1, 1);
        assert!(early <= 4 * US, "{early:?}");
    }

    #[test]
    fn only_sleeps_are_learnt_from() {
        let mut alarm = Alarm::default();
        alarm.learn(Duration::ZERO, 500 * US);
        assert_eq!(alarm.sleep(US), US);
    }

    const MS: Duration = Duration::from_millis(1);

    fn line(one_way: Duration, sigma: f64, rate: Option<f64>) -> (DelayLine, Instant) {
        let start = Instant::now();
        let settings = Settings { one_way, sigma, rate };
        (DelayLine::with_seed(settings, start, 7), start)
    }

    #[test]
    fn without_jitter_or_limit_every_packet_takes_the_same_time() {
        let (mut line, start) = line(20 * MS, 0.0, None);
        for at in [start, start, start + MS] {
            assert_eq!(line.enter(1500, at), at + 20 * MS);
        }
    }

    #[test]
    fn jitter_spreads_the_delays_and_keeps_the_order() {
        let (mut line, start) = line(20 * MS, 0.002, None);
        let mut delays = Vec::new();
        let mut last = start;
        for step in 0..100_000 {
            let now = start + step * MS / 10;
            let leaves = line.enter(100, now);
            assert!(leaves >= last);
            last = leaves;
            delays.push((leaves - now).as_secs_f64());
        }
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let sigma =
            (delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / delays.len() as f64).sqrt();
        assert!((mean / 0.020 - 1.0).abs() < 0.01, "{mean}");
        assert!((sigma / 0.002 - 1.0).abs() < 0.05, "{sigma}");
    }

    #[test]
    fn bandwidth_spaces_packets_and_a_full_queue_refuses_them() {
        // A megabyte a second and 40 ms: the product is 40 kB, so the queue holds 150 kB, 150 ms.
        let (mut line, start) = line(20 * MS, 0.0, Some(1e6));
        let mut accepted: u32 = 0;
        while line.has_room(1000, start) {
            accepted += 1;
            assert_eq!(line.enter(1000, start), start + accepted * MS + 20 * MS);
        }
        assert_eq!(accepted, 150);
        assert!(line.has_room(1000, start + MS));
        // Once empty, it does not make up for idle time.
        let later = start + 1000 * MS;
        assert_eq!(line.enter(1000, later), later + 21 * MS);
        assert_eq!(line.enter(1000, later), later + 22 * MS);
    }

    #[test]
    fn a_long_fast_line_has_a_queue_of_its_product() {
        let (mut line, start) = line(50 * MS, 0.0, Some(1e7));
        let mut bytes = 0;
        while line.has_room(1000, start) {
            line.enter(1000, start);
            bytes += 1000;
        }
        assert_eq!(bytes, 1_000_000);
    }

    #[test]
    fn a_shorter_line_does_not_let_packets_overtake_those_on_their_way() {
        let (mut line, start) = line(100 * MS, 0.0, None);
        let before = line.enter(100, start);
        let shorter = Settings {
            one_way: MS,
            ..line.settings
        };
        line.set(shorter, start);
        assert_eq!(line.enter(100, start + MS), before);
        let later = before + MS;
        assert_eq!(line.enter(100, later), later + MS);
    }

    const SIGMA: f64 = 0.002;

    /// Values at 200 000 instants that lie `apart`.
    fn values(apart: Duration) -> Vec<f64> {
        let start = Instant::now();
        let mut jitter = Jitter::new(SIGMA, 7, start);
        (0..200_000).map(|step| jitter.at(start + apart * step)).collect()
    }

    #[test]
    fn the_delay_is_normally_distributed_however_many_packets_there_are() {
        for apart in [
            Duration::from_micros(500),
            Duration::from_millis(9),
            Duration::from_millis(100),
        ] {
            let values = values(apart);
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let sigma = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            let beyond = values.iter().filter(|value| value.abs() > 1.96 * SIGMA).count() as f64 / count;
            assert!(mean.abs() < 0.03 * SIGMA, "{apart:?}: mean {mean}");
            assert!((sigma / SIGMA - 1.0).abs() < 0.03, "{apart:?}: sigma {sigma}");
            assert!((0.04..0.06).contains(&beyond), "{apart:?}: {beyond} in the tails");
        }
    }

    #[test]
    fn packets_hardly_ever_catch_up_with_each_other() {
        let apart = Duration::from_micros(20);
        let values = values(apart);
        let caught_up = values
            .windows(2)
            .filter(|pair| pair[0] - pair[1] > apart.as_secs_f64())
            .count();
        assert!(caught_up < values.len() / 1000, "{caught_up}");
    }
}
