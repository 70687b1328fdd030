//! Drivers of others that are measured in a process of their own, which is the benchmark's program again.

use std::error::Error;
use std::future::Future;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::Result;

/// This program again, as that process.
pub fn command(part: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(part);
    command
}

/// The process: reads its task from standard input and writes the answer to standard output.
///
/// # Errors
/// If the task cannot be read, or `answer` fails.
pub fn main<Task: DeserializeOwned, Answer: Serialize>(
    answer: impl AsyncFnOnce(&Task) -> Result<Answer>,
) -> Result<()> {
    let task: Task = serde_json::from_reader(io::stdin())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let answer = runtime.block_on(answer(&task))?;
    println!("{}", serde_json::to_string(&answer)?);
    Ok(())
}

/// Connects again and again, so many at a time, until the time is up. Returns how often, and the seconds that it took.
///
/// # Errors
/// The first of `connect`.
pub async fn connect_for<F, E>(
    seconds: u32,
    at_a_time: u32,
    connect: impl Fn() -> F + Clone + Send + 'static,
) -> Result<(u64, f64)>
where
    F: Future<Output = std::result::Result<(), E>> + Send,
    E: Error + Send + Sync + 'static,
{
    let began = Instant::now();
    let deadline = began + Duration::from_secs(seconds.into());
    let mut loops = JoinSet::new();
    for _ in 0..at_a_time {
        let connect = connect.clone();
        loops.spawn(async move {
            let mut connects = 0;
            while Instant::now() < deadline {
                connect().await?;
                connects += 1;
            }
            Ok::<u64, E>(connects)
        });
    }
    let mut connects = 0;
    while let Some(ended) = loops.join_next().await {
        connects += ended??;
    }
    Ok((connects, began.elapsed().as_secs_f64()))
}
