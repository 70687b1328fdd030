//! How far a count may lie from what is expected.

/// How many standard deviations from what is expected are too many: once in a thousand million checks by chance.
pub(super) const DEVIATIONS: f64 = 6.0;
/// What a count may be off besides, where so little is expected that it is no normal variable.
pub(super) const FEW: f64 = 3.0;
/// A number, if it is as expected or more by at most this many.
pub(super) fn lies(found: f64, expected: u64, more: u64) -> Result<f64, String> {
    let (least, most) = (expected as f64, (expected + more) as f64);
    match (least..=most).contains(&found) {
        true => Ok(found),
        false if more == 0 => Err(format!("{found} in the tables, {expected} counted")),
        false => Err(format!(
            "{found} in the tables, {expected} counted and {more} undecided"
        )),
    }
}

/// The number of draws, if as many of them came out as their share says, each counted so often.
pub(super) fn binomial(found: f64, draws: f64, share: f64, repeats: u32) -> Result<f64, String> {
    let expected = draws * share;
    let bound = match share > 0.0 {
        true => {
            let repeats = f64::from(repeats);
            DEVIATIONS * (repeats * expected * (1.0 - share)).sqrt() + FEW * repeats
        }
        false => 0.0,
    };
    match (found - expected).abs() <= bound {
        true => Ok(draws),
        false => Err(format!("{found} of {draws}, expected {expected:.0} ± {bound:.0}")),
    }
}
