//! Numbers of options (draft-ietf-opsawg-pcapng §3.5, §4.1 to §4.3, §4.6).

/// `opt_endofopt`.
pub const END: u16 = 0;
/// `opt_comment`.
pub const COMMENT: u16 = 1;
/// `shb_hardware`.
pub const HARDWARE: u16 = 2;
/// `shb_os`.
pub const OS: u16 = 3;
/// `shb_userappl`.
pub const APPLICATION: u16 = 4;
/// `if_name`.
pub const NAME: u16 = 2;
/// `if_description`.
pub const DESCRIPTION: u16 = 3;
/// `if_tsresol`.
pub const RESOLUTION: u16 = 9;
/// `if_fcslen`.
pub const CHECK_SUM: u16 = 13;
/// `if_tsoffset`.
pub const OFFSET: u16 = 14;
/// `epb_flags`.
pub const FLAGS: u16 = 2;
/// `epb_dropcount`.
pub const DROP_COUNT: u16 = 4;
/// `isb_ifdrop`.
pub const DROPPED_BY_INTERFACE: u16 = 5;
/// `isb_osdrop`.
pub const DROPPED_BY_SYSTEM: u16 = 7;
/// `opt_custom` with bytes that may be copied.
pub const CUSTOM: u16 = 2989;
