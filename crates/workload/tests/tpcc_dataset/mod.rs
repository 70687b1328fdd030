//! TPC-C's tables on real servers: populated as the specification says, taken up again, repaired and restored.

mod ground;
mod population;
mod resumption;
mod stored;
