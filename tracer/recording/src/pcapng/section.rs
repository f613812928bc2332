//! Section Header Blocks (draft-ietf-opsawg-pcapng §4.1).

use super::block::{self, BYTE_ORDER_MAGIC};
use super::{BlockBuffer, BlockFields, custom, option};
use crate::wire::{put_signed, put_unsigned};

/// The program that writes sections where a file has none.
const APPLICATION: &str = concat!("wirelap ", env!("CARGO_PKG_VERSION"));

/// Words before the host's name in a section's comment.
const RECORDED_ON: &str = "recorded on ";

/// Header of a section: the machine, the program that writes, and the clock.
#[derive(Clone, Debug, Default)]
pub struct SectionHeader {
    /// The machine, e.g. its processor.
    pub hardware: String,
    /// The operating system.
    pub os: String,
    /// The program that writes, with its version.
    pub application: String,
    /// The host's name.
    pub host: String,
    /// From the monotonic clock to the wall clock, in nanoseconds, when recording began.
    pub wall: i64,
    /// Number of the run of the kernel that the monotonic clock is of, which a reboot changes; 0 if it is not known.
    pub kernel_run: u64,
}

impl SectionHeader {
    /// Reads a section header; `None` if it is not one of wirelap's own.
    pub(crate) fn read(mut fields: BlockFields<'_>) -> Option<SectionHeader> {
        let order = fields.order();
        // Byte order, version, length.
        let _ = fields.skip(16);
        let (mut section, mut wall) = (SectionHeader::default(), None);
        for found in fields.options() {
            let text = || String::from_utf8_lossy(found.value).into_owned();
            match found.number {
                option::HARDWARE => section.hardware = text(),
                option::OS => section.os = text(),
                option::APPLICATION => section.application = text(),
                option::COMMENT => {
                    let comment = text();
                    let host = comment.strip_prefix(RECORDED_ON).unwrap_or_default();
                    host.clone_into(&mut section.host);
                }
                option::CUSTOM => {
                    let Some(mut own) = custom::own_value(found.value, order) else { continue };
                    if wall.is_none() {
                        (wall, section.kernel_run) = (own.signed(), own.unsigned().unwrap_or(0));
                    }
                }
                _ => {}
            }
        }
        Some(SectionHeader { wall: wall?, ..section })
    }

    /// Appends the section header of a recording.
    pub(crate) fn put(&self, blocks: &mut BlockBuffer) {
        begin(blocks);
        let host = format!("{RECORDED_ON}{}", self.host);
        for (number, text) in [
            (option::HARDWARE, &self.hardware),
            (option::OS, &self.os),
            (option::APPLICATION, &self.application),
            (option::COMMENT, &host),
        ] {
            blocks.option(number, text.as_bytes());
        }
        let mut clock = Vec::new();
        custom::put_prefix(&mut clock);
        put_signed(&mut clock, self.wall);
        put_unsigned(&mut clock, self.kernel_run);
        blocks.option(option::CUSTOM, &clock);
        blocks.end_of_options();
        blocks.end();
    }
}

/// Appends a section header that says nothing but which program wrote it, for packets that came without one.
pub fn put_plain(blocks: &mut BlockBuffer) {
    begin(blocks);
    blocks.option(option::APPLICATION, APPLICATION.as_bytes());
    blocks.end_of_options();
    blocks.end();
}

/// The fixed fields, of a section of unknown length: it ends where the file does.
fn begin(blocks: &mut BlockBuffer) {
    blocks.begin(block::SECTION);
    blocks.u32(BYTE_ORDER_MAGIC);
    blocks.u16(1);
    blocks.u16(0);
    blocks.u32(u32::MAX);
    blocks.u32(u32::MAX);
}
