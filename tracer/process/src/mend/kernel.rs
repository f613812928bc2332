//! The commands that bring a kernel with what is lacking.
//!
//! | distribution | kernels | source |
//! |---|---|---|
//! | Debian, Ubuntu, Fedora, Arch | all present ones have BTF, function tracing and uprobes | their configurations |
//! | Debian's releases | 11 has 6.1 beside its own 5.10, 12 and 13 have a newer one in their backports, 14 was not released and has none | the archive's `Packages`, 2026-11-28 |
//! | Raspberry Pi OS | none has BTF | <https://github.com/raspberrypi/linux/issues/6622> |
//! | Yocto (linux-yocto) | `KERNEL_DEBUG` adds BTF | `meta/recipes-kernel/linux/linux-yocto.inc` |

use super::distribution::{DistributionFamily, LinuxDistribution};
use super::lack::Lack;

/// The command for a lack of the kernel.
pub fn command(lack: Lack, distribution: &LinuxDistribution) -> String {
    let newer = lack == Lack::NewerKernel;
    let install = match distribution.family {
        DistributionFamily::Debian => debian(newer, &distribution.release),
        DistributionFamily::Ubuntu => ubuntu(newer, &distribution.release),
        DistributionFamily::Fedora if newer => "sudo dnf upgrade kernel".into(),
        DistributionFamily::Fedora => "sudo dnf install kernel".into(),
        DistributionFamily::Arch if newer => "sudo pacman -Syu linux".into(),
        DistributionFamily::Arch => "sudo pacman -S linux".into(),
        DistributionFamily::RaspberryPiOs if newer => {
            "sudo apt update && sudo apt full-upgrade".into()
        }
        DistributionFamily::RaspberryPiOs => return raspberry(lack).into(),
        DistributionFamily::Yocto => return yocto(lack).into(),
        DistributionFamily::Other => return format!("boot a kernel with {}", wanted(lack)),
    };
    format!("{install} && sudo reboot")
}

/// Takes the parameter away that the kernel is started with.
pub fn without_lockdown(distribution: &LinuxDistribution) -> String {
    const PARAMETER: &str = "lockdown=confidentiality";
    let in_file = |file: &str| format!("sudo sed -i 's/ *{PARAMETER}//' {file}");
    let grub = in_file("/etc/default/grub");
    let change = match distribution.family {
        DistributionFamily::Debian | DistributionFamily::Ubuntu => {
            format!("{grub} && sudo update-grub")
        }
        DistributionFamily::Fedora => {
            format!("sudo grubby --update-kernel=ALL --remove-args={PARAMETER}")
        }
        DistributionFamily::Arch => format!("{grub} && sudo grub-mkconfig -o /boot/grub/grub.cfg"),
        DistributionFamily::RaspberryPiOs => in_file("/boot/firmware/cmdline.txt"),
        DistributionFamily::Yocto => {
            return format!("echo 'APPEND:remove = \"{PARAMETER}\"' >> conf/local.conf");
        }
        DistributionFamily::Other => return format!("boot without {PARAMETER}"),
    };
    format!("{change} && sudo reboot")
}

/// The name that Debian has for this architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A newer kernel than a release began with is beside it under another name, or in its backports.
fn debian(newer: bool, release: &str) -> String {
    let architecture = architecture();
    let kernel = format!("linux-image-{architecture}");
    match release {
        _ if !newer => return format!("sudo apt install {kernel}"),
        "bullseye" => {
            return format!("sudo apt update && sudo apt install linux-image-6.1-{architecture}");
        }
        "bookworm" | "trixie" => {}
        _ => return format!("sudo apt update && sudo apt install {kernel}"),
    }
    format!(
        "echo 'deb http://deb.debian.org/debian {release}-backports main' | sudo tee /etc/apt/sources.list.d/backports.list && \
         sudo apt update && sudo apt install -t {release}-backports {kernel}"
    )
}

/// A newer kernel than a release with long support has is its "hardware enablement" kernel.
fn ubuntu(newer: bool, release: &str) -> String {
    let version = match release {
        "focal" => "20.04",
        "jammy" => "22.04",
        "noble" => "24.04",
        _ => "",
    };
    if newer && !version.is_empty() {
        format!("sudo apt install linux-generic-hwe-{version}")
    } else {
        "sudo apt install linux-image-generic".into()
    }
}

/// The settings to make where the kernel of a Raspberry Pi is built from its source.
fn raspberry(lack: Lack) -> &'static str {
    match lack {
        Lack::Btf => {
            "scripts/config --enable DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT --enable DEBUG_INFO_BTF \
             (in a build of github.com/raspberrypi/linux: no kernel of Raspberry Pi OS has BTF)"
        }
        Lack::Uprobes => {
            "scripts/config --enable UPROBE_EVENTS (in a build of github.com/raspberrypi/linux)"
        }
        _ => {
            "scripts/config --enable FUNCTION_TRACER --enable DYNAMIC_FTRACE (in a build of github.com/raspberrypi/linux)"
        }
    }
}

/// The settings to make where the image is built.
fn yocto(lack: Lack) -> &'static str {
    match lack {
        Lack::Btf => {
            "printf 'KERNEL_DEBUG = \"True\"\\nKERNEL_FEATURES:append = \" features/bpf/bpf.scc\"\\n' >> conf/local.conf && \
             bitbake -c cleansstate virtual/kernel && bitbake virtual/kernel"
        }
        Lack::NewerKernel => {
            "echo 'PREFERRED_VERSION_linux-yocto = \"6.12%\"' >> conf/local.conf && bitbake virtual/kernel"
        }
        _ => {
            "echo 'KERNEL_FEATURES:append = \" features/ftrace/ftrace.scc\"' >> conf/local.conf && bitbake virtual/kernel"
        }
    }
}

/// The features that a kernel must have, for distributions whose commands are not known.
fn wanted(lack: Lack) -> &'static str {
    match lack {
        Lack::Btf => "CONFIG_DEBUG_INFO_BTF=y",
        Lack::FunctionTracing => "CONFIG_FUNCTION_TRACER=y and CONFIG_DYNAMIC_FTRACE=y",
        Lack::Uprobes => "CONFIG_UPROBE_EVENTS=y",
        _ => "a version from 6.12 on",
    }
}
