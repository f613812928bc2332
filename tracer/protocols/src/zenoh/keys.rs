//! The numbers that one side declared for key expressions.

use super::network::Mapping;
use super::wire::WireExpr;
use std::collections::HashMap;
use wirelap_events::Saturate;

/// Bytes of key expressions remembered for one side; what is declared beyond is not resolved.
const MAX_BYTES: usize = 1 << 20;

/// What an entry costs beside its text.
const ENTRY_BYTES: usize = 32;

/// One side's numbers.
#[derive(Debug, Default)]
pub struct Keys {
    exprs: HashMap<u16, Box<[u8]>>,
    bytes: usize,
}

impl Keys {
    /// The key expression that a number stands for.
    pub fn get(&self, id: u16) -> Option<&[u8]> {
        self.exprs.get(&id).map(|expr| &**expr)
    }

    /// Takes over a number.
    pub fn insert(&mut self, id: u16, expr: &[u8]) {
        self.remove(id);
        let bytes = self.bytes.saturating_add(expr.len()).saturating_add(ENTRY_BYTES);
        if bytes <= MAX_BYTES {
            self.exprs.insert(id, expr.into());
            self.bytes = bytes;
        }
    }

    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets a number.
    pub fn remove(&mut self, id: u16) {
        if let Some(expr) = self.exprs.remove(&id) {
            self.bytes.shrink(expr.len().saturating_add(ENTRY_BYTES));
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Keys::default();
    }
}

/// The whole key expression, put together in `scratch` where it has two parts. Empty when its number
/// was declared before wirelap attached.
pub fn resolve<'k>(
    expr: WireExpr<'k>,
    (sender, receiver): (&'k Keys, &'k Keys),
    scratch: &'k mut Vec<u8>,
) -> &'k [u8] {
    let owner = if expr.by_sender { sender } else { receiver };
    let prefix = match expr.scope {
        0 => return expr.suffix,
        scope => owner.get(scope),
    };
    match prefix {
        Some(prefix) if expr.suffix.is_empty() => prefix,
        Some(prefix) => {
            scratch.clear();
            scratch.extend_from_slice(prefix);
            scratch.extend_from_slice(expr.suffix);
            scratch
        }
        None => &[],
    }
}

/// Follows a declaration. The prefix that a declared key expression may itself have does not say whose
/// number it is: as Zenoh reads it, the receiver's; failing that, the sender's.
pub fn follow(mapping: Mapping<'_>, sender: &mut Keys, receiver: &Keys, scratch: &mut Vec<u8>) {
    match mapping {
        Mapping::Undeclare(id) => sender.remove(id),
        Mapping::Declare(id, expr) => {
            let theirs = receiver.get(expr.scope).is_none();
            let expr = WireExpr { by_sender: theirs, ..expr };
            let whole = resolve(expr, (sender, receiver), scratch);
            if whole.is_empty() {
                return sender.remove(id);
            }
            let whole: Box<[u8]> = whole.into();
            sender.insert(id, &whole);
        }
    }
}
