//! From samples to estimates, models and findings.
