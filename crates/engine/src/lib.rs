//! Load in slices: per-core workers, recorders and the saturation guard.
