//! Memory of other processes, which go on running.

use std::io;

/// Copies what another process has at an address, without stopping it: as much of `into` as is mapped there, from its begin.
/// Returns how many bytes that was.
///
/// # Errors
/// If nothing is mapped there, the process has ended, or this user may not look into it.
pub(super) fn read(pid: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let process = i32::try_from(pid).map_err(io::Error::other)?;
    let address = usize::try_from(address).map_err(io::Error::other)?;
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address),
        iov_len: into.len(),
    };
    // SAFETY: both lists have one element; the local one is a slice that nobody else has, and the other process's is the
    // kernel's to check.
    let copied = unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(copied).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_copied_and_nothing_beyond() {
        let own = std::process::id();
        let words = [1_u8, 2, 3, 4];
        let mut copy = [0; 4];
        assert_eq!(read(own, words.as_ptr().addr() as u64, &mut copy).unwrap(), 4);
        assert_eq!(copy, words);
        assert!(read(own, 8, &mut copy).is_err(), "nobody has the first page");
        assert!(read(own, u64::MAX - 1, &mut copy).is_err());
        assert!(read(u32::MAX, 8, &mut copy).is_err());
    }

    #[test]
    fn a_copy_ends_where_the_mapping_ends() {
        let map = memmap2::MmapMut::map_anon(3 * 4096).unwrap();
        let base = map.as_ptr();
        // SAFETY: the last page of a mapping of three, which nothing refers to; unmapping the rest is the kernel's matter.
        unsafe {
            assert_eq!(
                libc::mprotect(base.add(8192).cast_mut().cast(), 4096, libc::PROT_NONE),
                0
            )
        };
        let mut copy = vec![0; 32768];
        let from = base.addr() as u64 + 100;
        assert_eq!(read(std::process::id(), from, &mut copy).unwrap(), 8192 - 100);
    }
}
