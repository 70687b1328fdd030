//! Carries messages until the load generator that conducts has ended.

use std::io;
use std::process::{self, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_supervise::Envelope;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

use crate::generator::{Generator, Wish};
use crate::messages::{Arrived, Kind, Messages};

/// How long nothing is looked for where a message may come at once, where none can, and where all are announced: MPI does not wake who
/// waits, and whoever looks takes the CPU from those that work.
const SOON: Duration = Duration::from_micros(100);
const LATER: Duration = Duration::from_millis(2);
const RARELY: Duration = Duration::from_millis(20);
/// How long one may come at once: a follower hears nothing before it has answered, and hears soon afterwards of what is next.
const A_WHILE: Duration = Duration::from_millis(50);
/// How long the others may take to end.
const ENDING: Duration = Duration::from_secs(4);
/// How long this program may need after its load generator.
const STUCK: Duration = Duration::from_secs(12);
/// How a program ends that a signal ended, besides the signal's number; and one that measured a part.
const SIGNALLED: u8 = 128;
const PARTIAL: u8 = 4;

/// How it ends.
pub(crate) enum End {
    /// With all others, and this exit code.
    Together(u8),
    /// Without some of them.
    Alone(u8),
}

/// Carries messages to and from a load generator until the run is over.
pub(crate) fn relay(mut generator: Generator, mut messages: Messages<'_>) -> Result<End, String> {
    let signal = heed_signals().map_err(|error| format!("signals cannot be heeded: {error}"))?;
    let conducts = messages.rank() == 0;
    if conducts {
        end_after(generator.pid());
    }
    let mut expects_until = Instant::now() + A_WHILE;
    let mut followers_ended = None;
    let mut is_stopped = false;
    loop {
        let (later, a_while) = match messages.are_all_announced() {
            true => (RARELY, Duration::ZERO),
            false => (LATER, A_WHILE),
        };
        let pause = match Instant::now() < expects_until {
            true => SOON,
            false => later,
        };
        match generator.wish(pause, messages.doorbell()) {
            // To itself: that the others are to end.
            Wish::Carry(envelope @ Envelope { rank: 0, .. }) if conducts => {
                followers_ended = Some(followers_ended.unwrap_or_else(|| end_followers(&messages)));
                generator.tell(&envelope);
            }
            Wish::Carry(envelope) => {
                expects_until = Instant::now() + a_while;
                messages.send(envelope.rank, Kind::Message, envelope.body.get().as_bytes());
            }
            Wish::Over if conducts => {
                let code = generator.wait().map(code).unwrap_or(PARTIAL);
                let have_ended = followers_ended.unwrap_or_else(|| end_followers(&messages));
                return Ok(match have_ended {
                    true => End::Together(code),
                    false => End::Alone(code),
                });
            }
            Wish::Over => {
                let why = generator.last_words();
                messages.send(0, Kind::Lost, why.as_bytes());
            }
            Wish::Nothing => {}
        }
        if messages.are_announced() {
            expects_until = Instant::now() + A_WHILE;
        }
        while let Some(Arrived { from, kind, bytes }) = messages.receive() {
            match kind {
                Kind::Message => {
                    expects_until = Instant::now();
                    if conducts {
                        expects_until += a_while;
                    }
                    let envelope = Envelope::carried(from, &bytes).unwrap_or_else(|error| {
                        Envelope::lost(from, format!("it says what is no message: {error}"))
                    });
                    generator.tell(&envelope);
                }
                Kind::Lost => {
                    let why = String::from_utf8_lossy(&bytes).into_owned();
                    generator.tell(&Envelope::lost(from, why));
                }
                Kind::End => {
                    generator.end();
                    messages.send(0, Kind::Ended, &[]);
                    return Ok(End::Together(0));
                }
                Kind::Ended => {}
            }
        }
        let caught = signal.swap(0, Ordering::Relaxed);
        if caught != 0 && conducts && !is_stopped {
            // The run ends in order. The followers end with it. mpirun repeats what it says, and a second signal would be the order to
            // leave all as it is, the report unwritten.
            is_stopped = true;
            pass_on(caught, generator.pid());
        }
    }
}

/// Ends all followers; false if some do not say so in time.
fn end_followers(messages: &Messages<'_>) -> bool {
    let mut left: Vec<u32> = messages.others().collect();
    for other in &left {
        messages.send(*other, Kind::End, &[]);
    }
    let deadline = Instant::now() + ENDING;
    while !left.is_empty() && Instant::now() < deadline {
        match messages.receive() {
            Some(arrived) if arrived.kind == Kind::Ended => left.retain(|other| *other != arrived.from),
            Some(_) => {}
            None => thread::sleep(SOON),
        }
    }
    left.is_empty()
}

/// Ends this process some time after the load generator has ended, whatever MPI waits for then; mpirun ends all others with it.
fn end_after(generator: u32) {
    thread::spawn(move || {
        let Some(pid) = i32::try_from(generator).ok().and_then(Pid::from_raw) else {
            return;
        };
        // It is left to be waited for.
        let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        if ended.is_ok() {
            thread::sleep(STUCK);
            process::exit(PARTIAL.into());
        }
    });
}

/// What a signal said; 0 before it.
fn heed_signals() -> io::Result<Arc<AtomicI32>> {
    let caught = Arc::new(AtomicI32::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let caught = Arc::clone(&caught);
        // SAFETY: storing a number is all that it does.
        unsafe { low_level::register(signal, move || caught.store(signal, Ordering::Relaxed)) }?;
    }
    Ok(caught)
}

fn pass_on(signal: i32, pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let signal = Signal::from_named_raw(signal);
    if let (Some(pid), Some(signal)) = (pid, signal) {
        let _ = kill_process(pid, signal);
    }
}

fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or_else(|| {
        SIGNALLED
            + status
                .signal()
                .and_then(|signal| u8::try_from(signal).ok())
                .unwrap_or(0)
    })
}
