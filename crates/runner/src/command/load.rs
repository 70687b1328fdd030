//! The runs of a program on every arm of a cell.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use ciphertax_base::{CpuTime, Secret};
use ciphertax_engine::{Failure, SliceYield};
use ciphertax_model::load::Placeholder;
use ciphertax_model::{Arm, Command, Counts};
use ciphertax_observe::placement;
use ciphertax_reactor::stop;
use ciphertax_records::{OperationSample, VoidReason, Yield};
use ciphertax_stats::histogram;
use ciphertax_supervise::supervisor::{End, Ended, Supervised};
use ciphertax_supervise::{GuardProgram, PrivateFiles};

use crate::database::{Counted, Database, Expected, Reached, ReachedArm, encoded};
use crate::error::Result;
use crate::load::{Load, Seen, Slice};

/// How often the user's wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Longest message of a program that is kept, in characters.
const LONGEST_MESSAGE: usize = 300;

/// The runs of a program on every arm of a cell.
pub(crate) struct CommandLoad {
    pub(super) command: Command,
    pub(super) arms: Vec<PreparedArm>,
    guard: GuardProgram,
    /// The only CPU that the program may use.
    cpu: Option<usize>,
    /// What the program reads; it goes with this.
    pub(super) files: PrivateFiles,
    /// What the database's counters say of a program's sessions.
    counted: fn(&BTreeMap<String, i64>, &BTreeMap<String, i64>) -> Counted,
}

pub(super) struct PreparedArm {
    pub(super) name: String,
    has_tunnel: bool,
    password: Secret,
    expected: Expected,
    pub(super) environment: Environment,
}

impl CommandLoad {
    /// Writes what the program will read. `reached` says of each of the `arms` how it is reached, and `cpu` is the only one
    /// that the program may use.
    pub(crate) fn prepare<D: Database>(
        command: &Command,
        arms: &[Arm],
        reached: &[ReachedArm<D>],
        cpu: Option<usize>,
    ) -> Result<Self> {
        let guard = GuardProgram::this_program();
        let files = PrivateFiles::create(&guard)?;
        let mut prepared = Vec::with_capacity(arms.len());
        for (index, (arm, reached)) in arms.iter().zip(reached).enumerate() {
            let folder = files.folder().join(format!("arm-{index}"));
            prepared.push(PreparedArm {
                name: arm.name.clone(),
                has_tunnel: arm.tunnel.is_some(),
                password: D::user_and_password(&reached.login).1,
                expected: Expected {
                    is_encrypted: reached.policy.is_some(),
                    login: D::expectation(arm, &reached.login)
                        .login
                        .and_then(|login| login.method),
                    is_counted: D::COUNTS_HANDSHAKES,
                    programs_read: D::PROGRAMS_READ,
                    counters_need: D::COUNTERS_NEED,
                },
                environment: Environment::of(command, &Reached::new(arm, reached, folder), &files)?,
            });
        }
        Ok(Self {
            arms: prepared,
            command: command.clone(),
            guard,
            cpu,
            files,
            counted: D::counted,
        })
    }

