//! Page faults and peak memory, where the truth is made: new memory of which every page is touched.
//!
//! One test alone: whatever else this process did meanwhile would be counted too.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::process;
use std::ptr;

use ciphertax_observe::{Meter, OwnThreads, ProcessMeter, ProcessTree, own_peak_memory_bytes};

const PAGES: usize = 20_000;

#[test]
fn pages_that_are_touched_are_page_faults_and_peak_memory_by_every_meter() {
    let pid = process::id();
    let meters: [(&str, Box<dyn Meter>); 3] = [
        ("process", Box::new(ProcessMeter::open(pid).unwrap())),
        ("tree", Box::new(ProcessTree::open(&[pid]).unwrap())),
        ("own threads", Box::new(OwnThreads)),
    ];
    let before: Vec<_> = meters.iter().map(|(_, meter)| meter.read().unwrap()).collect();
    let peak = own_peak_memory_bytes().unwrap();
    let bytes = touch_pages();
    let few = PAGES as u64 / 10;
    for ((name, meter), before) in meters.iter().zip(&before) {
        let used = meter.read().unwrap().since(before);
        let faults = used.faults.unwrap();
        let is_each = (PAGES as u64..PAGES as u64 + few).contains(&faults.minor);
        assert!(is_each, "{name}: {faults:?}");
        assert!(faults.major < few, "{name}: {faults:?}");
        // It was given back, but has been.
        let rose = used.peak_memory_bytes.unwrap() - peak;
        assert!(rose.abs_diff(bytes) < bytes / 10, "{name}: {rose} of {bytes}");
    }
}

/// Touches so many pages of new memory one by one, gives it back, and says how many bytes it was.
fn touch_pages() -> u64 {
    let page = rustix::param::page_size();
    let length = PAGES * page;
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: asks for new memory, at no given address.
    let memory = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    // SAFETY: of that memory, whose pages must not be given several at a time.
    assert_eq!(unsafe { libc::madvise(memory, length, libc::MADV_NOHUGEPAGE) }, 0);
    for place in (0..length).step_by(page) {
        // SAFETY: lies within that memory.
        unsafe { memory.cast::<u8>().add(place).write_volatile(1) };
    }
    // SAFETY: nobody uses that memory any more.
    assert_eq!(unsafe { libc::munmap(memory, length) }, 0);
    length as u64
}
