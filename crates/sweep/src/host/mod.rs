//! What this machine gives the client and takes from it: control groups, local ports, counters, sampled each second.
//! What the system does not tell is absent.

mod cgroup;
mod counters;
mod ports;
mod sampler;

pub use cgroup::CpuGroup;
pub use ports::Ports;
pub use sampler::Sampler;
