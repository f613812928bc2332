//! The topic of each writer, as discovery (SEDP) tells it.
//!
//! Discovery goes from one metatraffic port to another, user data takes ports of its own, and a
//! decoder sees one conversation. A writer's GUID is the same in all of them, and unique in the world,
//! so the conversations of all domains share one table.

use super::entity::Guid;
use crate::memory::Names;

/// Topics by writer.
pub type Topics = Names<Guid>;
