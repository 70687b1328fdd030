//! CPU time, context switches, steal and host facts from the kernel.
