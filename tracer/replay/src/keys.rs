//! Keys that TLS connections are read with.

use crate::follower::Follower;
use crate::open::{shown, unread};
use crate::replay::Replay;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use wirelap_events::human::counted_as;
use wirelap_process::Failure;

/// The most bytes of a file with keys.
const MAX_BYTES: u64 = 256 << 20;

const NO_KEYS: &str = "has no keys of TLS connections: it has to be a file as programs write it that $SSLKEYLOGFILE names \
                       (lines such as CLIENT_RANDOM …)";

impl<F: Follower> Replay<F> {
    /// Reads TLS connections with the keys in these files, beside those in captures. Call it before anything is read.
    ///
    /// # Errors
    /// A file cannot be read, or has no keys.
    pub fn tls_keys(&mut self, paths: &[PathBuf]) -> Result<(), Failure> {
        for path in paths {
            let text = read(path)
                .map_err(|error| unread(path, &format!("cannot be read: {error}")))?
                .ok_or_else(|| unread(path, &"is too large for a file with keys (256 MiB)"))?;
            if self.add_tls_keys(&text, &shown(path)) == 0 {
                return Err(unread(path, &NO_KEYS));
            }
        }
        Ok(())
    }

    /// Adds the text of a key log that the notes name so. Returns how many secrets it has.
    pub(crate) fn add_tls_keys(&mut self, text: &[u8], shown: &str) -> u64 {
        let added = self.tls_keys.add(text);
        if added.unreadable > 0 {
            let lines = counted_as(added.unreadable, "line is", "lines are");
            self.notes.push(format!("{shown}: {lines} no line of a key log."));
        }
        if added.left_out > 0 {
            self.notes.push(format!(
                "{shown}: {} too many to be kept.",
                counted_as(added.left_out, "key is", "keys are")
            ));
        }
        added.secrets
    }
}

/// The bytes of a file; `None` if they are too many.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut text)?;
    Ok((text.len() as u64 <= MAX_BYTES).then_some(text))
}
