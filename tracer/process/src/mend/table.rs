//! The command for each lack: one table, of which the first row that fits holds.
//!
//! | distribution | kernels | source |
//! |---|---|---|
//! | Debian, Ubuntu, Fedora, Arch | all present ones have BTF, function tracing and uprobes | their configurations |
//! | Debian's releases | 11 has 6.1 beside its own 5.10, 12 and 13 have a newer one in their backports, 14 was not released and has none | the archive's `Packages`, 2026-11-28 |
//! | Ubuntu's releases | those with long support have a newer one, the "hardware enablement" kernel | <https://ubuntu.com/kernel/lifecycle> |
//! | Raspberry Pi OS | none has BTF | <https://github.com/raspberrypi/linux/issues/6622> |
//! | Yocto (linux-yocto) | `KERNEL_DEBUG` adds BTF | `meta/recipes-kernel/linux/linux-yocto.inc` |

use super::asker::Asker;
use super::distribution::{DistributionFamily, LinuxDistribution};
use super::lack::Lack;

/// A command, and what it is for. An empty list holds for everything.
struct CommandRow {
    lacks: &'static [Lack],
    askers: &'static [AskerKind],
    families: &'static [DistributionFamily],
    releases: &'static [&'static str],
    command: &'static str,
}

/// A process that some commands are for.
#[derive(Clone, Copy)]
enum AskerKind {
    /// A process of root, which is in a container or a service that has taken rights away.
    Root,
    /// A process on a machine that has setcap(8).
    WithSetcap,
}

/// Makes rows of lines: lacks, then what they are `for`, `on` which distributions, `of` which releases, and the command.
macro_rules! rows {
    ($($($lack:ident)|+ $(for $asker:ident)? $(on $($family:ident)|+)? $(of $($release:literal)|+)? => $command:literal;)+) => {
        &[$(CommandRow {
            lacks: &[$(Lack::$lack),+],
            askers: &[$(AskerKind::$asker)?],
            families: &[$($(DistributionFamily::$family),+)?],
            releases: &[$($($release),+)?],
            command: $command,
        }),+]
    };
}

