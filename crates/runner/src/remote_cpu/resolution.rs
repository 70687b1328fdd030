//! How far a counter of CPU time lags behind what its server does.

use std::time::{Duration, Instant};

use ciphertax_model::CpuCounter;
use ciphertax_reactor::stop;

use super::source::Source;
use crate::error::{Result, RunError};

/// So many moves are waited for: the first may come at any time, and between two others there may be work to do.
const MOVES: usize = 3;
/// Longest that is waited for them, and then for the counter to stand still. Managed services show what was used a minute ago.
pub(crate) const AT_MOST: Duration = Duration::from_secs(200);
/// Between two readings passes this share of the time since the last move, so that a slow counter is not asked all the time.
const TURN: f64 = 0.02;
/// But no less and no more than this.
const TURNS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// What rises more slowly than this share of the rate under work is what a quiet server uses, or what others do on its machine.
const STILL: f64 = 0.5;

/// More CPUs than one session can keep busy. A counter that rises faster counts no seconds: milliseconds are a thousand times as many.
const CPUS_OF_A_SESSION: f64 = 32.0;
/// Longest resolution of a counter whose pace is looked at, in seconds: in more time others may use more than a session by itself.
pub(crate) const LONGEST_TOLD_S: f64 = 5.0;
/// For so long a session works to see how fast a counter rises.
const WORK: Duration = Duration::from_millis(500);

/// A counter that is looked at again and again.
struct Watch {
    source: Source,
    began: Instant,
    seconds: f64,
    /// When it was seen to move last; at first when it was begun.
    moved: Instant,
    /// When it was read last.
    read: Instant,
    /// Longest time between two readings: a move is noticed so much later at most.
    longest_turn: Duration,
}

struct Move {
    /// Since the one before, in time and in seconds of CPU time.
    after: Duration,
    rise: f64,
}

impl Move {
    /// Seconds of CPU time a second.
    fn rate(&self) -> f64 {
        self.rise / self.after.as_secs_f64().max(f64::EPSILON)
    }
}

/// How long a reading must wait so that it has all of what was done before, in seconds: the longest pause between two moves, how
/// long the counter goes on rising when the work has ended, and how late either may have been noticed. `work` keeps the server
/// busy for so long.
///
/// # Errors
/// If the counter cannot be read, never moves or never stands still; `unusable` makes an error of why.
pub(crate) fn resolution(
    counter: &CpuCounter,
    work: &mut dyn FnMut(Duration) -> Result<()>,
    unusable: impl Fn(String) -> RunError,
) -> Result<f64> {
    let source = Source::new(counter);
    let name = source.name();
    let mut watch = Watch::begin(source).map_err(&unusable)?;
    let mut moves = Vec::new();
    while moves.len() < MOVES {
        watch.go_on(watch.began, |waited| {
            unusable(format!(
                "{name} moved {} times in {waited} s while the server worked: it cannot tell what a slice costs",
                moves.len()
            ))
        })?;
        work(watch.turn())?;
        moves.extend(watch.look().map_err(&unusable)?);
    }
    // When the first came, and how much it was, says when it was looked at.
    let moves = &moves[1..];
    let time: Duration = moves.iter().map(|step| step.after).sum();
    let rise: f64 = moves.iter().map(|step| step.rise).sum();
    let interval = moves.iter().map(|step| step.after).max().unwrap_or_default();
    // Of both together: one that came late is followed by one that comes soon.
    let rate = rise / time.as_secs_f64().max(f64::EPSILON);
    let ended = Instant::now();
    let mut lag = Duration::ZERO;
    while ended.elapsed() < lag + 2 * interval + watch.longest_turn {
        watch.go_on(ended, |waited| {
            unusable(format!(
                "{name} still rises {waited} s after the server was last asked anything, so nobody can tell how far it lags behind; \
                 say it in server_cpu.resolution_s"
            ))
        })?;
        stop::sleep(watch.turn());
        let step = watch.look().map_err(&unusable)?;
        if step.is_some_and(|step| step.rate() > STILL * rate) {
            lag = watch.moved - ended;
        }
    }
    // What others use is less than half of it, or it would not stand still.
    if rate * (1.0 - STILL) > CPUS_OF_A_SESSION {
        return Err(unusable(too_fast(&name, rise, time)));
    }
    let wait = (interval + lag + watch.longest_turn).as_secs_f64();
    let (least, most) = CpuCounter::RESOLUTION_S.into_inner();
    if wait > most {
        return Err(unusable(format!(
            "{name} is {wait:.0} s behind, and more than {most:.0} s are too many to tell what a slice costs"
        )));
    }
    Ok(wait.max(least))
}

/// Makes sure that a counter whose resolution is known rises no faster than a session can work.
///
/// # Errors
/// If the counter cannot be read, or rises too fast; `unusable` makes an error of why.
pub(crate) fn check_pace(
    counter: &CpuCounter,
    resolution_s: f64,
    work: &mut dyn FnMut(Duration) -> Result<()>,
    unusable: impl Fn(String) -> RunError,
) -> Result<()> {
    let source = Source::new(counter);
    let read = || source.read().map(|counted| counted.seconds).map_err(&unusable);
    let resolution = Duration::try_from_secs_f64(resolution_s).unwrap_or_default();
    let before = read()?;
    work(WORK)?;
    stop::sleep(resolution);
    let worked = read()?;
    stop::sleep(WORK + resolution);
    let others = read()? - worked;
    let rise = worked - before - others;
    let time = WORK + resolution;
    match rise > CPUS_OF_A_SESSION * time.as_secs_f64() {
        true => Err(unusable(too_fast(&source.name(), rise, time))),
        false => Ok(()),
    }
}

fn too_fast(name: &str, rise: f64, time: Duration) -> String {
    let time = time.as_secs_f64();
    format!(
        "{name} rose by {rise:.0} in {time:.3} s while one session worked, which is the work of {:.0} CPUs; does it print seconds?",
        rise / time
    )
}

impl Watch {
    fn begin(source: Source) -> Result<Self, String> {
        let began = Instant::now();
        let seconds = source.read()?.seconds;
        Ok(Self {
            source,
            began,
            seconds,
            moved: Instant::now(),
            read: Instant::now(),
            longest_turn: Duration::ZERO,
        })
    }

    /// Time until the next reading.
    fn turn(&self) -> Duration {
        let (least, most) = TURNS;
        self.moved.elapsed().mul_f64(TURN).clamp(least, most)
    }

    /// Ends what takes too long since it began, or what somebody wants to stop.
    fn go_on(&self, began: Instant, too_long: impl FnOnce(u64) -> RunError) -> Result<()> {
        if stop::is_requested() {
            return Err(RunError::Stopped);
        }
        match began.elapsed() > AT_MOST {
            true => Err(too_long(AT_MOST.as_secs())),
            false => Ok(()),
        }
    }

    /// Reads it; the move, if it has moved.
    fn look(&mut self) -> Result<Option<Move>, String> {
        let seconds = self.source.read()?.seconds;
        let now = Instant::now();
        self.longest_turn = self.longest_turn.max(now - self.read);
        self.read = now;
        if seconds == self.seconds {
            return Ok(None);
        }
        let step = Move {
            after: now - self.moved,
            rise: seconds - self.seconds,
        };
        (self.seconds, self.moved) = (seconds, now);
        Ok(Some(step))
    }
}
