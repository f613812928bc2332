//! Ways to meet a situation: wirelap before the programs or after them, and with how much else going on.

use serde::Deserialize;
use std::fmt;

/// One way to meet a situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Cell {
    /// wirelap is attached after the clients have connected; messages are sent afterwards.
    pub late: bool,
    /// A program that nobody here knows wants all of each core.
    pub loaded: bool,
}

impl Cell {
    /// All that there are.
    pub const ALL: [Cell; 4] = [
        Cell { late: false, loaded: false },
        Cell { late: true, loaded: false },
        Cell { late: false, loaded: true },
        Cell { late: true, loaded: true },
    ];
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attached = if self.late { "late" } else { "first" };
        let load = if self.loaded { "loaded" } else { "quiet" };
        write!(f, "{attached}, {load}")
    }
}

impl TryFrom<String> for Cell {
    type Error = String;

    fn try_from(text: String) -> Result<Cell, String> {
        let found = Cell::ALL.into_iter().find(|cell| cell.to_string() == text.trim());
        found.ok_or_else(|| format!("'{text}' is no cell: 'first, quiet' is one"))
    }
}

/// The cells of a list that is separated by semicolons; all if it is empty.
pub fn chosen(list: &str) -> Vec<Cell> {
    if list.is_empty() {
        return Cell::ALL.to_vec();
    }
    list.split(';').map(|text| Cell::try_from(text.to_owned()).unwrap()).collect()
}
