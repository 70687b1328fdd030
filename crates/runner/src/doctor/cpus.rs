//! The CPUs: how many, how even, with which instructions, and what reading a clock costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ciphertax_base::Host;
use ciphertax_base::format::{self, plain, rounded};
use ciphertax_observe::{ThreadUsage, placement};
use ciphertax_reactor::stop;
use ciphertax_records::{Check, CheckStatus};

use super::{line, quantile};

/// How many CPUs there are.
pub(super) fn cpus(host: &Host) -> Check {
    let machine = match host.virtualization.as_str() {
        "none" => "no virtual machine".to_owned(),
        "unknown" => "virtual machine or not: unknown".to_owned(),
        hypervisor => format!("a virtual machine of {hypervisor}"),
    };
    let check = Check::good(
        "cpus",
        "CPUs",
        format!(
            "{} × {}, {} of memory, {machine}",
            host.cpus,
            host.cpu,
            format::bytes(host.memory_bytes as f64)
        ),
        match host.cpus {
            0..=3 => "a private server and the load share them: CPU per operation is the figure to rely on, throughput is of both together",
            _ => "enough for a private server beside the load",
        },
    )
    .with("cpus", host.cpus.into());
    match host.cpus {
        0 | 1 => check.but(
            CheckStatus::Limited,
            "measure throughput and latency on a machine with two CPUs or more",
        ),
        _ => check,
    }
}

/// By the kernel's names on x86 and on ARM: what each is for, and whether AES is slow without it.
const X86: [(&str, &str, bool); 6] = [
    ("aes", "AES-NI", true),
    ("vaes", "VAES", false),
    ("pclmulqdq", "PCLMULQDQ", true),
    ("vpclmulqdq", "VPCLMULQDQ", false),
    ("avx512f", "AVX-512", false),
    ("sha_ni", "SHA", false),
];
const ARM: [(&str, &str, bool); 4] = [
    ("aes", "AES", true),
    ("pmull", "PMULL", true),
    ("sha2", "SHA-2", false),
    ("sve", "SVE", false),
];

/// The CPU's instructions for cryptography.
pub(super) fn look_at_instructions() -> Vec<Check> {
    let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    flags(&cpu_info)
        .map(|flags| instructions(&flags))
        .into_iter()
        .collect()
}

/// Those of the first CPU.
fn flags(cpu_info: &str) -> Option<Vec<&str>> {
    cpu_info.lines().find_map(|line| {
        let (name, flags) = line.split_once(':')?;
        let is_it = ["flags", "Features"].contains(&name.trim());
        is_it.then(|| flags.split_whitespace().collect())
    })
}

fn instructions(flags: &[&str]) -> Check {
    let known: &[(&str, &str, bool)] = match flags.contains(&"fpu") {
        true => &X86,
        false => &ARM,
    };
    let names = |has: bool| {
        let of = known.iter().filter(|(flag, ..)| flags.contains(flag) == has);
        of.map(|(_, name, _)| *name).collect::<Vec<_>>()
    };
    let (there, missing) = (names(true), names(false));
    let not = match &missing[..] {
        [] => String::new(),
        missing => format!("; not {}", missing.join(", ")),
    };
    let has = match &there[..] {
        [] => "none".to_owned(),
        there => there.join(", "),
    };
    let check = Check::good(
        "instructions",
        "instructions",
        format!("{has}{not}"),
        "libraries choose their code for AES-GCM by these: results do not carry over to CPUs with others",
    );
    let is_slow = known
        .iter()
        .any(|(flag, _, needed)| *needed && !flags.contains(flag));
    check.limited_if(
        is_slow,
        "have the hypervisor pass the CPU's instructions on (CPU model `host`): without them AES costs many times what it costs \
         on the machines that databases run on",
    )
}

/// How long is computed, all CPUs together.
const TIME: Duration = Duration::from_secs(2);
/// About how long one computation takes.
const ONE: Duration = Duration::from_millis(2);
/// CPUs that are looked at.
const MOST_CPUS: usize = 8;
/// By how much CPUs may differ, and one from itself.
const UNEVEN: f64 = 0.05;

