//! The numbers that sides declare for key expressions.

use super::message::KeyExprMapping;
use super::wire::WireExpr;
use std::collections::HashMap;
use wirelap_events::Size;

/// Bytes of key expressions that are stored for one side; further declarations are not resolved.
const MAX_BYTES: usize = 1 << 20;

/// An estimate of an entry's memory without its text.
const ENTRY_BYTES: usize = 32;

/// The key expressions that one side declared, by number.
#[derive(Debug, Default)]
pub struct KeyExprs {
    exprs: HashMap<u16, Box<[u8]>>,
    bytes: Size,
}

impl KeyExprs {
    /// The key expression with this number.
    pub fn get(&self, id: u16) -> Option<&[u8]> {
        self.exprs.get(&id).map(|expr| &**expr)
    }

    /// Stores a declaration.
    pub fn insert(&mut self, id: u16, expr: &[u8]) {
        self.remove(id);
        let bytes = self.bytes + expr.len() + ENTRY_BYTES;
        if bytes <= MAX_BYTES {
            self.exprs.insert(id, expr.into());
            self.bytes = bytes;
        }
    }

    /// Bytes of memory that the key expressions use.
    pub fn held_bytes(&self) -> Size {
        self.bytes
    }

    /// Removes a declaration.
    pub fn remove(&mut self, id: u16) {
        if let Some(expr) = self.exprs.remove(&id) {
            self.bytes = self.bytes - expr.len() - ENTRY_BYTES;
        }
    }

    /// Removes all declarations.
    pub fn clear(&mut self) {
        *self = KeyExprs::default();
    }
}

/// The complete key expression; `scratch` is used if it has two parts. Empty if its number was declared before the
/// observation began.
pub fn resolve<'k>(
    expr: WireExpr<'k>,
    (sender, receiver): (&'k KeyExprs, &'k KeyExprs),
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

/// Applies a declaration. A declared key expression may have a numbered prefix itself, without saying which side declared
/// that number: as in Zenoh, the receiver's table is used, and then the sender's.
pub fn follow(
    mapping: KeyExprMapping<'_>,
    sender: &mut KeyExprs,
    receiver: &KeyExprs,
    scratch: &mut Vec<u8>,
) {
    match mapping {
        KeyExprMapping::Undeclare(id) => sender.remove(id),
        KeyExprMapping::Declare(id, expr) => {
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
