//! The CPU's instructions for cryptography.

use ciphertax_records::Check;

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

pub(super) fn look() -> Vec<Check> {
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
        "libraries choose their code for AES-GCM by these: figures of a CPU with others are no figures of this one",
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

#[cfg(test)]
mod tests {
    use ciphertax_records::CheckStatus;

    use super::*;

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
}
