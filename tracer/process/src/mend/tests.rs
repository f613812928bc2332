use super::*;
use strum::VariantArray;

fn of(family: DistributionFamily, release: &str) -> LinuxDistribution {
    LinuxDistribution { family, name: String::new(), release: release.into() }
}

fn user(has_setcap: bool) -> Asker {
    Asker { is_root: false, has_setcap, program: "/usr/bin/wirelap".into() }
}

fn said(lack: Lack, family: DistributionFamily, release: &str) -> String {
    lack.command(&of(family, release), &user(true))
}

/// A part of the command for each lack, by distribution in the order of [`DistributionFamily`].
#[test]
fn each_distribution_has_a_command_for_each_lack() {
    let table: [(Lack, [&str; 7]); 11] = [
        (Lack::Capability, ["sudo /usr/bin/wirelap live"; 7]),
        (Lack::InitialNamespace, ["--userns=host"; 7]),
        (Lack::SystemCalls, ["seccomp=unconfined"; 7]),
        (
            Lack::RealTime,
            ["sudo setcap cap_bpf,cap_perfmon,cap_net_admin,cap_sys_nice=ep /usr/bin/wirelap"; 7],
        ),
        (
            Lack::Btf,
            [
                "sudo apt install linux-image-",
                "sudo apt install linux-image-generic && sudo reboot",
                "sudo dnf install kernel && sudo reboot",
                "sudo pacman -S linux && sudo reboot",
                "scripts/config --enable DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT --enable DEBUG_INFO_BTF",
                "KERNEL_DEBUG = \"True\"",
                "CONFIG_DEBUG_INFO_BTF=y",
            ],
        ),
        (
            Lack::NewerKernel,
            [
                "sudo apt install -t bookworm-backports linux-image-",
                "sudo apt install linux-image-generic",
                "sudo dnf upgrade kernel",
                "sudo pacman -Syu linux",
                "sudo apt full-upgrade",
                "PREFERRED_VERSION_linux-yocto",
                "6.12",
            ],
        ),
        (
            Lack::FunctionTracing,
            [
                "sudo apt install linux-image-",
                "sudo apt install linux-image-generic",
                "sudo dnf install kernel",
                "sudo pacman -S linux",
                "--enable FUNCTION_TRACER",
                "features/ftrace/ftrace.scc",
                "CONFIG_FUNCTION_TRACER=y",
            ],
        ),
        (
            Lack::Uprobes,
            [
                "sudo apt install linux-image-",
                "sudo apt install linux-image-generic",
                "sudo dnf install kernel",
                "sudo pacman -S linux",
                "--enable UPROBE_EVENTS",
                "features/ftrace/ftrace.scc",
                "CONFIG_UPROBE_EVENTS=y",
            ],
        ),
        (
            Lack::Openness,
            [
                "sudo update-grub && sudo reboot",
                "sudo update-grub && sudo reboot",
                "sudo grubby --update-kernel=ALL --remove-args=lockdown=confidentiality",
                "sudo grub-mkconfig -o /boot/grub/grub.cfg",
                "/boot/firmware/cmdline.txt",
                "APPEND:remove",
                "boot without lockdown=confidentiality",
            ],
        ),
        (Lack::Jit, ["net.core.bpf_jit_enable=1"; 7]),
        (Lack::CgroupV2, ["sudo mount -t cgroup2 none"; 7]),
    ];
    assert_eq!(table.each_ref().map(|(lack, _)| *lack), Lack::VARIANTS);
    for (lack, wanted) in table {
        for (&family, wanted) in DistributionFamily::VARIANTS.iter().zip(wanted) {
            let said = said(lack, family, "bookworm");
            assert!(said.contains(wanted), "{lack:?} on {family:?}: {said}");
            assert!(!said.contains(['\n', '{', '}']), "{said}");
        }
    }
}

#[test]
fn a_newer_kernel_is_that_of_the_release() {
    let newer = |family, release| said(Lack::NewerKernel, family, release);
    assert!(newer(DistributionFamily::Ubuntu, "noble").contains("linux-generic-hwe-24.04"));
    assert!(newer(DistributionFamily::Ubuntu, "jammy").contains("linux-generic-hwe-22.04"));
    assert!(newer(DistributionFamily::Ubuntu, "focal").contains("linux-generic-hwe-20.04"));
    assert!(newer(DistributionFamily::Debian, "trixie").contains("trixie-backports"));
    assert!(newer(DistributionFamily::Debian, "bullseye").contains("linux-image-6.1-"));
    // It has backports only once it is released.
    assert!(!newer(DistributionFamily::Debian, "forky").contains("backports"));
    // A release that is not known gets no name that may not exist.
    assert!(!newer(DistributionFamily::Debian, "kali-rolling").contains("backports"));
    assert!(!newer(DistributionFamily::Debian, "").contains("backports"));
}

#[test]
fn what_sets_capabilities_is_installed_where_it_is_missing() {
    let set = |family, has| set_capabilities(&of(family, ""), &user(has));
    for &family in DistributionFamily::VARIANTS {
        assert_eq!(set(family, true), format!("sudo setcap {FILE_CAPABILITIES} /usr/bin/wirelap"));
    }
    assert!(
        set(DistributionFamily::Debian, false)
            .starts_with("sudo apt install libcap2-bin && sudo setcap ")
    );
    assert!(set(DistributionFamily::Fedora, false).starts_with("sudo dnf install libcap && "));
    assert!(set(DistributionFamily::Arch, false).starts_with("sudo pacman -S libcap && "));
    assert!(set(DistributionFamily::Yocto, false).contains("libcap-bin"));
}

#[test]
fn root_without_capabilities_is_in_a_container() {
    let root = Asker { is_root: true, ..user(true) };
    let said = |lack: Lack| lack.command(&of(DistributionFamily::Debian, ""), &root);
    assert!(said(Lack::Capability).contains("--cap-add=PERFMON"));
    assert!(said(Lack::RealTime).contains("LimitRTPRIO=1"));
}
