//! What the conditions that hold say of a run.

use ciphertax_base::{Proof, Witness, format};
use ciphertax_workload::dataset::tpcc::{ConditionResult, Outcome};

/// The clause whose twelve parts are the specification's conditions.
const CONDITIONS: &str = "3.3.2.";

/// What a report says of conditions that hold, and of those that could not be asked.
pub(super) fn proof(held: &[ConditionResult], transactions: u64, restored: u32, same: usize) -> Proof {
    let is_own = |result: &&ConditionResult| !result.clause.starts_with(CONDITIONS);
    let holds = |result: &&ConditionResult| matches!(result.outcome, Outcome::Holds { .. });
    let clauses = |is_counted: &dyn Fn(&&ConditionResult) -> bool| {
        let mut clauses: Vec<&str> = held
            .iter()
            .filter(is_counted)
            .map(|result| result.clause)
            .collect();
        clauses.dedup();
        clauses
    };
    let all = clauses(&|result| !is_own(result));
    let broken_off = clauses(&|result| !is_own(result) && !holds(result));
    let own = clauses(&|result| is_own(result) && holds(result));
    let not_asked = held.iter().filter_map(|result| match &result.outcome {
        Outcome::NotAsked { because } => Some(format!("{} ({because})", result.clause)),
        Outcome::Holds { .. } => None,
    });
    let not_asked: Vec<String> = not_asked.collect();
    let mut evidence = vec![format!(
        "asked of the server by queries that count and sum all rows{}",
        match restored {
            0 => String::new(),
            1 => ", when the tables were restored and at the end".to_owned(),
            times => format!(", each of the {times} times that the tables were restored and at the end"),
        }
    )];
    if !own.is_empty() {
        evidence.push(format!(
            "what they cannot see holds too: clauses {}",
            own.join(", ")
        ));
    }
    if !not_asked.is_empty() {
        evidence.push(format!("not asked: {}", not_asked.join("; ")));
    }
    if same > 0 {
        let sets = if same == 1 { "set" } else { "sets" };
        evidence.push(format!(
            "the tables hold the same as {same} other {sets} of the same transactions"
        ));
    }
    Proof {
        witness: Witness::Server,
        claim: format!(
            "{} of {} consistency conditions of TPC-C hold after {} transactions",
            all.len() - broken_off.len(),
            all.len(),
            format::count(transactions as f64)
        ),
        evidence: evidence.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(clause: &'static str, because: Option<&str>) -> ConditionResult {
        ConditionResult {
            clause,
            condition: "a condition",
            in_study: false,
            outcome: match because {
                None => Outcome::Holds { of: 20 },
                Some(because) => Outcome::NotAsked {
                    because: because.into(),
                },
            },
        }
    }

    #[test]
    fn a_proof_counts_what_holds_and_names_what_was_not_asked() {
        let held = [
            result("3.3.2.1", None),
            result("3.3.2.2", None),
            result("3.3.2.2", None),
            result("3.3.2.4", Some("oorder.o_ol_cnt holds cells")),
            result("2.4.2.2", None),
        ];
        let proof = proof(&held, 48_210, 2, 1);
        assert_eq!(
            proof.claim,
            "2 of 3 consistency conditions of TPC-C hold after 48,210 transactions"
        );
        assert_eq!(
            proof.evidence,
            "asked of the server by queries that count and sum all rows, each of the 2 times that the tables were restored and at \
             the end; what they cannot see holds too: clauses 2.4.2.2; not asked: 3.3.2.4 (oorder.o_ol_cnt holds cells); the \
             tables hold the same as 1 other set of the same transactions"
        );
    }
}
