//! `ciphertax-mpi`: what `mpirun` starts on every machine that makes load. It starts an ordinary `ciphertax` beside it and carries its
//! messages to the others and back, so that `ciphertax` itself knows no MPI, and outlives an `mpirun` that kills what it started: the
//! report is written in any case.

mod doorbell;
mod generator;
mod messages;
mod relay;

use std::env;
use std::process::ExitCode;

use ciphertax_supervise::say;
use mpi::traits::Communicator;

use crate::generator::Generator;
use crate::messages::Messages;

/// How a program ends that could do nothing.
const NOTHING: u8 = 2;

fn main() -> ExitCode {
    let Some(universe) = mpi::initialize() else {
        say("ciphertax-mpi: MPI cannot be initialised; start it by mpirun or srun");
        return ExitCode::from(NOTHING);
    };
    let world = universe.world();
    let (rank, of) = (world.rank() as u32, world.size() as u32);
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let code = Messages::new(&world)
        .map_err(|error| format!("nobody can be woken: {error}"))
        .and_then(|messages| relay::relay(Generator::start(rank, of, &arguments)?, messages))
        .map_err(|problem| format!("ciphertax-mpi: {problem}"));
    match code {
        Ok(relay::End::Together(code)) => ExitCode::from(code),
        // Some of the others do not answer, so nobody may wait for them.
        Ok(relay::End::Alone(code)) => world.abort(code.into()),
        Err(problem) => {
            say(&problem);
            world.abort(NOTHING.into())
        }
    }
}
