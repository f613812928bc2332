//! The rows of the comparison whose messages a row by name counts.

use super::view::MutedExtent;
use arrayvec::ArrayVec;
use wirelap_events::GroupId;

/// The most that are remembered of one row by name: most have one.
const MOST: usize = 8;

/// The rows of the comparison whose messages a row by name counts.
#[derive(Clone, Debug, Default)]
pub struct Parents {
    known: ArrayVec<GroupId, MOST>,
    /// There are more than are remembered.
    are_more: bool,
}

impl Parents {
    /// A message of this one counts.
    pub fn add(&mut self, group: GroupId) {
        if !self.known.contains(&group) {
            self.are_more |= self.known.try_push(group).is_err();
        }
    }

    /// Those of another row by name count as well.
    pub fn add_all(&mut self, other: &Parents) {
        other.known.iter().for_each(|&group| self.add(group));
        self.are_more |= other.are_more;
    }

    /// Tells how much of the row by name is muted, as far as its rows are remembered.
    pub fn muted(&self, is_muted: impl Fn(GroupId) -> bool) -> MutedExtent {
        let muted = self.known.iter().filter(|&&group| is_muted(group)).count();
        match muted {
            0 => MutedExtent::None,
            _ if muted == self.known.len() && !self.are_more => MutedExtent::Whole,
            _ => MutedExtent::Part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_muted_where_all_of_its_rows_are() {
        let is_muted = |group: GroupId| group.0 >= 2;
        let of = |groups: &[u32]| {
            let mut parents = Parents::default();
            for &group in groups {
                parents.add(GroupId(group));
            }
            parents
        };
        assert_eq!(of(&[]).muted(is_muted), MutedExtent::None);
        assert_eq!(of(&[1, 0]).muted(is_muted), MutedExtent::None);
        assert_eq!(of(&[2, 3, 2]).muted(is_muted), MutedExtent::Whole);
        assert_eq!(of(&[2, 1]).muted(is_muted), MutedExtent::Part);
        let mut both = of(&[2]);
        both.add_all(&of(&[3]));
        assert_eq!(both.muted(is_muted), MutedExtent::Whole);
        both.add_all(&of(&[1]));
        assert_eq!(both.muted(is_muted), MutedExtent::Part);
        let many: Vec<u32> = (2..20).collect();
        assert_eq!(of(&many).muted(is_muted), MutedExtent::Part, "the others are not known");
    }
}
