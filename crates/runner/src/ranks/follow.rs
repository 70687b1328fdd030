//! A follower: it opens its share of the connections, and works the slices that it is called to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::{Engine, Part};
use ciphertax_records::ServerId;
use ciphertax_wire::Target;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::ycsb::KeySpace;
use ciphertax_workload::{Access, Job};

use super::clock::{instant_of, now_ns};
use super::hello::Hello;
use super::protocol::{Answer, Arrival, CalledSlice, Channel, Loading, Request, Start, Writer, Yielded};
use super::spread::load_part;
use crate::agent::Agent;
use crate::check::make_room;
use crate::columns::arm_columns;
use crate::database::Database;
use crate::databases::{self, RankWork};
use crate::error::{Result, RunError};
use crate::load;
use crate::server::TargetServers;

const HEARTBEAT: Duration = Duration::from_secs(1);

/// Works until nobody calls any more. `target` is the user's own server; `build` tells builds of one release apart.
///
/// # Errors
/// When what is said to it is no message, or nobody takes an answer.
pub fn follow(mut channel: Channel, target: Option<&Target>, build: &str) -> Result<(), String> {
    let gone =
        |error: std::io::Error| format!("what carries messages between load generators is gone: {error}");
    channel
        .writer
        .send(0, &Hello::of_this_process(build))
        .map_err(gone)?;
    let works = Arc::new(AtomicBool::new(false));
    say_it_lives(channel.writer.clone(), Arc::clone(&works));
    let mut follower = Follower {
        target,
        loads: BTreeMap::new(),
        keys: BTreeMap::new(),
        agent: Agent::default(),
    };
    loop {
        let request = match channel.receive::<Request>(None).map_err(gone)? {
            Some(Arrival::Message { message, .. }) => message,
            Some(Arrival::Lost { .. }) | None => return Ok(()),
        };
        let arrived = Instant::now();
        works.store(true, Ordering::Relaxed);
        let answer = follower
            .answer(request, arrived)
            .unwrap_or_else(|error| Answer::Refused(error.to_string()));
        works.store(false, Ordering::Relaxed);
        channel.writer.send(0, &answer).map_err(gone)?;
    }
}

/// Has a thread say every second that this process lives, while it works: an operation or a connection may take long.
fn say_it_lives(writer: Writer, works: Arc<AtomicBool>) {
    thread::spawn(move || {
        loop {
            thread::sleep(HEARTBEAT);
            if works.load(Ordering::Relaxed) && writer.send(0, &Answer::Alive).is_err() {
                return;
            }
        }
    });
}

struct Follower<'a> {
    target: Option<&'a Target>,
    loads: BTreeMap<u32, Engine>,
    /// What it knows of YCSB's table on each server: the loads of all cells go on with it.
    keys: BTreeMap<ServerId, Arc<KeySpace>>,
    /// For one that is on the server's machine and makes no load.
    agent: Agent,
}

impl Follower<'_> {
    fn answer(&mut self, request: Request, arrived: Instant) -> Result<Answer> {
        Ok(match request {
            Request::Clock => Answer::Clock(now_ns()),
            Request::Load { part, loading } => {
                let cells = &loading.study.cells;
                let server = cells.first().map(|cell| loading.study.server_spec(cell).server);
                let writing = Writing {
                    loading: &loading,
                    part: numbered(part)?,
                };
                // What is not there afterwards the conductor writes, and says what keeps it from that.
                let _ = databases::of_rank(self.target, &server.unwrap_or_default(), writing);
                Answer::Loaded
            }
            Request::Start { load, part, start } => {
                make_room(&start.study).map_err(RunError::Files)?;
                let server = start.study.server_spec(start.cell()?).server;
                let starting = Starting {
                    start: &start,
                    part: numbered(part)?,
                    keys: &mut self.keys,
                };
                let engine = databases::of_rank(self.target, &server, starting)?;
                let workers = engine.workers();
                self.loads.insert(load, engine);
                Answer::Started { workers }
            }
            Request::Prepare { load, arm } => Answer::Prepared(self.load(load)?.prepare(arm)?.err()),
            Request::Slice(called) => Answer::Yielded(Box::new(self.slice(called)?)),
            Request::Agent { number, request } => Answer::Agent {
                number,
                answer: Box::new(self.agent.answer(request, arrived)),
            },
        })
    }

    fn slice(&mut self, called: CalledSlice) -> Result<Yielded> {
        let CalledSlice {
            load,
            arm,
            start_ns,
            duration_ns,
            seed,
        } = called;
        let heard_before_ns = start_ns.cast_signed().wrapping_sub(now_ns().cast_signed());
        let engine = self.load(load)?;
        let duration = Duration::from_nanos(duration_ns);
        let yielded = engine.slice_from(instant_of(start_ns), seed, arm, duration)?;
        Ok(Yielded::here(yielded, heard_before_ns))
    }

    fn load(&mut self, number: u32) -> Result<&mut Engine> {
        let unknown = || RunError::Rank("it was called to a load that it has not".into());
        self.loads.get_mut(&number).ok_or_else(unknown)
    }
}

fn numbered((index, of): (u32, u32)) -> Result<Part> {
    Part::new(index, of).ok_or_else(|| RunError::Rank(format!("there is no part {index} of {of}")))
}

/// The start of the load threads of a part of a cell's load.
struct Starting<'a> {
    start: &'a Start,
    part: Part,
    keys: &'a mut BTreeMap<ServerId, Arc<KeySpace>>,
}

impl RankWork for Starting<'_> {
    type Output = Engine;

    fn work<D: Database>(self, own: impl Fn() -> Option<TargetServers<D>>) -> Result<Engine> {
        let Start { study, arms, .. } = self.start;
        let cell = self.start.cell()?;
        let accesses = arms.iter().map(|reach| reach.access::<D>(own()));
        let accesses = accesses.collect::<Result<Vec<_>, _>>()?;
        let mut keys_on = |server: &ServerId| {
            let known = self.keys.entry(server.clone());
            Arc::clone(known.or_insert_with(|| Arc::new(KeySpace::of_part(&study.ycsb, self.part))))
        };
        let measured: Vec<_> = arms.iter().map(|reach| reach.arm.clone()).collect();
        let job = Job {
            study,
            cell,
            part: self.part,
            keys: arms.iter().map(|reach| keys_on(&reach.server)).collect(),
            columns: arm_columns(study, &measured, None),
            cpu: None,
            seed: self.start.seed,
        };
        load::start(&job, accesses.into_iter())
    }
}

struct Writing<'a> {
    loading: &'a Loading,
    part: Part,
}

impl RankWork for Writing<'_> {
    type Output = ();

    fn work<D: Database>(self, own: impl Fn() -> Option<TargetServers<D>>) -> Result<()> {
        let Loading { study, reach, .. } = self.loading;
        let contents = Contents::of(study, D::Access::VOCABULARIES);
        load_part::<D>(&reach.access::<D>(own())?, &contents, self.part, &mut |_| {})
    }
}
