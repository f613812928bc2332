//! The commands that give a process what it lacks.

use super::asker::Asker;
use super::distribution::{DistributionFamily, LinuxDistribution};

/// The capabilities that tracing needs, as setcap(8) takes them.
pub const FILE_CAPABILITIES: &str = "cap_bpf,cap_perfmon,cap_net_admin=ep";

/// The command that lets this process attach. Whoever is root already is in a container or a service that has taken capabilities away.
pub fn attach(asker: &Asker) -> String {
    if asker.is_root {
        "docker run --cap-add=BPF --cap-add=PERFMON --cap-add=NET_ADMIN --pid=host --network=host … (podman: the same options)".into()
    } else {
        format!("sudo {} live", asker.program)
    }
}

/// The command that lets this process raise a thread's priority.
pub fn real_time(distribution: &LinuxDistribution, asker: &Asker) -> String {
    if asker.is_root {
        return "docker run --ulimit=rtprio=1 … (podman: the same option; systemd: LimitRTPRIO=1)"
            .into();
    }
    let capabilities = FILE_CAPABILITIES.replace('=', ",cap_sys_nice=");
    set(&capabilities, distribution, asker)
}

/// Gives the program capabilities, and installs what does that where it is missing.
pub fn set(capabilities: &str, distribution: &LinuxDistribution, asker: &Asker) -> String {
    let setcap = format!("sudo setcap {capabilities} {}", asker.program);
    let install = match distribution.family {
        _ if asker.has_setcap => return setcap,
        DistributionFamily::Debian
        | DistributionFamily::Ubuntu
        | DistributionFamily::RaspberryPiOs => "sudo apt install libcap2-bin",
        DistributionFamily::Fedora => "sudo dnf install libcap",
        DistributionFamily::Arch => "sudo pacman -S libcap",
        DistributionFamily::Yocto => return yocto_capabilities(capabilities),
        DistributionFamily::Other => return setcap,
    };
    format!("{install} && {setcap}")
}

/// The setting where the image is built: the recipe that installs the program sets the capabilities.
fn yocto_capabilities(capabilities: &str) -> String {
    format!(
        "echo 'IMAGE_INSTALL:append = \" libcap-bin\"' >> conf/local.conf (then, on the device: setcap {capabilities} FILE)"
    )
}
