use super::*;

/// A sample as the kernel would write it.
#[derive(Debug, Clone)]
pub(in crate::cpu) struct RecordedSample {
    pub(in crate::cpu) pid: u32,
    pub(in crate::cpu) tid: u32,
    pub(in crate::cpu) kernel: Vec<u64>,
    /// 0 for none, 1 for 32 bits, 2 for 64.
    pub(in crate::cpu) abi: u64,
    pub(in crate::cpu) stack: Vec<u8>,
}

impl Default for RecordedSample {
    fn default() -> Self {
        Self {
            pid: 10,
            tid: 11,
            kernel: Vec::new(),
            abi: 2,
            stack: vec![7; 24],
        }
    }
}

pub(in crate::cpu) fn sample_record(sample: &RecordedSample) -> Vec<u8> {
    let mut body = [sample.pid.to_ne_bytes(), sample.tid.to_ne_bytes()].concat();
    let mut words = vec![sample.kernel.len() as u64];
    words.extend(&sample.kernel);
    words.push(sample.abi);
    if sample.abi != 0 {
        words.extend(100..100 + REGISTERS as u64);
    }
    // The room for a stack may be larger than the stack.
    words.push(if sample.abi == 0 {
        0
    } else {
        sample.stack.len() as u64 + 8
    });
    body.extend(words.into_iter().flat_map(u64::to_ne_bytes));
    if sample.abi != 0 {
        body.extend(&sample.stack);
        body.extend([0xaa; 8]);
        body.extend((sample.stack.len() as u64).to_ne_bytes());
    }
    record(bindings::PERF_RECORD_SAMPLE, 0, &body)
}

fn record(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + body.len()) as u16;
    let header = [
        &kind.to_ne_bytes()[..],
        &flags.to_ne_bytes(),
        &length.to_ne_bytes(),
    ]
    .concat();
    [&header, body].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

#[test]
fn a_sample_has_the_kernels_functions_the_registers_and_no_more_than_the_stack() {
    let record = sample_record(&RecordedSample {
        kernel: vec![
            bindings::PERF_CONTEXT_KERNEL,
            0xffff_ffff_8100_0010,
            0xffff_ffff_8100_0020,
        ],
        ..RecordedSample::default()
    });
    assert_eq!(length(record[..8].try_into().unwrap()), record.len());
    let Some(Record::Sample(sample)) = parse(&record) else {
        panic!()
    };
    assert_eq!((sample.pid, sample.tid), (10, 11));
    let kernel: Vec<u64> = sample.kernel().collect();
    assert_eq!(kernel, [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]);
    let registers = sample.registers.unwrap();
    let read = (registers.values[0], registers.values[7], registers.values[16]);
    assert_eq!(read, (100, 107, 108));
    assert_eq!(sample.stack, [7; 24]);
}

#[test]
fn what_has_no_part_in_user_mode_is_told_from_what_cannot_be_read() {
    for (abi, has_user_part) in [(0, false), (1, true)] {
        let record = sample_record(&RecordedSample {
            abi,
            ..RecordedSample::default()
        });
        let Some(Record::Sample(sample)) = parse(&record) else {
            panic!()
        };
        assert_eq!((sample.registers, sample.has_user_part), (None, has_user_part));
    }
}

#[test]
fn processes_that_begin_and_end_are_told_from_threads() {
    let fork = record(bindings::PERF_RECORD_FORK, 0, &numbers(&[20, 10, 20, 11, 0, 0]));
    assert_eq!(
        parse(&fork),
        Some(Record::Began {
            parent: 10,
            child: 20
        })
    );
    let exit = |tid| record(bindings::PERF_RECORD_EXIT, 0, &numbers(&[20, 10, tid, 11, 0, 0]));
    assert_eq!(parse(&exit(20)), Some(Record::Ended(20)));
    assert_eq!(parse(&exit(21)), Some(Record::Other));
    let name = |flags| record(bindings::PERF_RECORD_COMM, flags, &numbers(&[20, 20, 0, 0]));
    assert_eq!(parse(&name(1 << 13)), Some(Record::BecameProgram(20)));
    assert_eq!(parse(&name(0)), Some(Record::Other));
    let lost = record(bindings::PERF_RECORD_LOST, 0, &numbers(&[1, 0, 5, 0]));
    assert_eq!(parse(&lost), Some(Record::Lost(5)));
}

#[test]
fn no_record_that_was_cut_off_or_changed_is_a_panic() {
    let whole = sample_record(&RecordedSample {
        kernel: vec![1, 2, 3],
        ..RecordedSample::default()
    });
    for length in 0..whole.len() {
        assert_eq!(parse(&whole[..length]), None, "{length}");
    }
    for position in HEADER_BYTES..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = whole.clone();
            changed[position] = value;
            if let Some(Record::Sample(sample)) = parse(&changed) {
                assert!(sample.kernel().count() + sample.stack.len() <= whole.len());
            }
        }
    }
}

#[test]
fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
    assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
    assert_eq!(cpu_list("0"), [0]);
    assert_eq!(cpu_list(""), Vec::<u32>::new());
    assert_eq!(cpu_list("3-1,x,2-"), Vec::<u32>::new());
    assert_eq!(cpu_list("0-4294967295").len(), 1 << 16);
    assert!(!online_cpus().is_empty());
}

#[test]
fn this_thread_may_run_on_a_cpu_that_is_switched_on_and_one_that_never_was_nowhere() {
    let own = rustix::thread::gettid().as_raw_pid().cast_unsigned();
    let (allowed, online) = (cpus_of_thread(own).unwrap(), online_cpus());
    assert!(allowed.iter().any(|cpu| online.contains(cpu)), "{allowed:?}");
    assert_eq!(cpus_of_thread(i32::MAX as u32), None);
}

#[test]
fn each_register_has_the_place_that_dwarf_gives_it() {
    // By the kernel's order: ax bx cx dx si di bp sp ip r8 … r15.
    let registers = registers_of_sample(std::array::from_fn(|index| index as u64));
    assert_eq!(
        registers.values,
        [0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8]
    );
    assert!(registers.are_complete);
}

const MIB: usize = 1 << 20;

#[test]
fn a_ring_holds_a_slice_as_long_as_all_of_them_are_bounded() {
    let half = Duration::from_millis(500);
    assert_eq!(bytes_of_ring(2, 997, half), 32 * MIB);
    assert_eq!(bytes_of_ring(2, 997, Duration::from_millis(100)), 8 * MIB);
    assert_eq!(bytes_of_ring(2, 997, Duration::from_secs(10)), 32 * MIB);
    assert_eq!(bytes_of_ring(64, 997, half), 2 * MIB);
    assert_eq!(bytes_of_ring(48, 997, half), 2 * MIB);
    assert_eq!(bytes_of_ring(10_000, 997, half), SMALLEST_RING);
    assert_eq!(bytes_of_ring(1, u32::MAX, Duration::MAX), 32 * MIB);
    assert_eq!(bytes_of_ring(1, 1, Duration::ZERO), SMALLEST_RING);
}
