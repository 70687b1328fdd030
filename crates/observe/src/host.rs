//! The machine: its host facts, the code by which its kernel computes a cipher, and its pressure.

use std::fs;

use ciphertax_base::{Host, Pressure};
use procfs::{CpuInfo, CryptoTable, Current, Meminfo};

const UNKNOWN: &str = "unknown";

/// What this machine is, as far as an ordinary user can tell.
pub fn host() -> Host {
    let cpu_info = CpuInfo::current().ok();
    Host {
        os: operating_system(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        kernel: line("/proc/sys/kernel/osrelease").unwrap_or_else(|| UNKNOWN.into()),
        cpu: cpu_info
            .as_ref()
            .and_then(|info| info.model_name(0))
            .unwrap_or(UNKNOWN)
            .into(),
        cpus: allowed_cpus(),
        memory_bytes: Meminfo::current().map_or(0, |memory| memory.mem_total),
        virtualization: virtualization(cpu_info.as_ref()),
    }
}

fn operating_system(os_release: &str) -> String {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map_or(UNKNOWN, |name| name.trim_matches('"'))
        .into()
}

/// CPUs this process may use, which containers and `taskset` make fewer than there are.
fn allowed_cpus() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |cpus| cpus.count())
}

/// On x86 a flag says whether there is a hypervisor, and a CPU instruction which one.
fn virtualization(cpu_info: Option<&CpuInfo>) -> String {
    match cpu_info.and_then(|info| info.flags(0)) {
        Some(flags) if flags.contains(&"hypervisor") => hypervisor(),
        Some(_) if cfg!(target_arch = "x86_64") => "none".into(),
        _ => firmware_vendor().unwrap_or(UNKNOWN).into(),
    }
}

fn hypervisor() -> String {
    let signature = hypervisor_signature();
    named(&signature)
        .or_else(firmware_vendor)
        .map_or_else(|| signature_or_unknown(&signature), str::to_owned)
}

/// Names of hypervisors by the signature of CPUID leaf 0x4000_0000, as `systemd-detect-virt` gives them.
fn named(signature: &str) -> Option<&'static str> {
    match signature {
        "KVMKVMKVM" => Some("kvm"),
        "XenVMMXenVMM" => Some("xen"),
        "VMwareVMware" => Some("vmware"),
        "Microsoft Hv" => Some("microsoft"),
        "TCGTCGTCGTCG" => Some("qemu"),
        "bhyve bhyve " => Some("bhyve"),
        "QNXQVMBSQG" => Some("qnx"),
        "ACRNACRNACRN" => Some("acrn"),
        _ => None,
    }
}

#[cfg(target_arch = "x86_64")]
fn hypervisor_signature() -> String {
    const HYPERVISOR_LEAF: u32 = 0x4000_0000;
    // SAFETY: every x86-64 processor has the instruction, and the hypervisor flag says that the leaf means something.
    #[allow(unused_unsafe, reason = "releases of Rust differ in whether it is unsafe")]
    let leaf = unsafe { core::arch::x86_64::__cpuid(HYPERVISOR_LEAF) };
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_signature() -> String {
    String::new()
}

fn signature_or_unknown(signature: &str) -> String {
    let printable = !signature.is_empty() && signature.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    if printable {
        signature.trim().into()
    } else {
        UNKNOWN.into()
    }
}

/// Virtual machines whose firmware names its maker.
fn firmware_vendor() -> Option<&'static str> {
    match line("/sys/class/dmi/id/sys_vendor")?.as_str() {
        "QEMU" | "Google" => Some("kvm"),
        "Amazon EC2" => Some("amazon"),
        "Microsoft Corporation" => Some("microsoft"),
        "Xen" => Some("xen"),
        "innotek GmbH" | "Oracle Corporation" => Some("oracle"),
        "Parallels Software International Inc." => Some("parallels"),
        vendor if vendor.starts_with("VMware") => Some("vmware"),
        _ => None,
    }
}

fn line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The driver that the kernel takes for a cipher, as `xts(aes)`: of those in `/proc/crypto` the one with the highest priority.
/// `None` where the kernel has not used the cipher yet, or does not say.
pub fn kernel_cipher(cipher: &str) -> Option<String> {
    driver_of(cipher, &CryptoTable::current().ok()?)
}

fn driver_of(cipher: &str, table: &CryptoTable) -> Option<String> {
    // Internal ones are parts of others.
    let drivers = table.get(cipher)?.iter().filter(|block| !block.internal);
    let taken = drivers.max_by_key(|block| block.priority)?;
    Some(taken.driver.clone())
}

const MICROSECOND_NS: u64 = 1_000;

/// The totals since the machine started; `None` where the kernel keeps none. Only the difference of two readings means
/// something.
///
/// The kernel keeps them to the microsecond, where it was built with pressure stall information and not started without it
/// (<https://docs.kernel.org/accounting/psi.html>).
pub fn pressure() -> Option<Pressure> {
    let of = |what: &str| fs::read_to_string(format!("/proc/pressure/{what}")).unwrap_or_default();
    let (cpu, io, memory) = (of("cpu"), of("io"), of("memory"));
    let found = Pressure {
        cpu_some_ns: total_ns(&cpu, "some"),
        io_some_ns: total_ns(&io, "some"),
        io_full_ns: total_ns(&io, "full"),
        memory_some_ns: total_ns(&memory, "some"),
        memory_full_ns: total_ns(&memory, "full"),
    };
    (found != Pressure::default()).then_some(found)
}

