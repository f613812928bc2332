//! The formats of files: blocks and options of pcapng (draft-ietf-opsawg-pcapng), and classic pcap
//! (draft-ietf-opsawg-pcap).
//!
//! | file | what |
//! |---|---|
//! | [`block`] | where a block begins and ends, and its types |
//! | `fields` | a block's fields and options, in its byte order |
//! | `writer` | blocks and options, appended |
//! | `custom` | wirelap's own custom blocks and options |
//! | `section` | what a section header of wirelap's says |
//! | `secrets` | blocks of secrets that packets are decrypted with |
//! | `interface` | link type, resolution and place of an interface |
//! | `classic` | headers of classic pcap, and what they are as blocks |

pub mod block;
pub mod classic;
pub mod custom;
pub mod fields;
pub mod interface;
pub mod option;
pub mod secrets;
pub mod section;
pub mod writer;

pub use fields::{BlockFields, BlockOption, ByteOrder};
pub use interface::{CapturePoint, Interface};
pub use section::SectionHeader;
pub use writer::BlockBuffer;
