//! Network messages: what FRAMEs carry and FRAGMENTs are pieces of.
//!
//! ```text
//! 0x1D PUSH            5: named 6: by sender   wire expr, extensions, then PUT or DEL
//! 0x1C REQUEST         5: named 6: by sender   z32 request, wire expr, extensions, then QUERY
//! 0x1B RESPONSE        5: named 6: by sender   z32 request, wire expr, extensions, then REPLY or ERR
//! 0x1A RESPONSE_FINAL                          z32 request, extensions
//! 0x1E DECLARE         5: answers an interest  [z32 interest], extensions, then a declaration
//! 0x19 INTEREST        5,6: mode               z32 interest, unless final: options, [wire expr]; extensions
//! 0x1F OAM             5,6: encoding           as the transport's
//!
//! declarations:
//!   0 key expression   5: named                z16 id, wire expr, extensions
//!   1 … withdrawn                              z16 id, extensions
//!   2 subscriber, 4 queryable, 6 token         z32 id, wire expr, extensions
//!   3, 5, 7 … withdrawn                        z32 id, extensions
//!   0x1A final                                 extensions
//! ```
//!
//! The ids stay clear of the transport's, so that a FRAME ends where a transport message starts.
//!
//! Source: zenoh-protocol and zenoh-codec 1.10, `src/network` of each.

use super::body;
use super::transport::read_oam;
use super::wire::{Cursor, Parsed, Stop, WireExpr, id};
use wirelap_events::{Class, GlobalKey};

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;
const MODE: u8 = FLAG_5 | FLAG_6;

/// The OAM message that tells peers about peers.
const OAM_LINK_STATE: u16 = 1;

/// Where a message's application payload lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Its first byte's position in the cursor that the message was read with.
    pub start: u64,
    /// Its bytes, as the message says.
    pub len: u64,
    /// Its first bytes, as many as were captured.
    pub head: &'a [u8],
}

/// A change of the numbers that stand for key expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping<'a> {
    /// From now on this number stands for this key expression.
    Declare(u16, WireExpr<'a>),
    /// From now on for nothing.
    Undeclare(u16),
}

/// A network message. Filled in while it is read: what was found before a cut stays.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its name, the inner one where it has a body.
    pub name: &'static str,
    /// What it is for.
    pub class: Class,
    /// The key expression that it is about.
    pub expr: WireExpr<'a>,
    /// What it carries for the application; empty, but there, for a deletion.
    pub payload: Option<Payload<'a>>,
    /// The publisher's own number for it.
    pub key: Option<GlobalKey>,
    /// What it declares about key expressions.
    pub mapping: Option<Mapping<'a>>,
}

impl<'a> Message<'a> {
    /// One of which nothing is known yet.
    pub fn unread() -> Message<'a> {
        Message {
            name: "",
            class: Class::Other,
            expr: WireExpr::default(),
            payload: None,
            key: None,
            mapping: None,
        }
    }

    /// Whether this header byte can start one.
    pub fn starts_with(header: u8) -> bool {
        id(header) >= 0x19
    }

    /// Reads one.
    #[inline]
    pub fn read(&mut self, at: &mut Cursor<'a>) -> Parsed<()> {
        let header = at.u8()?;
        match id(header) {
            0x1D => {
                self.addressed(at, header)?;
                body::push(at, self)
            }
            0x1C => {
                at.z32()?;
                self.addressed(at, header)?;
                body::query(at, self)
            }
            0x1B => {
                at.z32()?;
                self.addressed(at, header)?;
                body::response(at, self)
            }
            0x1A => {
                at.z32()?;
                at.exts(header, |_| Ok(()))?;
                self.is("ResponseFinal", Class::Other);
                Ok(())
            }
            0x1E => self.declare(at, header),
            0x19 => self.interest(at, header),
            0x1F => {
                let class = match read_oam(at, header)? {
                    OAM_LINK_STATE => Class::Discovery,
                    _ => Class::Other,
                };
                self.is("OAM", class);
                Ok(())
            }
            _ => Err(Stop::Malformed),
        }
    }

    /// Sets what it is.
    pub(super) fn is(&mut self, name: &'static str, class: Class) {
        self.name = name;
        self.class = class;
    }

    #[inline]
    fn addressed(&mut self, at: &mut Cursor<'a>, header: u8) -> Parsed<()> {
        self.expr = at.expr(header & FLAG_5 != 0, header & FLAG_6 != 0)?;
        at.exts(header, |_| Ok(()))
    }

    fn interest(&mut self, at: &mut Cursor<'a>, header: u8) -> Parsed<()> {
        const RESTRICTED: u8 = 0x10;
        at.z32()?;
        if header & MODE != 0 {
            let options = at.u8()?;
            if options & RESTRICTED != 0 {
                self.expr = at.expr(options & FLAG_5 != 0, options & FLAG_6 != 0)?;
            }
        }
        at.exts(header, |_| Ok(()))?;
        self.is("Interest", Class::Subscribe);
        Ok(())
    }

    fn declare(&mut self, at: &mut Cursor<'a>, header: u8) -> Parsed<()> {
        if header & FLAG_5 != 0 {
            at.z32()?;
        }
        at.exts(header, |_| Ok(()))?;
        let header = at.u8()?;
        let (named, by_sender) = (header & FLAG_5 != 0, header & FLAG_6 != 0);
        let name = match id(header) {
            0 => {
                let id = at.z16()?;
                self.expr = at.expr(named, by_sender)?;
                self.mapping = Some(Mapping::Declare(id, self.expr));
                "DeclareKeyExpr"
            }
            1 => {
                self.mapping = Some(Mapping::Undeclare(at.z16()?));
                "UndeclareKeyExpr"
            }
            declared @ (2 | 4 | 6) => {
                at.z32()?;
                self.expr = at.expr(named, by_sender)?;
                ["DeclareSubscriber", "DeclareQueryable", "DeclareToken"]
                    [usize::from((declared / 2).saturating_sub(1))]
            }
            withdrawn @ (3 | 5 | 7) => {
                at.z32()?;
                ["UndeclareSubscriber", "UndeclareQueryable", "UndeclareToken"]
                    [usize::from((withdrawn / 2).saturating_sub(1))]
            }
            0x1A => "DeclareFinal",
            _ => return Err(Stop::Malformed),
        };
        at.exts(header, |_| Ok(()))?;
        self.is(name, Class::Subscribe);
        Ok(())
    }
}