/// The total of a line such as `some avg10=0.12 avg60=0.05 avg300=0.01 total=1234`, where it is in microseconds.
fn total_ns(text: &str, line: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(line)).then_some(words))?;
    let total = words.find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(MICROSECOND_NS)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};
    use std::{hint, thread};

    use procfs::FromBufRead;

    use super::*;
    use crate::placement;

    #[test]
    fn the_kernel_and_the_cpus_are_those_that_other_programs_see() {
        let host = host();
        assert_eq!(host.kernel, output_of("uname", &["-r"]));
        assert_eq!(host.cpus.to_string(), output_of("nproc", &[]));
    }

    #[test]
    fn fewer_allowed_cpus_are_seen() {
        let all = allowed_cpus();
        let one = std::thread::spawn(|| {
            let mut set = rustix::thread::CpuSet::new();
            let before = rustix::thread::sched_getaffinity(None).unwrap();
            let first = (0..rustix::thread::CpuSet::MAX_CPU)
                .find(|cpu| before.is_set(*cpu))
                .unwrap();
            set.set(first);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
            allowed_cpus()
        });
        assert_eq!(one.join().unwrap(), 1);
        assert!(all >= 1);
    }

    #[test]
    fn memory_is_that_of_the_machine() {
        let pages: u64 = output_of("getconf", &["_PHYS_PAGES"]).parse().unwrap();
        let expected = pages * procfs::page_size();
        let ratio = host().memory_bytes as f64 / expected as f64;
        let holds = (0.9..=1.1).contains(&ratio);
        assert!(holds, "{} against {expected}", host().memory_bytes);
    }

    #[test]
    fn the_pretty_name_loses_its_quotes() {
        let name = operating_system("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n");
        assert_eq!(name, "Some Linux 12");
        assert_eq!(operating_system(""), UNKNOWN);
    }

    #[test]
    fn an_unknown_hypervisor_is_given_by_its_own_signature() {
        assert_eq!(named("KVMKVMKVM"), Some("kvm"));
        assert_eq!(signature_or_unknown("MyHypervisor"), "MyHypervisor");
        assert_eq!(signature_or_unknown("\u{1}"), UNKNOWN);
    }

    fn output_of(program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn block(driver: &str, priority: u32, internal: &str) -> String {
        format!(
            "name         : xts(aes)\ndriver       : {driver}\nmodule       : kernel\npriority     : {priority}\n\
             refcnt       : 1\nselftest     : passed\ninternal     : {internal}\ntype         : skcipher\n\
             async        : no\nblocksize    : 16\nmin keysize  : 32\nmax keysize  : 64\nivsize       : 16\n\
             chunksize    : 16\nwalksize     : 16\n\n"
        )
    }

    #[test]
    fn the_driver_that_comes_first_for_the_kernel_is_told() {
        let text = [
            block("xts(ecb(aes-generic))", 100, "no"),
            block("xts-aes-aesni", 401, "no"),
            block("__xts-aes-aesni", 500, "yes"),
        ];
        let table = CryptoTable::from_buf_read(text.concat().as_bytes()).unwrap();
        assert_eq!(driver_of("xts(aes)", &table).as_deref(), Some("xts-aes-aesni"));
        assert_eq!(driver_of("xts(camellia)", &table), None);
    }

    #[test]
    fn totals_are_found_by_their_lines() {
        let text = "some avg10=0.00 avg60=1.00 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n";
        let found = (total_ns(text, "some"), total_ns(text, "full"));
        assert_eq!(found, (Some(17_000), Some(4_000)));
        for broken in [
            "",
            "some",
            "some total=",
            "some total=-1",
            "some total=18446744073709551615",
            "full total=1",
        ] {
            assert_eq!(total_ns(broken, "some"), None, "{broken}");
        }
    }

    #[test]
    fn pressure_is_known_where_the_kernel_keeps_it_and_nowhere_else() {
        let is_kept = fs::read_to_string("/proc/pressure/cpu").is_ok_and(|text| !text.is_empty());
        assert_eq!(pressure().is_some(), is_kept, "{:?}", Path::new("/proc/pressure"));
    }

    #[test]
    fn who_waits_for_a_cpu_that_another_has_is_counted_while_it_waits() {
        let began = Instant::now();
        let Some(before) = pressure() else {
            return ciphertax_testkit::not_tested("this kernel keeps no pressure");
        };
        let cpus = placement::allowed_cpus().unwrap();
        let ends = AtomicBool::new(false);
        let spin = |cpu: usize| {
            placement::confine_thread(cpu).unwrap();
            while !ends.load(Ordering::Relaxed) {
                hint::spin_loop();
            }
        };
        thread::scope(|scope| {
            // On each of them: one on which others run and nobody waits would count for as much as one with both.
            for cpu in cpus.into_iter().flat_map(|cpu| [cpu; 2]) {
                let spin = &spin;
                scope.spawn(move || spin(cpu));
            }
            thread::sleep(Duration::from_millis(300));
            ends.store(true, Ordering::Relaxed);
        });
        let (waited, wall) = (
            pressure().unwrap().since(&before),
            began.elapsed().as_nanos() as u64,
        );
        // Threads may take a while to begin.
        assert!(waited.cpu_some_ns > Some(wall / 2), "{waited:?} of {wall} ns");
        let holds = waited.cpu_some_ns < Some(wall * 11 / 10);
        assert!(holds, "{waited:?} of {wall} ns");
    }
}
