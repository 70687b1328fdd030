//! Looking into slices: which code uses CPU time, and what the server's threads wait for; and why they are not seen.

use std::fs;
use std::time::Duration;

use ciphertax_engine::THREAD_NAME;
use ciphertax_model::Profiling;
use ciphertax_profile::{CpuProfiler, Stacks, WaitSampler, Watched, affordable_hz};
use ciphertax_records::why::{Look, SymbolTable};
use ciphertax_records::{CpuSource, Head, ServerRecord, SliceId};

use crate::schedule::Looked;

/// Samples of CPU time a second, or fewer where that would cost the server too much: primes, so that nothing that comes back
/// regularly is always or never seen.
pub(crate) const CPU_HZ: u32 = 997;
const CPU_HZ_OR_FEWER: [u32; 4] = [CPU_HZ, 499, 331, 211];
/// What they may be expected to cost, as a share of its CPU time. Looking for waits takes up to one percent more.
const CPU_SHARE: f64 = 0.02;
/// Looks a second at all threads.
const WAITS_HZ: u32 = 97;

pub(crate) struct Looker {
    cpu: Option<CpuProfiler>,
    waits: WaitSampler,
    stacks: Stacks,
    /// The names and stacks that were seen so far, also by others who look elsewhere.
    pub(crate) symbols: SymbolTable,
    /// Which of them look now.
    at_work: AtWork,
}

#[derive(Clone, Copy, Default)]
struct AtWork {
    cpu: bool,
    waits: bool,
}

/// What can be looked into, and why no more.
pub(crate) struct Looking {
    pub(crate) looker: Option<Looker>,
    /// What the user could do to see more.
    pub(crate) refused: Option<String>,
}

impl Looking {
    /// Gets ready to look into slices of up to this length, as far as the kernel lets. `symbols` are those that a run has already
    /// that goes on.
    pub(crate) fn open(profile: Profiling, slice: Duration, symbols: SymbolTable) -> Self {
        let nothing = |refused| Self {
            looker: None,
            refused,
        };
        if profile == Profiling::Off {
            return nothing(None);
        }
        let waits = match WaitSampler::open(WAITS_HZ) {
            Ok(waits) => waits,
            Err(error) => return nothing(Some(error.to_string())),
        };
        let cpu = (profile == Profiling::Full)
            .then(|| CpuProfiler::open(affordable_hz(&CPU_HZ_OR_FEWER, CPU_SHARE), slice));
        let (cpu, refused) = match cpu {
            Some(Ok(cpu)) => (Some(cpu), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        Self {
            looker: Some(Looker {
                cpu,
                waits,
                stacks: Stacks::default(),
                symbols,
                at_work: AtWork::default(),
            }),
            refused,
        }
    }

    pub(crate) fn look(&self) -> Option<Look> {
        self.looker.as_ref().map(|looker| match looker.cpu {
            Some(_) => Look::Full,
            None => Look::Waits,
        })
    }
}

impl Looker {
    /// Why the server was not looked into when its turn was last.
    pub(crate) fn passed_over(&self) -> Option<String> {
        let passed_over = self.cpu.as_ref()?.passed_over()?;
        Some(passed_over.to_string())
    }

    /// Begins to look at these processes of a server and, if the load comes from this process, at its load threads. What cannot
    /// be seen, for example of a server that has ended, is no fault of the slice.
    pub(crate) fn begin(&mut self, server: Vec<u32>, with_children: bool) {
        let watched = Watched {
            server,
            with_children,
            client: load_threads(),
        };
        self.at_work.waits =
            !watched.server.is_empty() && self.waits.begin(&watched, &mut self.stacks).is_ok();
        let begun = |cpu: &mut CpuProfiler| cpu.begin(&watched, &mut self.stacks);
        self.at_work.cpu = self.cpu.as_mut().map(begun).is_some_and(|begun| begun.is_ok());
    }

    pub(crate) fn stop(&mut self) {
        if self.at_work.waits {
            self.waits.stop();
        }
        if let Some(cpu) = self.cpu.as_mut().filter(|_| self.at_work.cpu) {
            cpu.stop();
        }
    }

    /// What was seen in the slice that was stopped.
    pub(crate) fn seen(&mut self, slice: &SliceId) -> Looked {
        let at_work = std::mem::take(&mut self.at_work);
        let Self { stacks, symbols, .. } = self;
        let cpu = self.cpu.as_mut().filter(|_| at_work.cpu);
        let profile = cpu.map(|cpu| cpu.profile(slice.clone(), stacks, symbols));
        let waits = at_work
            .waits
            .then(|| self.waits.waits(slice.clone(), stacks, symbols));
        Looked {
            profile: profile.and_then(Result::ok),
            waits: waits.and_then(Result::ok),
        }
    }
}

/// The load threads of this process, of whichever cell: those of the others sleep.
fn load_threads() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads
        .filter(|thread| {
            let name = fs::read_to_string(thread.path().join("comm"));
            name.is_ok_and(|name| name.starts_with(THREAD_NAME))
        })
        .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
        .collect()
}

/// What sees them.
const REMEDY: &str =
    "for what its code does and waits for, run ciphertax on its machine, as the server's user or as root";

/// That a server of a run cannot be looked into, and why, in a sentence; `None` if all can, and where nobody is to look.
pub(crate) fn not_looked_into(head: &Head) -> Option<String> {
    if head.study.profile == Profiling::Off {
        return None;
    }
    let mut servers = head.servers.iter();
    servers.find_map(|server| Some(format!("{} was not profiled: {}.", server.name, why(server)?)))
}

fn why(server: &ServerRecord) -> Option<String> {
    Some(match (&server.cpu_from, &server.cpu_unread) {
        (Some(CpuSource::Agent(agent)), _) => {
            let refused = agent.not_looked_into.as_ref()?;
            format!("the agent on its machine says: {}", refused.trim_end_matches('.'))
        }
        (Some(CpuSource::Counter(_)), _) => format!("a counter tells CPU time alone; {REMEDY}"),
        (None, Some(_)) if !server.same_host && server.through.is_none() => {
            format!("it runs on another machine; {REMEDY}")
        }
        (None, Some(unread)) => unread.clone(),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use ciphertax_records::{CounterRecord, ServerId};

    use super::*;

    #[test]
    fn a_server_elsewhere_or_out_of_sight_is_said_not_to_be_looked_into() {
        let seen = ServerRecord::unseen(ServerId::numbered(1), "db", Vec::new());
        assert_eq!(why(&seen), None);
        let unread = |same_host| {
            let unread = ServerRecord {
                cpu_unread: Some("who knows".into()),
                same_host,
                ..seen.clone()
            };
            why(&unread).unwrap()
        };
        assert_eq!(unread(true), "who knows");
        assert!(unread(false).contains("on another machine") && unread(false).contains(REMEDY));
        let told = ServerRecord {
            cpu_from: Some(CpuSource::Counter(CounterRecord {
                source: "the command sh".into(),
                counts: "what it counts".into(),
                resolution_s: 1.0,
            })),
            ..seen
        };
        assert!(why(&told).unwrap().contains("CPU time alone"));
    }
}
