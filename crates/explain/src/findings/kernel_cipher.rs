//! A kernel that encrypts files without the CPU's instructions for AES.

use ciphertax_model::FileSystem;
use ciphertax_records::{Finding, Run, Severity};

use super::finding::finding;

/// Drivers of AES that any CPU can run (`crypto/aes_generic.c`, `crypto/aes_ti.c` and `lib/crypto/aes.c` of Linux); others are made
/// for the instructions of one.
const WITHOUT_INSTRUCTIONS: [&str; 3] = ["aes-generic", "aes-fixed-time", "aes-lib"];

pub(super) fn kernel_cipher(run: &Run) -> Option<Finding> {
    let driver = run.head.kernel_cipher.as_ref()?;
    let mut arms = run.head.study.arms.iter();
    let arm = arms.find(|arm| arm.at_rest.file_system == Some(FileSystem::Fscrypt))?;
    let is_slow = WITHOUT_INSTRUCTIONS.iter().any(|name| driver.contains(name));
    is_slow.then(|| {
        finding(
            "kernel-cipher",
            Severity::Advice,
            format!(
                "{}: this kernel computes AES-XTS without the CPU's instructions for AES, so what it costs here is many times what \
                 it costs a kernel that uses them. Load their module (modprobe aesni_intel on x86), or take a kernel that has it.",
                arm.name
            ),
            format!("/proc/crypto: the driver of xts(aes) is {driver}"),
        )
    })
}
