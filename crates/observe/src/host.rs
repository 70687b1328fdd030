//! The machine.

use std::fs;

use ciphertax_records::Host;
use procfs::{CpuInfo, Current, Meminfo};

/// What cannot be told.
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

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
        assert!(
            (0.9..=1.1).contains(&ratio),
            "{} against {expected}",
            host().memory_bytes
        );
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
}
