//! The distribution that this is, by `/etc/os-release` (os-release(5)).

use std::fs;
use std::path::Path;
use strum::VariantArray;

/// The distributions whose commands are known. Those derived from one count as it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum DistributionFamily {
    /// Debian.
    Debian,
    /// Ubuntu.
    Ubuntu,
    /// Fedora, and those of Red Hat.
    Fedora,
    /// Arch Linux.
    Arch,
    /// Raspberry Pi OS, whose kernel is not Debian's.
    RaspberryPiOs,
    /// An image that was built with Yocto. What is missing is added where the image is built.
    Yocto,
    /// Any other.
    Other,
}

/// The distribution of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxDistribution {
    /// The family whose commands it has.
    pub family: DistributionFamily,
    /// The name that it gives itself; empty if it gives none.
    pub name: String,
    /// The code name of its release (`bookworm`), of Ubuntu's for those derived from it; empty if there is none.
    pub release: String,
}

/// Files beside os-release that tell two distributions which do not say who they are: 64-bit Raspberry Pi OS calls itself
/// Debian, and a build with Yocto has the name of whoever made it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traces {
    /// `/etc/rpi-issue`, of Raspberry Pi OS.
    pub rpi_issue: bool,
    /// `/etc/buildinfo`, of Yocto's class `image-buildinfo`.
    pub buildinfo: bool,
}

impl LinuxDistribution {
    /// That of this machine.
    pub fn here() -> LinuxDistribution {
        let files = ["/etc/os-release", "/usr/lib/os-release"];
        let text = files.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let is_there = |path: &str| Path::new(path).exists();
        let traces =
            Traces { rpi_issue: is_there("/etc/rpi-issue"), buildinfo: is_there("/etc/buildinfo") };
        LinuxDistribution::of(&text, traces)
    }

    /// The one that a text of os-release(5) names.
    pub fn of(os_release: &str, traces: Traces) -> LinuxDistribution {
        let field = |name: &str| value(os_release, name).unwrap_or_default();
        let own = field("ID");
        let like = field("ID_LIKE");
        let named = [own.as_str()].into_iter().chain(like.split_whitespace()).find_map(family);
        let family = match named {
            Some(DistributionFamily::Debian) if traces.rpi_issue => {
                DistributionFamily::RaspberryPiOs
            }
            Some(family) => family,
            None if traces.buildinfo => DistributionFamily::Yocto,
            None => DistributionFamily::Other,
        };
        let release = Some(field("UBUNTU_CODENAME")).filter(|name| !name.is_empty());
        let name = Some(field("PRETTY_NAME")).filter(|name| !name.is_empty());
        LinuxDistribution {
            family,
            name: name.unwrap_or_else(|| field("NAME")),
            release: release.unwrap_or_else(|| field("VERSION_CODENAME")),
        }
    }
}

/// The distribution of an identifier.
fn family(id: &str) -> Option<DistributionFamily> {
    Some(match id {
        "debian" => DistributionFamily::Debian,
        "ubuntu" => DistributionFamily::Ubuntu,
        "fedora" | "rhel" | "centos" => DistributionFamily::Fedora,
        "arch" | "archarm" => DistributionFamily::Arch,
        "raspbian" => DistributionFamily::RaspberryPiOs,
        // The reference distribution, and what a build without a distribution calls itself.
        "poky" | "nodistro" => DistributionFamily::Yocto,
        _ => return None,
    })
}

/// The value of a field, without quotes.
fn value(os_release: &str, name: &str) -> Option<String> {
    let line =
        os_release.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
    let line = line.trim();
    let quoted =
        ['"', '\''].iter().find_map(|&quote| line.strip_prefix(quote)?.strip_suffix(quote));
    Some(quoted.unwrap_or(line).chars().filter(|char| !char.is_control()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As these distributions write them, shortened to what is read.
    const FILES: [(&str, DistributionFamily, &str); 13] = [
        (
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n",
            DistributionFamily::Debian,
            "bookworm",
        ),
        (
            "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\n",
            DistributionFamily::Ubuntu,
            "noble",
        ),
        (
            "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n",
            DistributionFamily::Ubuntu,
            "noble",
        ),
        (
            "NAME=\"Pop!_OS\"\nID=pop\nID_LIKE=\"ubuntu debian\"\nUBUNTU_CODENAME=jammy\n",
            DistributionFamily::Ubuntu,
            "jammy",
        ),
        (
            "NAME=\"Kali GNU/Linux\"\nID=kali\nID_LIKE=debian\nVERSION_CODENAME=kali-rolling\n",
            DistributionFamily::Debian,
            "kali-rolling",
        ),
        (
            "NAME=\"Fedora Linux\"\nVERSION_ID=41\nID=fedora\nVERSION_CODENAME=\"\"\n",
            DistributionFamily::Fedora,
            "",
        ),
        (
            "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
            DistributionFamily::Fedora,
            "",
        ),
        ("NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n", DistributionFamily::Arch, ""),
        ("NAME='EndeavourOS'\nID='endeavouros'\nID_LIKE='arch'\n", DistributionFamily::Arch, ""),
        (
            "NAME=\"Raspbian GNU/Linux\"\nID=raspbian\nID_LIKE=debian\nVERSION_CODENAME=bookworm\n",
            DistributionFamily::RaspberryPiOs,
            "bookworm",
        ),
        (
            "ID=poky\nNAME=\"Poky (Yocto Project Reference Distro)\"\nVERSION_CODENAME=\"scarthgap\"\n",
            DistributionFamily::Yocto,
            "scarthgap",
        ),
        ("NAME=\"Alpine Linux\"\nID=alpine\n", DistributionFamily::Other, ""),
        ("", DistributionFamily::Other, ""),
    ];

    #[test]
    fn each_distribution_is_known_by_its_file() {
        for (text, family, release) in FILES {
            let found = LinuxDistribution::of(text, Traces::default());
            assert_eq!((found.family, found.release.as_str()), (family, release), "{text}");
        }
        let mint = LinuxDistribution::of(FILES[2].0, Traces::default());
        assert_eq!(mint.name, "Linux Mint");
    }

    #[test]
    fn two_are_known_by_files_beside_it() {
        let pi = Traces { rpi_issue: true, ..Traces::default() };
        assert_eq!(LinuxDistribution::of(FILES[0].0, pi).family, DistributionFamily::RaspberryPiOs);
        let built = Traces { buildinfo: true, ..Traces::default() };
        let own = "ID=acme-gateway\nNAME=\"Acme Gateway\"\n";
        assert_eq!(LinuxDistribution::of(own, built).family, DistributionFamily::Yocto);
        assert_eq!(LinuxDistribution::of(own, Traces::default()).family, DistributionFamily::Other);
        assert_eq!(LinuxDistribution::of(FILES[1].0, built).family, DistributionFamily::Ubuntu);
    }

    #[test]
    fn a_name_has_no_control_characters_and_a_prefix_of_a_field_is_another_one() {
        let found = LinuxDistribution::of(
            "ID_LIKE=debian\nNAME=\"a\u{1b}[2Jb\"\nXID=arch\n",
            Traces::default(),
        );
        assert_eq!((found.family, found.name.as_str()), (DistributionFamily::Debian, "a[2Jb"));
    }
}
