//! Network messages, which FRAMEs and FRAGMENTs carry.
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
//!   1 undeclare key expression                 z16 id, extensions
//!   2 subscriber, 4 queryable, 6 token         z32 id, wire expr, extensions
//!   3, 5, 7 undeclare 2, 4, 6                  z32 id, extensions
//!   0x1A final                                 extensions
//! ```
//!
//! Network and transport messages have different IDs, so that a FRAME ends where a transport message starts.
//!
//! Source: zenoh-protocol and zenoh-codec 1.10, `src/network` of each.

use super::batch::TOKEN;
use super::body;
use super::message::{Exchange, KeyExprMapping, NetworkMessage};
use super::transport::read_oam;
use super::wire::{CursorError, ZenohCursor, ZenohResult, id};
use wirelap_events::FrameClass;

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;
const MODE: u8 = FLAG_5 | FLAG_6;

/// The OAM message with which peers announce other peers.
const OAM_LINK_STATE: u16 = 1;

impl<'a> NetworkMessage<'a> {
    /// True if a network message can start with this header byte.
    pub fn starts_with(header: u8) -> bool {
        id(header) >= 0x19
    }

    /// Reads a network message.
    #[inline]
    pub fn read(&mut self, at: &mut ZenohCursor<'a>) -> ZenohResult<()> {
        let header = at.u8()?;
        match id(header) {
            0x1D => {
                self.addressed(at, header)?;
                body::push(at, self)
            }
            0x1C => {
                self.exchange = Some(Exchange::Request(at.z32()?));
                self.addressed(at, header)?;
                let body = *at;
                body::query(at, self)?;
                self.query = body.head(at.position().saturating_sub(body.position()));
                Ok(())
            }
            0x1B => {
                self.exchange = Some(Exchange::Reply(at.z32()?));
                self.addressed(at, header)?;
                body::response(at, self)
            }
            0x1A => {
                self.exchange = Some(Exchange::End(at.z32()?));
                at.exts(header, |_| Ok(()))?;
                self.is("ResponseFinal", FrameClass::Other);
                Ok(())
            }
            0x1E => self.declare(at, header),
            0x19 => self.interest(at, header),
            0x1F => {
                let class = match read_oam(at, header)? {
                    OAM_LINK_STATE => FrameClass::Discovery,
                    _ => FrameClass::Other,
                };
                self.is("OAM", class);
                Ok(())
            }
            _ => Err(CursorError::Malformed),
        }
    }

    #[inline]
    fn addressed(&mut self, at: &mut ZenohCursor<'a>, header: u8) -> ZenohResult<()> {
        self.expr = at.expr(header & FLAG_5 != 0, header & FLAG_6 != 0)?;
        at.exts(header, |_| Ok(()))
    }

    fn interest(&mut self, at: &mut ZenohCursor<'a>, header: u8) -> ZenohResult<()> {
        const RESTRICTED: u8 = 0x10;
        at.z32()?;
        if header & MODE != 0 {
            let options = at.u8()?;
            if options & RESTRICTED != 0 {
                self.expr = at.expr(options & FLAG_5 != 0, options & FLAG_6 != 0)?;
            }
        }
        at.exts(header, |_| Ok(()))?;
        self.is("Interest", FrameClass::Subscribe);
        Ok(())
    }

    fn declare(&mut self, at: &mut ZenohCursor<'a>, header: u8) -> ZenohResult<()> {
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
                self.mapping = Some(KeyExprMapping::Declare(id, self.expr));
                "DeclareKeyExpr"
            }
            1 => {
                self.mapping = Some(KeyExprMapping::Undeclare(at.z16()?));
                "UndeclareKeyExpr"
            }
            declared @ (2 | 4 | 6) => {
                at.z32()?;
                self.expr = at.expr(named, by_sender)?;
                ["DeclareSubscriber", "DeclareQueryable", TOKEN]
                    [usize::from((declared / 2).saturating_sub(1))]
            }
            withdrawn @ (3 | 5 | 7) => {
                at.z32()?;
                ["UndeclareSubscriber", "UndeclareQueryable", "UndeclareToken"]
                    [usize::from((withdrawn / 2).saturating_sub(1))]
            }
            0x1A => "DeclareFinal",
            _ => return Err(CursorError::Malformed),
        };
        at.exts(header, |_| Ok(()))?;
        self.is(name, FrameClass::Subscribe);
        Ok(())
    }
}