/// All rows. In a command, words in braces stand for what is known only when it is asked for.
const ROWS: &[CommandRow] = rows! {
    Capability for Root => "docker run --cap-add=BPF --cap-add=PERFMON --cap-add=NET_ADMIN --pid=host --network=host … (podman: the same options)";
    Capability => "sudo {program} live";
    InitialNamespace => "docker run --privileged --userns=host --pid=host --network=host … (podman: as root, the same options)";
    SystemCalls => "docker run --security-opt seccomp=unconfined … (systemd: SystemCallFilter=bpf)";

    RealTime for Root => "docker run --ulimit=rtprio=1 … (podman: the same option; systemd: LimitRTPRIO=1)";
    RealTime for WithSetcap => "{setcap}";
    RealTime on Debian | Ubuntu | RaspberryPiOs => "sudo apt install libcap2-bin && {setcap}";
    RealTime on Fedora => "sudo dnf install libcap && {setcap}";
    RealTime on Arch => "sudo pacman -S libcap && {setcap}";
    RealTime on Yocto => "echo 'IMAGE_INSTALL:append = \" libcap-bin\"' >> conf/local.conf (then, on the device: setcap {capabilities} FILE)";
    RealTime => "{setcap}";

    Btf | FunctionTracing | Uprobes on Debian => "sudo apt install linux-image-{architecture} && sudo reboot";
    Btf | FunctionTracing | Uprobes on Ubuntu => "sudo apt install linux-image-generic && sudo reboot";
    Btf | FunctionTracing | Uprobes on Fedora => "sudo dnf install kernel && sudo reboot";
    Btf | FunctionTracing | Uprobes on Arch => "sudo pacman -S linux && sudo reboot";
    Btf on RaspberryPiOs => "scripts/config --enable DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT --enable DEBUG_INFO_BTF (in a build of github.com/raspberrypi/linux: no kernel of Raspberry Pi OS has BTF)";
    FunctionTracing on RaspberryPiOs => "scripts/config --enable FUNCTION_TRACER --enable DYNAMIC_FTRACE (in a build of github.com/raspberrypi/linux)";
    Uprobes on RaspberryPiOs => "scripts/config --enable UPROBE_EVENTS (in a build of github.com/raspberrypi/linux)";
    Btf on Yocto => "printf 'KERNEL_DEBUG = \"True\"\\nKERNEL_FEATURES:append = \" features/bpf/bpf.scc\"\\n' >> conf/local.conf && bitbake -c cleansstate virtual/kernel && bitbake virtual/kernel";
    FunctionTracing | Uprobes on Yocto => "echo 'KERNEL_FEATURES:append = \" features/ftrace/ftrace.scc\"' >> conf/local.conf && bitbake virtual/kernel";
    Btf => "boot a kernel with CONFIG_DEBUG_INFO_BTF=y";
    FunctionTracing => "boot a kernel with CONFIG_FUNCTION_TRACER=y and CONFIG_DYNAMIC_FTRACE=y";
    Uprobes => "boot a kernel with CONFIG_UPROBE_EVENTS=y";

    NewerKernel on Debian of "bullseye" => "sudo apt update && sudo apt install linux-image-6.1-{architecture} && sudo reboot";
    NewerKernel on Debian of "bookworm" | "trixie" => "echo 'deb http://deb.debian.org/debian {release}-backports main' | sudo tee /etc/apt/sources.list.d/backports.list && sudo apt update && sudo apt install -t {release}-backports linux-image-{architecture} && sudo reboot";
    NewerKernel on Debian => "sudo apt update && sudo apt install linux-image-{architecture} && sudo reboot";
    NewerKernel on Ubuntu of "focal" => "sudo apt install linux-generic-hwe-20.04 && sudo reboot";
    NewerKernel on Ubuntu of "jammy" => "sudo apt install linux-generic-hwe-22.04 && sudo reboot";
    NewerKernel on Ubuntu of "noble" => "sudo apt install linux-generic-hwe-24.04 && sudo reboot";
    NewerKernel on Ubuntu => "sudo apt install linux-image-generic && sudo reboot";
    NewerKernel on Fedora => "sudo dnf upgrade kernel && sudo reboot";
    NewerKernel on Arch => "sudo pacman -Syu linux && sudo reboot";
    NewerKernel on RaspberryPiOs => "sudo apt update && sudo apt full-upgrade && sudo reboot";
    NewerKernel on Yocto => "echo 'PREFERRED_VERSION_linux-yocto = \"6.12%\"' >> conf/local.conf && bitbake virtual/kernel";
    NewerKernel => "boot a kernel with a version from 6.12 on";

    Openness on Debian | Ubuntu => "sudo sed -i 's/ *lockdown=confidentiality//' /etc/default/grub && sudo update-grub && sudo reboot";
    Openness on Fedora => "sudo grubby --update-kernel=ALL --remove-args=lockdown=confidentiality && sudo reboot";
    Openness on Arch => "sudo sed -i 's/ *lockdown=confidentiality//' /etc/default/grub && sudo grub-mkconfig -o /boot/grub/grub.cfg && sudo reboot";
    Openness on RaspberryPiOs => "sudo sed -i 's/ *lockdown=confidentiality//' /boot/firmware/cmdline.txt && sudo reboot";
    Openness on Yocto => "echo 'APPEND:remove = \"lockdown=confidentiality\"' >> conf/local.conf";
    Openness => "boot without lockdown=confidentiality";
    Jit => "echo net.core.bpf_jit_enable=1 | sudo tee /etc/sysctl.d/60-bpf-jit.conf && sudo sysctl --system";
    CgroupV2 => "sudo mkdir -p /run/cgroup2 && sudo mount -t cgroup2 none /run/cgroup2";
};

/// The capabilities that tracing needs, as setcap(8) takes them.
pub const FILE_CAPABILITIES: &str = "cap_bpf,cap_perfmon,cap_net_admin=ep";

impl Lack {
    /// The one command that mends it on a distribution. Of Yocto, it is run where the image is built.
    pub fn command(self, distribution: &LinuxDistribution, asker: &Asker) -> String {
        let capabilities = FILE_CAPABILITIES.replace('=', ",cap_sys_nice=");
        find_command(self, distribution, asker, &capabilities)
    }
}

/// The command that lets a group of users trace without sudo.
pub fn set_capabilities(distribution: &LinuxDistribution, asker: &Asker) -> String {
    let user = Asker { is_root: false, ..asker.clone() };
    find_command(Lack::RealTime, distribution, &user, FILE_CAPABILITIES)
}

/// Looks the command up, and puts in what stands in braces.
fn find_command(
    lack: Lack,
    distribution: &LinuxDistribution,
    asker: &Asker,
    capabilities: &str,
) -> String {
    let is_asker = |kind: &AskerKind| match kind {
        AskerKind::Root => asker.is_root,
        AskerKind::WithSetcap => asker.has_setcap,
    };
    let release = distribution.release.as_str();
    let mut rows = ROWS.iter().filter(|row| row.lacks.contains(&lack));
    let row = rows.find(|row| {
        row.askers.iter().all(is_asker)
            && (row.families.is_empty() || row.families.contains(&distribution.family))
            && (row.releases.is_empty() || row.releases.contains(&release))
    });
    row.map_or("", |row| row.command)
        .replace("{setcap}", "sudo setcap {capabilities} {program}")
        .replace("{capabilities}", capabilities)
        .replace("{architecture}", debian_architecture())
        .replace("{release}", release)
        .replace("{program}", &asker.program)
}

/// The name that Debian has for this architecture.
fn debian_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
