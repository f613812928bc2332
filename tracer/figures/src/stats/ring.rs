//! The last things of a kind.

/// The last `N` things; begins with defaults.
#[derive(Clone, Copy, Debug)]
pub struct Ring<T, const N: usize> {
    ring: [T; N],
    newest: usize,
}

impl<T: Copy + Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Ring { ring: [T::default(); N], newest: 0 }
    }
}

impl<T: Copy, const N: usize> Ring<T, N> {
    /// Puts an item in the place of the oldest.
    pub fn push(&mut self, item: T) {
        self.newest = self.newest.saturating_add(1).checked_rem(N).unwrap_or(0);
        self.ring[self.newest] = item;
    }

    /// The newest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (older, newer) = self.ring.split_at_mut(self.newest.saturating_add(1));
        older.iter_mut().rev().chain(newer.iter_mut().rev())
    }

    /// The newest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..N).map(|back| {
            &self.ring
                [self.newest.saturating_add(N).saturating_sub(back).checked_rem(N).unwrap_or(0)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut ring: Ring<u8, 3> = Ring::default();
        (1..=5).for_each(|item| ring.push(item));
        assert!(ring.iter().eq(&[5, 4, 3]));
        assert!(ring.iter_mut().eq(&[5, 4, 3]));
    }
}
