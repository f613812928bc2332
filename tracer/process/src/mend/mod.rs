//! The lacks of a machine or a process for tracing, and the command that mends each on its distribution.

mod asker;
mod distribution;
mod kernel;
mod lack;
mod rights;

pub use asker::Asker;
pub use distribution::{DistributionFamily, LinuxDistribution, Traces};
pub use lack::{Lack, LackKind};
pub use rights::FILE_CAPABILITIES;

impl Lack {
    /// The one command that mends it on a distribution. Of Yocto, it is run where the image is built.
    pub fn command(self, distribution: &LinuxDistribution, asker: &Asker) -> String {
        match self {
            Lack::Capability => rights::attach(asker),
            Lack::InitialNamespace => {
                "docker run --privileged --userns=host --pid=host --network=host … (podman: as root, the same options)".into()
            }
            Lack::SystemCalls => {
                "docker run --security-opt seccomp=unconfined … (systemd: SystemCallFilter=bpf)".into()
            }
            Lack::RealTime => rights::real_time(distribution, asker),
            Lack::Openness => kernel::without_lockdown(distribution),
            Lack::Btf | Lack::NewerKernel | Lack::FunctionTracing | Lack::Uprobes => {
                kernel::command(self, distribution)
            }
            Lack::Jit => {
                "echo net.core.bpf_jit_enable=1 | sudo tee /etc/sysctl.d/60-bpf-jit.conf && sudo sysctl --system".into()
            }
            Lack::CgroupV2 => {
                "sudo mkdir -p /run/cgroup2 && sudo mount -t cgroup2 none /run/cgroup2".into()
            }
        }
    }
}

/// The command that lets a group of users trace without sudo.
pub fn set_capabilities(distribution: &LinuxDistribution, asker: &Asker) -> String {
    rights::set(FILE_CAPABILITIES, distribution, asker)
}

#[cfg(test)]
mod tests;
