//! Marks of places in a table: one bit for each, so that the few that are marked can be found without looking at all.

/// Places that are marked.
#[derive(Debug, Default)]
pub struct MarkedPlaces(Vec<u64>);

impl MarkedPlaces {
    /// Marks a place, or removes its mark.
    pub fn set(&mut self, place: usize, is_marked: bool) {
        let word = place / 64;
        if word >= self.0.len() {
            if !is_marked {
                return;
            }
            self.0.resize(word.saturating_add(1), 0);
        }
        let bit = 1 << (place % 64);
        if is_marked {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// The places that are marked, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(index, &word)| {
            let first = index.saturating_mul(64);
            let bits = std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)));
            bits.take_while(|left| *left != 0)
                .map(move |left| first.saturating_add(left.trailing_zeros() as usize))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_order() {
        let mut marked = MarkedPlaces::default();
        for place in [700, 3, 0, 63, 64, 700, 5] {
            marked.set(place, true);
        }
        marked.set(5, false);
        marked.set(9_000, false);
        assert_eq!(marked.iter().collect::<Vec<_>>(), [0, 3, 63, 64, 700]);
        assert_eq!(marked.0.len(), 11, "removing a mark takes no room");
    }
}
