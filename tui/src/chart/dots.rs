//! Lines of Braille dots.

/// The first Braille character, which has no dots.
const BLANK: u32 = 0x2800;

/// The bit of each dot: by column, then from the top to the bottom (Unicode, Braille Patterns).
const BITS: [[u8; Dots::DOWN]; Dots::ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Dots in cells, two beside and four above each other in each. The origin is at the lower left.
#[derive(Clone, Debug)]
pub struct Dots {
    width: usize,
    height: usize,
    cells: Vec<u8>,
}

impl Dots {
    /// Dots beside each other in a cell.
    pub const ACROSS: usize = 2;
    /// Dots above each other in a cell.
    pub const DOWN: usize = 4;

    /// No dots, in so many cells.
    pub fn new(width: usize, height: usize) -> Dots {
        Dots { width, height, cells: vec![0; width * height] }
    }

    /// Sets a dot; one outside is left out.
    pub fn set(&mut self, x: usize, y: usize) {
        let (column, row) = (x / Dots::ACROSS, y / Dots::DOWN);
        if column >= self.width || row >= self.height {
            return;
        }
        let bit = BITS[x % Dots::ACROSS][Dots::DOWN - 1 - y % Dots::DOWN];
        self.cells[(self.height - 1 - row) * self.width + column] |= bit;
    }

    /// Joins two heights of neighbouring columns by a vertical line at `x`.
    pub fn step(&mut self, x: usize, from: usize, to: usize) {
        for y in from.min(to)..=from.max(to) {
            self.set(x, y);
        }
    }

    /// The rows of characters, from the top.
    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = char> + '_> + '_ {
        let cell = |bits: &u8| match bits {
            0 => ' ',
            bits => char::from_u32(BLANK + u32::from(*bits)).unwrap_or(' '),
        };
        self.cells.chunks(self.width.max(1)).map(move |row| row.iter().map(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(dots: &Dots) -> Vec<String> {
        dots.rows().map(Iterator::collect).collect()
    }

    #[test]
    fn the_origin_is_at_the_lower_left() {
        let mut dots = Dots::new(2, 2);
        dots.set(0, 0);
        dots.set(3, 7);
        assert_eq!(drawn(&dots), [" ⠈", "⡀ "]);
        dots.step(1, 0, 4);
        assert_eq!(drawn(&dots), ["⢀⠈", "⣸ "]);
    }

    proptest! {
        #[test]
        fn dots_outside_are_left_out(x in 0usize..40, y in 0usize..40, width in 0usize..9, height in 0usize..9) {
            let mut dots = Dots::new(width, height);
            dots.set(x, y);
            let count = drawn(&dots).concat().chars().filter(|c| *c != ' ').count();
            prop_assert_eq!(count, usize::from(x < width * Dots::ACROSS && y < height * Dots::DOWN));
        }
    }
}
