//! The topic of each writer, from discovery (SEDP).
//!
//! Discovery and user data use different ports, and a decoder handles one conversation. A writer's GUID is globally unique
//! and the same on all ports, so the conversations of all domains share one table.

use super::entity::Guid;
use crate::memory::NameTable;

/// Topics by writer.
pub type WriterTopics = NameTable<Guid>;
