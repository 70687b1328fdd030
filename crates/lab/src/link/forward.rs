//! Moving packets between TUN devices, each after its delay.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use ciphertax_supervise::Conversation;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::delay_line::{DelayLine, timespec};
use super::devices::{Devices, MTU};
use super::process::{Answer, Request, Tally};
use super::settings::{Settings, WaySettings};

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
                Request::Report => Answer::Report(tally.report()),
                Request::Start(_) => Answer::Refused("runs already".into()),
                Request::Set(distances) => match WaySettings::try_from(&distances) {
                    Err(error) => Answer::Refused(error.to_string()),
                    Ok(settings) => {
                        for way in &mut to_servers {
                            way.line.set(settings.to_servers, Instant::now());
                        }
                        if let Some(way) = &mut between_nodes {
                            way.line.set(settings.between_nodes, Instant::now());
                        }
                        Answer::Set
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

    /// Hands over what is due.
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
}