/// How evenly the CPUs work: the same computation on each, over and over.
pub(super) fn look_at_evenness() -> Vec<Check> {
    let allowed = placement::allowed_cpus().unwrap_or_default();
    let cpus = spread(&allowed);
    // In a thread of its own, whose CPUs nobody needs afterwards.
    let worked = std::thread::spawn(move || work(&cpus)).join().unwrap_or_default();
    evenness(&worked, allowed.len()).into_iter().collect()
}

/// CPU time in nanoseconds of each computation, by CPU.
fn work(cpus: &[usize]) -> Vec<Vec<f64>> {
    let rounds = rounds_in(ONE);
    let mut times = vec![Vec::new(); cpus.len()];
    let end = Instant::now() + TIME;
    while Instant::now() < end && !stop::is_requested() {
        for (cpu, times) in cpus.iter().zip(&mut times) {
            if placement::confine_thread(*cpu).is_err() {
                continue;
            }
            let before = ThreadUsage::now();
            compute(rounds);
            times.push(ThreadUsage::now().since(&before).cpu.total_ns as f64);
        }
    }
    times
}

/// Some of many, from the first to the last: neighbours often are of one kind, and share what they have.
fn spread(cpus: &[usize]) -> Vec<usize> {
    if cpus.len() <= MOST_CPUS {
        return cpus.to_vec();
    }
    let steps = MOST_CPUS - 1;
    (0..=steps)
        .map(|step| cpus[step * (cpus.len() - 1) / steps])
        .collect()
}

/// Multiplications that depend on each other, and touch no memory.
fn compute(rounds: u64) {
    let mut state = black_box(1_u64);
    for round in 0..rounds {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
    }
    black_box(state);
}

fn rounds_in(time: Duration) -> u64 {
    const TRIAL: u64 = 1_000_000;
    let began = Instant::now();
    compute(TRIAL);
    let each = began.elapsed().as_secs_f64() / TRIAL as f64;
    (time.as_secs_f64() / each.max(1e-10)) as u64
}

/// `of` is how many CPUs there are.
fn evenness(by_cpu: &[Vec<f64>], of: usize) -> Option<Check> {
    let mut medians = Vec::new();
    let mut variation: f64 = 0.0;
    for times in by_cpu.iter().filter(|times| times.len() >= 4) {
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        variation = variation.max((quantile(&sorted, 0.9) - quantile(&sorted, 0.1)) / median.max(1.0));
        medians.push(median);
    }
    medians.sort_by(f64::total_cmp);
    let (least, most) = (*medians.first()?, *medians.last()?);
    let apart = most / least.max(1.0) - 1.0;
    let on_one = format!("80 % lie within {}", rounded::share(variation));
    let found = match medians.len() {
        1 => format!("of the same computation, over and over on one CPU, {on_one}"),
        looked_at => {
            let all = if looked_at < of {
                format!(" ({looked_at} of {of} were looked at)")
            } else {
                String::new()
            };
            format!(
                "the same computation takes up to {} longer on one CPU than on another{all}; on the same CPU {on_one}",
                rounded::share(apart)
            )
        }
    };
    let check = Check::good(
        "placement",
        "placement noise",
        found,
        "where the kernel lets a thread run, and how fast that CPU is just now, is noise; random order and pairs carry it into \
         the interval",
    )
    .with("cpus_looked_at", medians.len() as f64)
    .with("between_cpus_share", apart)
    .with("on_one_cpu_share", variation);
    let uneven = "fix the CPUs' frequency (`cpupower frequency-set -g performance`), switch off what shares their cores (SMT), \
                  or take placement = \"together\" in the study";
    Some(check.limited_if(apart.max(variation) > UNEVEN, uneven))
}

const READINGS: u32 = 50_000;
/// What reading the time may cost, in nanoseconds: two readings are in every operation.
const SLOW_NS: f64 = 300.0;
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What it costs to read a clock.
pub(super) fn look_at_clocks() -> Vec<Check> {
    let time = each_ns(|| {
        black_box(Instant::now());
    });
    let cpu = each_ns(|| {
        black_box(ThreadUsage::now());
    });
    let source = line(SOURCE).unwrap_or_else(|| "unknown".into());
    vec![clock(&source, time, cpu)]
}

