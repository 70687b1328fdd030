//! What a probe cannot be.

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::probe::{Perturbation, Probe, ProbeValue};
use crate::study::{Placement, Study};

/// `path` is that of the arm.
pub(super) fn check_arm(arm: &Arm, path: &Path, found: &mut Found) {
    let Some(probe) = &arm.probe else { return };
    let name = &arm.name;
    let path = path.key("probe");
    match probe.perturbation() {
        None => {
            let message = format!(
                "arm {name:?}: a probe says one thing, either variable and value, such as {{ variable = \"sync_binlog\", value = 0 \
                 }}, or cpus"
            );
            found.add(path, message);
        }
        Some(Perturbation::Cpus(0)) => {
            let message = format!("arm {name:?}: a server needs a CPU; take probe = {{ cpus = 1 }}");
            found.add(path.key("cpus"), message);
        }
        Some(Perturbation::Cpus(_)) => {}
        Some(Perturbation::Variable(variable, value)) => {
            if !Probe::is_name(variable) {
                let message = format!(
                    "arm {name:?}: {variable:?} is no name of a variable: it must be letters, digits and underscores, beginning with \
                     a letter, {} at most",
                    Probe::LONGEST
                );
                found.add(path.key("variable"), message);
            }
            if let ProbeValue::Text(text) = value
                && !Probe::is_plain(text)
            {
                let message = format!(
                    "arm {name:?}: {text:?} is no value for a probe: it must be letters, digits, spaces and _-+=.,:/, {} at most",
                    Probe::LONGEST
                );
                found.add(path.key("value"), message);
            }
        }
    }
}

/// What probes cannot go with.
pub(super) fn check_study(study: &Study, found: &mut Found) {
    let probed = study.arms.iter().enumerate().filter_map(|(index, arm)| {
        let probe = arm.probe.as_ref()?;
        Some((arm, probe, Path::of("arm").entry(index).key("probe")))
    });
    for (arm, probe, path) in probed {
        let name = &arm.name;
        if name == &study.baseline().name {
            let message = format!(
                "arm {name:?} is the baseline, from which a probe is a deviation; leave probe out, and add an arm with it"
            );
            found.add(path.clone(), message);
        }
        if study.differs_at_rest() {
            let message = format!(
                "arm {name:?}: where arms differ in at_rest, what a server does between its slices is billed to its arm, and the \
                 probe holds within slices alone; leave probe out, or take at_rest out of all arms or into all"
            );
            found.add(path.clone(), message);
        }
        if probe.cpus.is_some() && study.placement == Placement::Together {
            let message = format!(
                "arm {name:?}: placement = \"together\" leaves the server one CPU already; leave the probe's cpus out, or take \
                 placement = \"free\""
            );
            found.add(path.key("cpus"), message);
        }
    }
}
