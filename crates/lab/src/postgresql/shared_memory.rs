//! The shared memory of a private server that would outlive one that is killed.
//!
//! Besides its memory proper, which ends with its processes, a server has a segment of System V of a few bytes, by which
//! a second server of the same data folder would notice the first. Nobody starts a second one here. A segment that is
//! removed while it is in use goes with the last process that uses it, however that ends.

use std::fs;
use std::io;
use std::path::Path;

use super::cluster::data_of;

/// The line of `postmaster.pid` that holds the segment's key and number; the first holds the number of the process.
const SEGMENT_LINE: usize = 7;

/// Has the segment of the server in `folder` go with the server. One that the server makes anew after one of its
/// processes was killed is removed by the server alone.
pub(super) fn let_it_go_with_the_server(folder: &Path) -> io::Result<()> {
    let text = fs::read_to_string(data_of(folder).join("postmaster.pid"))?;
    let Some((process, segment)) = segment_in(&text) else {
        return Ok(());
    };
    // SAFETY: an all-zero state of a segment is valid: zero numbers.
    let mut state: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local that outlives the call.
    let found = unsafe { libc::shmctl(segment, libc::IPC_STAT, &mut state) } == 0;
    if !found || state.shm_cpid != process {
        return Ok(());
    }
    // SAFETY: the pointer is not used for a removal.
    match unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn segment_in(text: &str) -> Option<(libc::pid_t, libc::c_int)> {
    let process = text.lines().next()?.trim().parse().ok()?;
    let line = text.lines().nth(SEGMENT_LINE - 1)?;
    let segment = line.split_whitespace().nth(1)?.parse().ok()?;
    Some((process, segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segment_is_read() {
        let text = "32462\n/tmp/a/data\n1795337343\n23456\n.\n127.0.0.1\n  9996946        19\nready   \n";
        assert_eq!(segment_in(text), Some((32462, 19)));
        assert_eq!(segment_in("32462\n/tmp/a/data\n"), None);
    }
}
