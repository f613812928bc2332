//! Programs that users build themselves: where they are, what they print, which sockets they opened.

use crate::clock;
use anyhow::{Context, Result, anyhow, bail};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{env, fs, thread};
use wirelap_contract::Availability;
use wirelap_events::Nanos;

/// Lines that are kept of a program; a stray one that talks without end takes no more.
const MOST_LINES: usize = 1 << 20;

/// A folder with programs of one project.
pub struct Folder {
    /// The environment's variable that names it.
    pub variable: &'static str,
    /// The option of `wirelap` that names it.
    pub option: &'static str,
    /// Source of the programs, with the instructions of their project for building them.
    pub project: &'static str,
}

impl Folder {
    /// Tells whether all of `programs` are there, and otherwise what to do.
    pub fn availability(&self, programs: &[&str]) -> Availability {
        let missing = programs.iter().find_map(|program| self.find(program).err());
        match missing {
            None => Availability::Installed { version: None },
            Some(why) => Availability::Missing { remedy: why.to_string() },
        }
    }

    /// The program `name`.
    ///
    /// # Errors
    ///
    /// When it is not there or cannot be started, with what to do about it.
    pub fn find(&self, name: &str) -> Result<PathBuf> {
        let Folder { variable, option, project } = self;
        let folder = env::var_os(variable).filter(|told| !told.is_empty()).with_context(|| {
            format!("build {project} and name the folder with {option} DIR or in {variable}")
        })?;
        reachable(&Path::new(&folder).join(name))
            .map_err(|why| anyhow!("{why}; the folder of {option} is for {project}"))
    }

    /// Lets a program find libraries that lie beside it.
    pub fn libraries(&self, command: &mut std::process::Command) {
        let own = env::var_os(self.variable).map(PathBuf::from);
        let told = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let told = env::split_paths(&told).filter(|folder| !folder.as_os_str().is_empty());
        // Only a name with a colon in it cannot be joined.
        if let Ok(folders) = env::join_paths(own.into_iter().chain(told)) {
            command.env("LD_LIBRARY_PATH", folders);
        }
    }
}

/// A UDP port that nobody has. Another program could still take it.
///
/// # Errors
///
/// When the kernel has none to give.
pub fn free_udp_port() -> Result<u16> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).context("cannot choose a port")?;
    Ok(socket.local_addr().context("cannot choose a port")?.port())
}

/// A file that this user can start.
fn reachable(program: &Path) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let shown = program.display();
    match fs::metadata(program) {
        Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => {
            Ok(program.to_owned())
        }
        Ok(_) => bail!("{shown} is no program"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => bail!(
            "the user that the workloads run as cannot reach {shown}: put it where everybody can, \
             such as under /usr/local"
        ),
        Err(_) => bail!("there is no {shown}"),
    }
}

/// Output of a program, line by line, with the time at which each line came.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<(Nanos, String)>>>);

impl Lines {
    /// Reads in a thread of its own until the program has ended. To hear lines as they are printed, start the
    /// program through [`line_by_line`].
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn of(output: impl Read + Send + 'static) -> Result<Lines> {
        let lines = Lines::default();
        let kept = lines.clone();
        let read = move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let at = clock::now();
                let mut all = kept.all();
                if all.len() < MOST_LINES {
                    all.push((at, line));
                }
            }
        };
        thread::Builder::new().name("lines".into()).spawn(read).context("cannot start a thread")?;
        Ok(lines)
    }

    /// All so far.
    pub fn all(&self) -> MutexGuard<'_, Vec<(Nanos, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are a number.
    pub fn numbers<T: std::str::FromStr>(&self) -> Vec<(Nanos, T)> {
        let all = self.all();
        all.iter().filter_map(|(at, line)| Some((*at, line.trim().parse().ok()?))).collect()
    }
}

/// A command that dies with this process and runs `program` so that it writes out each line when it is
/// complete, and not only when some thousand bytes have come together.
pub fn line_by_line(program: &Path) -> std::process::Command {
    let mut command = crate::guard::command("stdbuf");
    command.arg("-oL").arg(program);
    command
}

/// True if a socket of this network namespace waits at `port`: one that listens, for `"tcp"`, and any, for `"udp"`. Looks without
/// connecting, which some programs take for a peer.
pub fn is_bound(protocol: &str, port: u16) -> bool {
    let listening = (protocol == "tcp").then_some("0A");
    any_socket(protocol, |line| waits_at(line, port, listening))
}

/// True if a socket of this network namespace is connected to `port`.
pub fn talks_to(protocol: &str, port: u16) -> bool {
    any_socket(protocol, |line| port_in(line.split_whitespace().nth(2)) == Some(port))
}

fn any_socket(protocol: &str, is_it: impl Fn(&str) -> bool) -> bool {
    [format!("/proc/net/{protocol}"), format!("/proc/net/{protocol}6")]
        .iter()
        .any(|table| fs::read_to_string(table).unwrap_or_default().lines().skip(1).any(&is_it))
}

/// proc(5): `sl local_address rem_address st …`, addresses as hexadecimal `ADDRESS:PORT`.
fn waits_at(line: &str, port: u16, state: Option<&str>) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    let is_port = port_in(fields.next()) == Some(port);
    is_port && state.is_none_or(|state| fields.nth(1) == Some(state))
}

fn port_in(address: Option<&str>) -> Option<u16> {
    u16::from_str_radix(address?.rsplit_once(':')?.1, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    #[test]
    fn sockets_that_wait_are_seen() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("[::1]:0").unwrap();
        let client = UdpSocket::bind("[::1]:0").unwrap();
        client.connect(udp.local_addr().unwrap()).unwrap();
        let port = |address: std::net::SocketAddr| address.port();
        assert!(talks_to("udp", port(udp.local_addr().unwrap())));
        assert!(!talks_to("udp", port(client.local_addr().unwrap())));
        assert!(is_bound("tcp", port(tcp.local_addr().unwrap())));
        assert!(is_bound("udp", port(udp.local_addr().unwrap())));
        let line = "0: 0100007F:1F90 00000000:0000 06 00000000:00000000 00:00000000";
        assert!(waits_at(line, 8080, None) && !waits_at(line, 8080, Some("0A")));
        assert!(!waits_at(line, 8081, None) && !waits_at("", 0, None));
    }

    #[test]
    fn a_program_must_be_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        assert!(reachable(&file).unwrap_err().to_string().contains("there is no "));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(reachable(&file).unwrap_err().to_string().contains("is no program"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(reachable(&file).unwrap(), file);
    }

    #[test]
    fn a_folder_that_nobody_named_is_asked_for() {
        let folder = Folder {
            variable: "WIRELAP_NOBODY_SETS_THIS",
            option: "--x-bin",
            project: "the examples of x",
        };
        let Availability::Missing { remedy } = folder.availability(&["x"]) else {
            panic!("it is there")
        };
        for words in ["build the examples of x", "--x-bin DIR", "WIRELAP_NOBODY_SETS_THIS"] {
            assert!(remedy.contains(words), "{remedy}");
        }
    }

    #[test]
    fn numbers_are_taken_and_the_rest_is_not() {
        let lines = Lines::of(&b"hello\n12.5\n 7\n"[..]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while lines.all().len() < 3 && Instant::now() < deadline {
            thread::yield_now();
        }
        let numbers: Vec<f64> = lines.numbers().into_iter().map(|(_, number)| number).collect();
        assert_eq!(numbers, [12.5, 7.0]);
    }
}