fn each_ns(read: impl Fn()) -> f64 {
    let began = Instant::now();
    for _ in 0..READINGS {
        read();
    }
    began.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

fn clock(source: &str, time_ns: f64, cpu_ns: f64) -> Check {
    let check = Check::good(
        "clock",
        "clock",
        format!(
            "{source}: {} ns to read the time, {} ns to read CPU time",
            plain(time_ns),
            plain(cpu_ns)
        ),
        "every operation reads the time twice, so that much of the client's CPU per operation is ciphertax's own, in all arms alike",
    )
    .with("time_ns", time_ns)
    .with("cpu_time_ns", cpu_ns);
    check.limited_if(
        time_ns > SLOW_NS,
        "have the kernel take a clock that is read without a system call: tsc or kvm-clock (`clocksource=tsc` on its command \
         line, if the CPUs' counters agree)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_records::CheckStatus;

    #[test]
    fn a_single_cpu_limits_what_can_be_measured() {
        let host = |cpus| Host {
            os: "x".into(),
            kernel: "6.1".into(),
            cpu: "Some CPU".into(),
            cpus,
            memory_bytes: 8_000_000_000,
            virtualization: "kvm".into(),
        };
        let one = cpus(&host(1));
        assert_eq!((one.status, one.remedy.is_some()), (CheckStatus::Limited, true));
        let four = cpus(&host(4));
        assert_eq!(four.status, CheckStatus::Good);
        assert_eq!(
            four.found,
            "4 × Some CPU, 8.00 GB of memory, a virtual machine of kvm"
        );
    }

    #[test]
    fn missing_instructions_are_told_and_without_those_for_aes_it_limits() {
        let text = "processor\t: 0\nmodel name\t: X\nflags\t\t: fpu aes pclmulqdq vaes\nbugs\t: y\n";
        let check = instructions(&flags(text).unwrap());
        assert_eq!(check.status, CheckStatus::Good);
        assert_eq!(
            check.found,
            "AES-NI, VAES, PCLMULQDQ; not VPCLMULQDQ, AVX-512, SHA"
        );
        assert_eq!(instructions(&["fpu", "pclmulqdq"]).status, CheckStatus::Limited);
        let arm = flags("Features\t: fp asimd aes pmull sha2\n").unwrap();
        assert_eq!(instructions(&arm).found, "AES, PMULL, SHA-2; not SVE");
        assert!(flags("processor : 0\n").is_none());
    }

    #[test]
    fn uneven_cpus_are_told_from_one_that_is_uneven_itself() {
        let steady = |ns: f64| vec![ns; 10];
        assert_eq!(evenness(&[], 1), None);
        let even = evenness(&[steady(1_000.0), steady(1_010.0)], 2).unwrap();
        assert_eq!(even.status, CheckStatus::Good);
        assert!((even.figures["between_cpus_share"] - 0.01).abs() < 1e-9);
        let uneven = evenness(&[steady(1_000.0), steady(1_300.0)], 64).unwrap();
        assert_eq!(uneven.status, CheckStatus::Limited);
        let is_told = uneven.found.contains("(2 of 64 were looked at)");
        assert!(is_told, "{}", uneven.found);
        assert!(!even.found.contains("looked at"), "{}", even.found);
        let mut shaking = steady(1_000.0);
        shaking.extend([1_500.0; 4]);
        let shaking = evenness(&[shaking], 1).unwrap();
        assert_eq!(shaking.status, CheckStatus::Limited);
        assert_eq!(shaking.figures["between_cpus_share"], 0.0);
        let is_told = shaking.found.contains("on one CPU, 80 % lie within");
        assert!(is_told, "{}", shaking.found);
    }

    #[test]
    fn of_many_cpus_the_first_the_last_and_some_between_are_looked_at() {
        let all: Vec<usize> = (0..64).collect();
        assert_eq!(spread(&all), [0, 9, 18, 27, 36, 45, 54, 63]);
        assert_eq!(spread(&all[..3]), [0, 1, 2]);
    }

    #[test]
    fn a_clock_that_is_slow_to_read_has_a_remedy() {
        assert_eq!(clock("tsc", 25.0, 400.0).status, CheckStatus::Good);
        let slow = clock("hpet", 1_200.0, 1_500.0);
        assert_eq!(slow.status, CheckStatus::Limited);
        assert!(slow.found.contains("hpet: 1,200 ns"), "{}", slow.found);
    }
}
