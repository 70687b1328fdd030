//! Which tables each arm asks, and what its client encrypts.

use ciphertax_columns::MasterKey;
use ciphertax_model::{Arm, Study};
use ciphertax_workload::ArmColumns;

/// Of these arms of a study, by their numbers among all that are measured: the same in every cell.
pub(crate) fn arm_columns(study: &Study, arms: &[Arm], key: Option<&MasterKey>) -> Vec<ArmColumns> {
    let of_arm = |arm: &Arm| ArmColumns {
        set: set_of(study, &arm.name),
        encryption: arm.columns.clone().zip(key.cloned()),
    };
    arms.iter().map(of_arm).collect()
}

/// The number of an arm's tables, where each arm has its own.
pub(crate) fn set_of(study: &Study, arm: &str) -> u32 {
    let measured = study.measured_arms();
    let set = (0..).zip(&measured).find(|(_, other)| other.name == arm);
    set.map_or(0, |(set, _)| set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_has_the_same_tables_in_every_cell_that_measures_it() {
        let study = Study::from_toml(
            r#"name = "s"
            question = "?"
            time_s = 60
            arm = [{ name = "plain", transport = "plain" },
                   { name = "keys", transport = "plain", columns = { feature = "in_results", columns = "keys" } },
                   { name = "all", transport = "plain", columns = { feature = "in_results", columns = "all" } }]
            cell = [{ name = "few", workload = "tpcc", arms = ["plain", "all"], load = { connections = 1 } },
                    { name = "every", workload = "tpcc", load = { connections = 1 } }]"#,
        )
        .unwrap();
        let key = MasterKey::from_hex("000102030405060708090a0b0c0d0e0f").unwrap();
        let sets = |cell: usize| {
            let arms = study.measured_arms_of(&study.cells[cell]);
            let columns = arm_columns(&study, &arms, Some(&key));
            columns
                .into_iter()
                .map(|arm| (arm.set, arm.encryption.is_some()))
                .collect::<Vec<_>>()
        };
        assert_eq!(sets(0), [(0, false), (1, false), (3, true)]);
        assert_eq!(sets(1), [(0, false), (1, false), (2, true), (3, true)]);
    }
}
