//! Whether a process makes a load with others, and what it is among them.

use std::env;

use ciphertax_supervise::Conversation;

use super::channel::Channel;

/// Says the number of a load generator and how many there are, as in `2/8`.
const VARIABLE: &str = "CIPHERTAX_RANK";

/// What a process is among the load generators of a run.
pub enum Role {
    /// It has the servers, and calls the slices.
    Conductor(Channel),
    /// It works the slices that are called.
    Follower(Channel),
}

/// What this process is among the load generators of a run; `None` for a run that is alone.
///
/// # Errors
/// When it was not `ciphertax-mpi` that started it, though the environment says so.
pub fn role() -> Result<Option<Role>, String> {
    let Some(said) = env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let said = said.to_string_lossy();
    let numbers = said.split_once('/').and_then(|(rank, of)| {
        let (rank, of): (u32, u32) = (rank.parse().ok()?, of.parse().ok()?);
        (rank < of).then_some((rank, of))
    });
    let both = Conversation::with_owner().zip(Conversation::with_owner());
    let (Some((rank, of)), Some((reader, writer))) = (numbers, both) else {
        return Err(format!(
            "{VARIABLE} is {said:?}, which ciphertax-mpi sets for the programs that it starts; unset it"
        ));
    };
    let channel = Channel::new(reader, writer, of);
    Ok(Some(match rank {
        0 => Role::Conductor(channel),
        _ => Role::Follower(channel),
    }))
}
