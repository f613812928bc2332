//! The red, green and blue parts of a terminal's colours, for pictures and for measuring contrast.

use ratatui::style::Color;

/// The first 16 colours of xterm, a little lighter where they are text on a dark ground.
const NAMED: [u32; 16] = [
    0x00_00_00, 0xd7_5f_5f, 0x5f_af_5f, 0xd7_af_5f, 0x5f_87_d7, 0xaf_87_d7, 0x5f_af_af, 0xc0_c0_c0,
    0x80_80_80, 0xff_87_87, 0x87_d7_87, 0xff_d7_5f, 0x87_af_ff, 0xd7_af_ff, 0x5f_d7_d7, 0xff_ff_ff,
];

/// A terminal's colour as `0xRRGGBB`; `None` for the terminal's own.
pub fn rgb(color: Color) -> Option<u32> {
    let index = match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some(u32::from_be_bytes([0, r, g, b])),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Indexed(index) => index,
    };
    Some(indexed(index))
}

/// A colour of xterm's palette of 256: the 16, a cube of 6×6×6, and a ramp of greys.
fn indexed(index: u8) -> u32 {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * u32::from(step) };
    match index {
        0..16 => NAMED[usize::from(index)],
        232.. => u32::from(8 + 10 * (index - 232)) * 0x01_01_01,
        _ => {
            let at = index - 16;
            level(at / 36) << 16 | level(at / 6 % 6) << 8 | level(at % 6)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_the_cube_and_the_grey_ramp_are_those_of_xterm() {
        assert_eq!(rgb(Color::Indexed(203)), Some(0xff_5f_5f));
        assert_eq!(rgb(Color::Indexed(16)), Some(0));
        assert_eq!(rgb(Color::Indexed(255)), Some(0xee_ee_ee));
        assert_eq!(rgb(Color::Rgb(1, 2, 3)), Some(0x01_02_03));
        assert_eq!(rgb(Color::Reset), None);
    }
}
