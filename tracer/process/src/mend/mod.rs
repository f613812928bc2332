//! What a machine or a process may lack for tracing, and the command that mends it on its distribution.

mod distribution;
mod kernel;
mod rights;

pub use distribution::{Distribution, Family, Traces};

/// The capabilities that tracing needs, as setcap(8) takes them.
pub const FILE_CAPABILITIES: &str = "cap_bpf,cap_perfmon,cap_net_admin=ep";

/// Something that is lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// Capabilities of this process. The kernel may well be able to do it.
    Capability,
    /// The right to real-time priority.
    RealTime,
    /// The kernel's type information.
    Btf,
    /// A newer kernel.
    NewerKernel,
    /// Tracing of functions.
    FunctionTracing,
    /// Probes in programs.
    Uprobes,
    /// The compiler for BPF programs, which is switched off.
    Jit,
    /// A mounted hierarchy of cgroups of version 2.
    CgroupV2,
}

/// Of what kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LackKind {
    /// A right of this process.
    Right,
    /// A feature of the kernel.
    Kernel,
    /// A setting of the machine.
    Setting,
}

/// Who asks: on it depends which command helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// It is root, and lacks capabilities nevertheless (a container).
    pub is_root: bool,
    /// setcap(8) is installed.
    pub has_setcap: bool,
    /// The path of wirelap's own program.
    pub program: String,
}

impl Asker {
    /// This process.
    pub fn here() -> Asker {
        let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        let has = |folder: &&str| std::path::Path::new(folder).join("setcap").exists();
        let program = std::env::current_exe().unwrap_or_else(|_| "wirelap".into());
        Asker {
            is_root: rustix::process::geteuid().is_root(),
            has_setcap: folders.iter().any(|folder| has(&folder)),
            program: program.display().to_string(),
        }
    }
}

impl Lack {
    /// Everything that may be lacking.
    pub const ALL: [Lack; 8] = [
        Lack::Capability,
        Lack::RealTime,
        Lack::Btf,
        Lack::NewerKernel,
        Lack::FunctionTracing,
        Lack::Uprobes,
        Lack::Jit,
        Lack::CgroupV2,
    ];

    /// Of what kind it is.
    pub fn kind(self) -> LackKind {
        match self {
            Lack::Capability | Lack::RealTime => LackKind::Right,
            Lack::Btf | Lack::NewerKernel | Lack::FunctionTracing | Lack::Uprobes => {
                LackKind::Kernel
            }
            Lack::Jit | Lack::CgroupV2 => LackKind::Setting,
        }
    }

    /// What is lacking, in words.
    pub fn name(self) -> &'static str {
        match self {
            Lack::Capability => "capabilities",
            Lack::RealTime => "real-time priority",
            Lack::Btf => "BTF type information",
            Lack::NewerKernel => "a newer kernel",
            Lack::FunctionTracing => "tracing of functions",
            Lack::Uprobes => "uprobes",
            Lack::Jit => "the BPF compiler",
            Lack::CgroupV2 => "cgroup v2",
        }
    }

    /// The one command that mends it on a distribution. Of Yocto, it is run where the image is built.
    pub fn command(self, distribution: &Distribution, asker: &Asker) -> String {
        match self {
            Lack::Capability => rights::attach(asker),
            Lack::RealTime => rights::real_time(distribution, asker),
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
pub fn set_capabilities(distribution: &Distribution, asker: &Asker) -> String {
    rights::set(FILE_CAPABILITIES, distribution, asker)
}

#[cfg(test)]
mod tests;
