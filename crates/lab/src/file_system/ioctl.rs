//! Asking devices and files for what has no system call of its own.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Makes a request that takes a pointer to `argument`, and returns what the kernel does.
///
/// # Safety
/// `T` must be what the kernel reads and writes for this request, and `argument` a valid one.
pub(super) unsafe fn ask<T>(file: impl AsFd, request: u32, argument: &mut T) -> io::Result<i32> {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the argument outlives the call, and is what the request takes, as the caller says.
    answer(unsafe { libc::ioctl(file, request as libc::Ioctl, std::ptr::from_mut(argument)) })
}

/// Makes a request that takes nothing, and returns what the kernel does.
///
/// # Safety
/// The request must take nothing.
pub(super) unsafe fn ask_plainly(file: impl AsFd, request: u32) -> io::Result<i32> {
    // SAFETY: there is nothing that the kernel could write, as the caller says.
    answer(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request as libc::Ioctl) })
}

fn answer(returned: libc::c_int) -> io::Result<i32> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(returned)
}
