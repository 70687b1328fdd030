//! Which arms differ from the baseline in what lies on the disk encrypted, and in nothing else.

use ciphertax_model::{Arm, FileSystem};
use ciphertax_records::Run;

/// True if an arm encrypts pages at rest, the baseline does not, and that is all they differ in: what the arm costs more is the
/// price of that alone. A file system in user space is more than that.
pub(super) fn encrypts_at_rest_alone(run: &Run, arm: &str) -> bool {
    let baseline = run.head.study.baseline();
    let is_all = |other: &Arm| {
        let like_baseline = Arm {
            name: baseline.name.clone(),
            at_rest: baseline.at_rest,
            ..other.clone()
        };
        like_baseline == *baseline
    };
    let mut arms = run.head.study.arms.iter();
    let asked = arms.find(|other| other.name == arm);
    asked.is_some_and(|asked| {
        let at_rest = asked.at_rest;
        at_rest.encrypts_pages()
            && !at_rest.file_system.is_some_and(FileSystem::is_in_user_space)
            && at_rest.columns.is_none()
            && !baseline.at_rest.is_encrypted()
            && is_all(asked)
    })
}
