//! Files that wirelap writes: their modes and owners, and what it does not write over.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A capture of others, and a recording of wirelap's.
const CAPTURE: &str = "tests/hosts/client.pcap.gz";

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Folder(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs wirelap with a umask.
    fn wirelap(&self, umask: &str, words: &str) -> Output {
        self.wirelap_of("", umask, words)
    }

    /// The same as if a user had called sudo.
    fn wirelap_of(&self, user: &str, umask: &str, words: &str) -> Output {
        let script = format!("umask {umask}; exec \"$0\" {words}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_wirelap")]);
        command.env("HERE", self.0.path()).env("IN", Path::new(CAPTURE));
        if !user.is_empty() {
            command.env("SUDO_UID", user).env("SUDO_GID", user);
        }
        command.output().unwrap()
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn text(output: &Output) -> String {
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr))
}

/// The commands that write a file without root, to `$HERE/out`.
const WRITERS: [&str; 3] = [
    "analyze $IN --json $HERE/out",
    "analyze $IN --annotate $HERE/out",
    "export --perfetto $IN -o $HERE/out",
];

#[test]
fn files_are_their_owners_alone_whatever_the_umask() {
    for umask in ["0", "022", "077", "0777"] {
        for words in WRITERS {
            let folder = Folder::new();
            let output = folder.wirelap(umask, words);
            assert!(output.status.success(), "{words}: {}", text(&output));
            assert_eq!(mode(&folder.at("out")), 0o600, "{words}, umask {umask}");
            assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1, "{words}");
        }
    }
}

#[test]
fn a_file_that_is_there_is_replaced_only_when_told_and_its_mode_is_not_widened() {
    for words in WRITERS {
        let folder = Folder::new();
        let out = folder.at("out");
        fs::write(&out, "mine").unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o444)).unwrap();
        let output = folder.wirelap("0", words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output));
        let told = text(&output);
        assert!(told.contains("it is there already") && told.contains("--force"), "{told}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
        // Whoever has the old one open keeps it.
        let old = fs::File::open(&out).unwrap();
        let output = folder.wirelap("0", &format!("{words} --force"));
        assert!(output.status.success(), "{words}: {}", text(&output));
        assert_eq!(mode(&out), 0o400, "{words}");
        assert_eq!(std::io::read_to_string(old).unwrap(), "mine");
        assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1, "{words}");
    }
}

#[test]
fn devices_pipes_and_stdout_are_written_as_they_are() {
    let folder = Folder::new();
    for to in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"] {
        let output = folder.wirelap("022", &format!("export --perfetto $IN -o {to}"));
        assert!(output.status.success(), "{to}: {}", text(&output));
        let is_there = String::from_utf8_lossy(&output.stdout).contains("\"traceEvents\"");
        assert_eq!(is_there, to != "/dev/null", "{to}");
        let output = folder.wirelap("022", &format!("analyze $IN --json {to}"));
        assert!(output.status.success(), "{to}: {}", text(&output));
    }
    // To a file that the shell has opened.
    let output = folder.wirelap("022", "analyze $IN --json /dev/stdout > $HERE/shell");
    assert!(output.status.success(), "{}", text(&output));
    assert!(fs::read_to_string(folder.at("shell")).unwrap().contains("wirelap/run/1"));
    let output = folder.wirelap("022", "analyze $IN --json /dev/full");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("/dev/full: No space left"), "{}", text(&output));
    for what in ["folder", "there/is/none"] {
        fs::create_dir_all(folder.at("folder")).unwrap();
        let output = folder.wirelap("022", &format!("analyze $IN --json $HERE/{what}"));
        assert_eq!(output.status.code(), Some(2), "{what}: {}", text(&output));
    }
}

#[test]
fn a_link_to_a_file_is_never_written_through() {
    for words in WRITERS {
        let folder = Folder::new();
        let victim = folder.at("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, folder.at("out")).unwrap();
        let output = folder.wirelap("022", words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output));
        let output = folder.wirelap("022", &format!("{words} --force"));
        assert!(output.status.success(), "{words}: {}", text(&output));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(fs::symlink_metadata(folder.at("out")).unwrap().is_file());
        // One that leads nowhere is a name that is taken, too.
        fs::remove_file(folder.at("out")).unwrap();
        symlink(folder.at("nothing"), folder.at("out")).unwrap();
        let output = folder.wirelap("022", words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output));
        assert!(!folder.at("nothing").exists());
    }
}