    /// One run of the program, of which nobody knows yet whether its sessions were what the arm says. A program that is
    /// stopped, or takes too long, is killed.
    pub(super) fn run(
        &self,
        arm: usize,
        environment: &Environment,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Slice> {
        let began = Instant::now();
        let confine = |supervisor: u32| match self.cpu {
            Some(cpu) => placement::confine_process(supervisor, cpu),
            None => Ok::<(), io::Error>(()),
        };
        let mut program = Supervised::start(&self.guard, &environment.line, &environment.variables, confine)?;
        let timeout = Duration::from_secs_f64(self.command.timeout_s);
        let ended = loop {
            if let Some(ended) = program.ended(LOOK)? {
                break ended;
            }
            if is_stopped() {
                return Ok(void(began, VoidReason::Interrupted));
            }
            if began.elapsed() > timeout {
                let detail = format!(
                    "{} ran longer than timeout_s, which is {} s, and was killed",
                    self.name(),
                    self.command.timeout_s
                );
                return Ok(void(began, VoidReason::Stalled { detail }));
            }
        };
        let void = self
            .failure(arm, &ended)
            .map(|first| VoidReason::Errors { count: 1, first });
        Ok(Slice {
            yielded: SliceYield {
                recorded: Yield {
                    duration_ns: ended.took.as_nanos() as u64,
                    client_cpu: ended.cpu,
                    client_context_switches: ended.context_switches,
                    ..Yield::default()
                },
                ..SliceYield::nothing(began)
            },
            void,
        })
    }

    /// Why a run does not count; `None` if the program is content.
    fn failure(&self, arm: usize, ended: &Ended) -> Option<String> {
        let name = self.name();
        let how = match &ended.how {
            End::Exit(0) => return None,
            End::Exit(code) => format!("{name} ended with exit code {code}"),
            End::Signal(signal) => format!("{name} was ended by signal {signal}"),
            End::NotStarted(error) => return Some(format!("{name} cannot be started: {error}")),
        };
        let says = message(&ended.last_line, &self.arms[arm].password);
        Some(if says.is_empty() {
            format!("{how} and said nothing")
        } else {
            format!("{how}; its last line: {says}")
        })
    }

    /// The program without its folder.
    fn name(&self) -> &str {
        let program = self.command.run.first().map_or("", String::as_str);
        let name = Path::new(program).file_name();
        name.and_then(|name| name.to_str()).unwrap_or(program)
    }
}

impl Load for CommandLoad {
    fn workers(&self) -> u32 {
        0
    }

    fn prepare(&mut self, _arm: usize) -> Result<Result<(), Failure>> {
        Ok(Ok(()))
    }

    fn slice(&mut self, arm: usize, _duration: Duration, _seed: u64) -> Result<Slice> {
        self.run(arm, &self.arms[arm].environment, &stop::is_requested)
    }

