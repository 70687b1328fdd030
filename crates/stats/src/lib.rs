//! Paired log-ratios, intervals, the stopping rule and verdicts.
