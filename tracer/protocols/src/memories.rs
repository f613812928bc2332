//! The stores of all protocols.

use crate::{Memory, Protocol, registry};
use std::sync::Arc;
use wirelap_events::Total;

/// The store of each protocol in the registry. A clone shares the same stores.
#[derive(Clone, Debug)]
pub struct Memories(Arc<[(&'static str, Memory)]>);

impl Memories {
    /// An empty store for each protocol.
    pub fn new() -> Memories {
        Memories(registry().iter().map(|protocol| (protocol.name(), protocol.memory())).collect())
    }

    /// The store of this protocol.
    pub fn of(&self, protocol: &dyn Protocol) -> Memory {
        let found = self.0.iter().find(|(name, _)| *name == protocol.name());
        found.map(|(_, memory)| memory.clone()).unwrap_or_default()
    }

    /// Returns the number of entries that were evicted from all stores to keep them bounded.
    pub fn forgotten(&self) -> u64 {
        self.0.iter().map(|(_, memory)| memory.forgotten()).total()
    }
}

impl Default for Memories {
    fn default() -> Memories {
        Memories::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_name;
    use crate::memory::NameTable;
    use crate::rtps::WriterTopics;

    #[test]
    fn each_protocol_has_its_own() {
        let memories = Memories::new();
        let dds = by_name("dds").unwrap();
        let here = memories.of(dds).get::<WriterTopics>().unwrap();
        let there = memories.clone().of(dds).get::<WriterTopics>().unwrap();
        let other = Memories::new().of(dds).get::<WriterTopics>().unwrap();
        here.writers.learn([1; 16], b"t");
        assert!(there.writers.get(&[1; 16]).is_some() && other.writers.get(&[1; 16]).is_none());
        assert!(memories.of(by_name("tcp").unwrap()).get::<NameTable<[u8; 16]>>().is_none());
        assert_eq!(memories.forgotten(), 0);
    }
}
