//! Shows what looking costs whom it looks at: `cost-of-looking [SECONDS]`. A busy child process counts what it has done; its CPU
//! time for that, in short slices in random order, is set against slices in which nobody looks.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_profile::{CpuProfiler, Stacks, WaitSampler, Watched, affordable_hz};
use ciphertax_records::SliceId;
use ciphertax_records::why::SymbolTable;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HZ: [u32; 4] = [997, 499, 331, 211];
const WAITS_HZ: u32 = 97;
const SLICE: Duration = Duration::from_millis(60);
/// Before a slice begins, so that its begin is not part of it.
const SETTLE: Duration = Duration::from_millis(10);

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("work") => work(),
        seconds => look(Duration::from_secs(seconds.unwrap_or("20").parse()?)),
    }
}

/// One way to look, and what came of it.
struct Way {
    name: String,
    cpu: Option<(CpuProfiler, u32)>,
    waits: Option<WaitSampler>,
    /// CPU time for a piece of work, in seconds, slice by slice.
    costs: Vec<f64>,
}

fn look(time: Duration) -> Result<()> {
    let affordable = affordable_hz(&HZ, 0.02);
    println!("affordable: {affordable} samples a second");
    let sampling = |hz: u32, waits: bool| -> Result<Way> {
        let cpu = (hz > 0).then(|| CpuProfiler::open(hz, SLICE)).transpose()?;
        let waits = waits.then(|| WaitSampler::open(WAITS_HZ)).transpose()?;
        let name = match (hz, &waits) {
            (0, None) => "nothing".to_owned(),
            (0, Some(_)) => "waits".to_owned(),
            (_, None) => format!("{hz} samples a second"),
            (_, Some(_)) => format!("{hz} samples and waits"),
        };
        Ok(Way {
            name,
            cpu: cpu.map(|cpu| (cpu, hz)),
            waits,
            costs: Vec::new(),
        })
    };
    let mut ways = vec![sampling(0, false)?, sampling(0, false)?, sampling(0, true)?];
    for hz in HZ {
        ways.push(sampling(hz, false)?);
    }
    ways.push(sampling(affordable, true)?);
    let mut victim = Victim::start()?;
    let (mut stacks, mut symbols) = (Stacks::default(), SymbolTable::default());
    let mut seed = u64::from(std::process::id());
    let end = Instant::now() + time;
    while Instant::now() < end {
        let mut left: Vec<usize> = (0..ways.len()).collect();
        while !left.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let index = left.swap_remove((seed >> 33) as usize % left.len());
            let cost = ways[index].slice(&mut victim, &mut stacks, &mut symbols)?;
            ways[index].costs.push(cost);
        }
    }
    victim.child.kill()?;
    victim.child.wait()?;
    show(&ways);
    Ok(())
}

impl Way {
    fn slice(&mut self, victim: &mut Victim, stacks: &mut Stacks, symbols: &mut SymbolTable) -> Result<f64> {
        let watched = Watched {
            server: vec![victim.child.id()],
            ..Watched::default()
        };
        if let Some(waits) = &mut self.waits {
            waits.begin(&watched, stacks)?;
        }
        if let Some((cpu, _)) = &mut self.cpu {
            cpu.begin(&watched, stacks)?;
        }
        thread::sleep(SETTLE);
        let before = (victim.done()?, victim.cpu_time()?);
        thread::sleep(SLICE);
        let after = (victim.done()?, victim.cpu_time()?);
        let slice = || SliceId {
            cell: String::new(),
            block: 0,
            position: 0,
            arm: String::new(),
        };
        if let Some(waits) = &mut self.waits {
            waits.waits(slice(), stacks, symbols)?;
        }
        if let Some((cpu, _)) = &mut self.cpu {
            cpu.profile(slice(), stacks, symbols)?;
        }
        Ok((after.1 - before.1) / (after.0 - before.0).max(1) as f64)
    }
}

fn show(ways: &[Way]) {
    for way in ways {
        // Against both that do not look, of the same round.
        let beside = ways[0].costs.iter().zip(&ways[1].costs);
        let beside = beside.map(|(one, other)| (one + other) / 2.0);
        let mut changes: Vec<f64> = way
            .costs
            .iter()
            .zip(beside)
            .map(|(own, off)| own / off - 1.0)
            .collect();
        changes.sort_by(f64::total_cmp);
        // Without a tenth on each side, in which somebody else was busy.
        let kept = &changes[changes.len() / 10..changes.len() - changes.len() / 10];
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let squares = kept.iter().map(|change| (change - mean).powi(2)).sum::<f64>();
        let error = squares.sqrt() / kept.len() as f64;
        print!("{:24} {:+5.1} % ±{:.1}", way.name, mean * 100.0, error * 100.0);
        match way.cpu {
            Some((_, hz)) => println!("  {:+4.0} µs a sample", mean / f64::from(hz) * 1e6),
            None => println!(),
        }
    }
}

/// The child process.
struct Victim {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Victim {
    fn start() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("work")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let answers = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { child, answers })
    }

    /// Pieces of work so far.
    fn done(&mut self) -> Result<u64> {
        self.child.stdin.as_mut().ok_or("no input")?.write_all(b"\n")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }

    /// CPU time of all its threads, in seconds.
    fn cpu_time(&self) -> Result<f64> {
        let mut nanoseconds = 0.0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            nanoseconds += text.split(' ').next().ok_or("empty")?.parse::<f64>()?;
        }
        Ok(nanoseconds / 1e9)
    }
}

static DONE: AtomicU64 = AtomicU64::new(0);

/// Sessions that ask, and threads that answer, until the input ends.
fn work() -> Result<()> {
    for _ in 0..4 {
        let (mut one, mut other) = UnixStream::pair()?;
        thread::spawn(move || {
            let mut byte = [1];
            while one
                .write_all(&byte)
                .and_then(|()| one.read_exact(&mut byte))
                .is_ok()
            {
                DONE.fetch_add(1, Ordering::Relaxed);
            }
        });
        thread::spawn(move || {
            let table: Vec<u32> = (0..1 << 17)
                .map(|word: u32| word.wrapping_mul(2_654_435_761))
                .collect();
            let mut byte = [0];
            while other.read_exact(&mut byte).is_ok() {
                byte[0] = deep(16, &table) as u8;
                if other.write_all(&byte).is_err() {
                    break;
                }
            }
        });
    }
    for _ in std::io::stdin().lock().lines() {
        println!("{}", DONE.load(Ordering::Relaxed));
    }
    std::process::exit(0);
}

/// Reads here and there, as a server does, on a stack of half a kilobyte a level.
#[inline(never)]
fn deep(levels: u32, table: &[u32]) -> u32 {
    let mut frame = [levels; 128];
    std::hint::black_box(&mut frame);
    if levels > 0 {
        return deep(levels - 1, table).wrapping_add(std::hint::black_box(&frame)[7]);
    }
    let mut at = DONE.load(Ordering::Relaxed) as u32;
    for _ in 0..1000 {
        at = at.wrapping_add(table[at as usize % table.len()]).rotate_left(5);
    }
    at
}