    fn judge(&self, arm: usize, slice: &mut Slice, seen: &Seen<'_>) {
        if slice.void.is_none() {
            let counted = (self.counted)(seen.counters, seen.change);
            self.arms[arm].judge(slice, &counted, self.command.counts, seen.tunnel_cpu);
        }
    }
}

impl PreparedArm {
    /// Holds a slice to this arm, and counts its operations.
    fn judge(&self, slice: &mut Slice, counted: &Counted, counts: Counts, tunnel_cpu: Option<CpuTime>) {
        if let Err(detail) = counted.check(&self.expected) {
            slice.void = Some(VoidReason::FactsDiffer { detail });
            return;
        }
        slice.yielded.recorded.queries = counted.queries;
        let (kind, count, latency_sum_ns) = match counts {
            Counts::Runs => ("run", 1, slice.yielded.duration_ns),
            // How long each took only the program knows.
            Counts::Queries => ("query", counted.queries, 0),
        };
        slice.yielded.recorded.operations = vec![OperationSample {
            kind: kind.to_owned(),
            count,
            errors: 0,
            latency_sum_ns,
            latency: histogram::encode(&histogram::empty()),
        }];
        if self.has_tunnel && tunnel_cpu.is_none_or(|cpu| cpu.total_ns == 0) {
            let detail =
                "the program did not go through the tunnel, whose near end its environment names".into();
            slice.void = Some(VoidReason::FactsDiffer { detail });
        }
    }
}

/// What a program finds of an arm.
pub(super) struct Environment {
    /// The program and its arguments.
    line: Vec<String>,
    variables: Vec<(String, Option<String>)>,
}

const PREFIX: &str = "CIPHERTAX_";

impl Environment {
    /// Writes the arm's files into its folder among `files`, and says all there is to say.
    pub(super) fn of<D: Database>(
        command: &Command,
        reached: &Reached<'_, D>,
        files: &PrivateFiles,
    ) -> Result<Self> {
        files.create_folder(&reached.folder)?;
        for (name, contents) in D::files(reached)? {
            files.write(reached.folder.join(name), &contents)?;
        }
        let named = Placeholder::ALL.map(|one| (one.name().to_uppercase(), reached.value(one)));
        let secret = [
            (
                "PASSWORD".to_owned(),
                D::user_and_password(reached.login).1.expose().to_owned(),
            ),
            ("URL".to_owned(), D::url(reached)),
        ];
        let named = named.into_iter().chain(secret);
        let of_database = D::variables(reached).into_iter();
        let of_database =
            of_database.map(|(name, value)| (name.to_owned(), Some(value).filter(|value| !value.is_empty())));
        Ok(Self {
            line: command.run.iter().map(|word| reached.filled_in(word)).collect(),
            variables: named
                .map(|(name, value)| (format!("{PREFIX}{name}"), Some(value)))
                .chain(of_database)
                .collect(),
        })
    }
}

/// What a program says, on one line that can be shown: without the password.
fn message(line: &str, password: &Secret) -> String {
    let password = password.expose();
    let line = match password {
        "" => line.to_owned(),
        _ => line
            .replace(password, "(password)")
            .replace(&encoded(password), "(password)"),
    };
    let shown = line.chars().filter(|char| !char.is_control());
    shown.take(LONGEST_MESSAGE).collect()
}

fn void(began: Instant, reason: VoidReason) -> Slice {
    Slice {
        yielded: SliceYield {
            recorded: Yield {
                duration_ns: began.elapsed().as_nanos() as u64,
                ..Yield::default()
            },
            ..SliceYield::nothing(began)
        },
        void: Some(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_message_never_holds_the_password_and_is_short() {
        let password = Secret::new("s3cret");
        let found = message("\u{1b}[31mdenied: app:s3cret@h", &password);
        assert_eq!(found, "[31mdenied: app:(password)@h");
        let endless = "s3cret".repeat(1000);
        let shown = message(&endless, &password);
        assert!(!shown.contains("s3cret") && shown.chars().count() == LONGEST_MESSAGE);
    }

    /// What a slice of an arm is judged to be: void, or so many operations.
    fn judged(has_tunnel: bool, tunnel_cpu_ns: Option<u64>, counted: &Counted) -> Result<u64, String> {
        let arm = PreparedArm {
            name: "tunnel".into(),
            has_tunnel,
            password: Secret::new("s3cret"),
            expected: Expected {
                is_encrypted: false,
                is_counted: true,
                login: None,
                programs_read: "its file",
                counters_need: "a user who may count",
            },
            environment: Environment {
                line: Vec::new(),
                variables: Vec::new(),
            },
        };
        let mut slice = Slice {
            yielded: SliceYield::nothing(Instant::now()),
            void: None,
        };
        let tunnel_cpu = tunnel_cpu_ns.map(|total_ns| CpuTime {
            total_ns,
            system_ns: 0,
        });
        arm.judge(&mut slice, counted, Counts::Queries, tunnel_cpu);
        match slice.void {
            None => Ok(slice.yielded.recorded.operation_count()),
            Some(reason) => Err(reason.to_string()),
        }
    }

    #[test]
    fn a_program_that_goes_past_the_tunnel_of_its_arm_voids_the_slice() {
        let counted = Counted {
            connections: Some(2),
            queries: 7,
            ..Counted::default()
        };
        assert_eq!(judged(true, Some(1), &counted), Ok(7));
        assert_eq!(judged(false, None, &counted), Ok(7));
        for idle in [Some(0), None] {
            let reason = judged(true, idle, &counted).unwrap_err();
            assert!(reason.contains("did not go through the tunnel"), "{reason}");
        }
        // What makes the arm a lie is said first.
        let without = Counted {
            connections: Some(0),
            ..counted
        };
        let reason = judged(true, Some(0), &without).unwrap_err();
        assert!(reason.contains("made no connection"), "{reason}");
    }
}
