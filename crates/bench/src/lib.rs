//! Parts shared by the benchmarks.
