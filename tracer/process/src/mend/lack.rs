//! The things that may be lacking, and their kinds.

use strum::VariantArray;

/// Something that is lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Lack {
    /// Capabilities of this process. The kernel may well be able to do it.
    Capability,
    /// Being outside of a user namespace.
    InitialNamespace,
    /// System calls, which a filter forbids.
    SystemCalls,
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
    /// A kernel that is not locked down.
    Openness,
    /// The compiler for BPF programs, which is switched off.
    Jit,
    /// A mounted hierarchy of cgroups of version 2.
    CgroupV2,
}

/// The kind of a lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LackKind {
    /// A right of this process.
    Right,
    /// A feature of the kernel.
    Kernel,
    /// A setting of the machine.
    Setting,
}

impl Lack {
    /// The kind of the lack.
    pub fn kind(self) -> LackKind {
        match self {
            Lack::Capability | Lack::InitialNamespace | Lack::SystemCalls | Lack::RealTime => {
                LackKind::Right
            }
            Lack::Btf | Lack::NewerKernel | Lack::FunctionTracing | Lack::Uprobes => {
                LackKind::Kernel
            }
            Lack::Openness | Lack::Jit | Lack::CgroupV2 => LackKind::Setting,
        }
    }

    /// The lacking thing, in words.
    pub fn name(self) -> &'static str {
        match self {
            Lack::Capability => "capabilities",
            Lack::InitialNamespace => "the machine's user namespace",
            Lack::SystemCalls => "system calls that a seccomp filter forbids",
            Lack::RealTime => "real-time priority",
            Lack::Btf => "BTF type information",
            Lack::NewerKernel => "a newer kernel",
            Lack::FunctionTracing => "tracing of functions",
            Lack::Uprobes => "uprobes",
            Lack::Openness => "a kernel without lockdown=confidentiality",
            Lack::Jit => "the BPF compiler",
            Lack::CgroupV2 => "cgroup v2",
        }
    }
}