/// Whoever reads what others have written can read files, and nothing else.
#[test]
fn rights_are_given_up_before_a_capture_is_read() {
    /// `CAP_DAC_READ_SEARCH` (include/uapi/linux/capability.h).
    const READ: u64 = 1 << 2;
    for words in
        [&["analyze", "-"][..], &["export", "--perfetto", "-", "-o", "-"], &["explain", "-"]]
    {
        let mut reads = Command::new(env!("CARGO_BIN_EXE_wirelap"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let path = format!("/proc/{}/status", reads.id());
        loop {
            let status = fs::read_to_string(&path).unwrap();
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or("none").trim().to_owned()
            };
            let sets = ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"]
                .map(|name| u64::from_str_radix(&field(name), 16).unwrap_or(u64::MAX));
            let bounding = u64::from_str_radix(&field("CapBnd:"), 16);
            if sets.iter().all(|set| set & !READ == 0)
                && field("NoNewPrivs:") == "1"
                && (!is_root() || bounding == Ok(0))
            {
                break;
            }
            assert!(Instant::now() < deadline, "{words:?}: {status}");
        }
        drop(reads.stdin.take());
        reads.wait().unwrap();
    }
}

#[test]
fn a_link_or_pipe_of_another_user_is_not_followed_as_root() {
    if !is_root() {
        return;
    }
    for words in WRITERS {
        let folder = Folder::new();
        let own =
            |name: &str| std::os::unix::fs::lchown(folder.at(name), Some(4321), None).unwrap();
        fs::create_dir(folder.at("precious")).unwrap();
        symlink(folder.at("precious"), folder.at("way")).unwrap();
        symlink("/dev/null", folder.at("null")).unwrap();
        assert!(Command::new("mkfifo").arg(folder.at("pipe")).status().unwrap().success());
        ["way", "null", "pipe"].into_iter().for_each(own);
        for to in ["way/x", "null", "pipe"] {
            let words = words.replace("$HERE/out", &format!("$HERE/{to} --force"));
            let output = folder.wirelap("022", &words);
            assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output));
            assert!(text(&output).contains("another user"), "{words}: {}", text(&output));
        }
        assert_eq!(fs::read_dir(folder.at("precious")).unwrap().count(), 0);
        // Whoever called sudo may use their own.
        let words = words.replace("$HERE/out", "$HERE/way/x");
        let output = folder.wirelap_of("4321", "022", &words);
        assert!(output.status.success(), "{words}: {}", text(&output));
        let meta = fs::metadata(folder.at("precious/x")).unwrap();
        assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o777), (4321, 4321, 0o600));
    }
}

/// The user who called sudo, and somebody else.
const CALLER: u32 = 4321;
const OTHER: u32 = 4322;

/// With `--force`, as root for whoever called sudo.
#[test]
fn a_replaced_file_keeps_its_owner_unless_anybody_could_have_left_it_there() {
    if !is_root() {
        return;
    }
    let chown = |path: &Path, user| std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
    // Who owns the file, who owns its folder, the folder's mode, and who owns the file then.
    let cases = [
        (0, 0, 0o755, 0),
        (0, 0, 0o1777, 0),
        (OTHER, OTHER, 0o755, OTHER),
        (OTHER, OTHER, 0o775, CALLER),
        (OTHER, 0, 0o1777, CALLER),
        (OTHER, CALLER, 0o755, CALLER),
        (CALLER, CALLER, 0o755, CALLER),
    ];
    for words in WRITERS {
        for (file, owner, folder_mode, then) in cases {
            let folder = Folder::new();
            let out = folder.at("out");
            fs::write(&out, "before").unwrap();
            chown(&out, file);
            chown(folder.0.path(), owner);
            fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(folder_mode)).unwrap();
            let output = folder.wirelap_of(&CALLER.to_string(), "0", &format!("{words} --force"));
            let case = format!("{words}: {file} in {owner} {folder_mode:o}: {}", text(&output));
            assert!(output.status.success(), "{case}");
            let about = fs::symlink_metadata(&out).unwrap();
            assert_eq!((about.uid(), about.gid(), mode(&out)), (then, then, 0o600), "{case}");
            assert_ne!(fs::read(&out).unwrap(), b"before", "{case}");
        }
    }
}

#[test]
fn a_new_file_belongs_to_whoever_called_sudo_and_a_link_gives_it_to_nobody_else() {
    if !is_root() {
        return;
    }
    for words in WRITERS {
        let folder = Folder::new();
        let output = folder.wirelap_of("4321", "0", words);
        assert!(output.status.success(), "{words}: {}", text(&output));
        let about = fs::symlink_metadata(folder.at("out")).unwrap();
        assert_eq!((about.uid(), about.gid(), mode(&folder.at("out"))), (4321, 4321, 0o600));
        // The name leads to a file of root's: neither its contents nor its owner change.
        let precious = folder.at("precious");
        fs::write(&precious, "precious").unwrap();
        fs::set_permissions(&precious, fs::Permissions::from_mode(0o640)).unwrap();
        fs::remove_file(folder.at("out")).unwrap();
        symlink(&precious, folder.at("out")).unwrap();
        let output = folder.wirelap_of("4321", "0", &format!("{words} --force"));
        assert!(output.status.success(), "{words}: {}", text(&output));
        let (there, new) = (fs::metadata(&precious).unwrap(), folder.at("out"));
        assert_eq!((there.uid(), mode(&precious)), (0, 0o640));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::symlink_metadata(&new).unwrap().uid(), 4321);
    }
}
