//! The implementation of its protocol that a row's programs use.

/// The implementation of its protocol that a row's programs use, as far as they say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Implementation {
    #[default]
    Unknown,
    One(&'static str),
    Several,
}

impl Implementation {
    /// A program uses this one.
    pub fn note(&mut self, name: &'static str) {
        self.add(Implementation::One(name));
    }

    /// Programs of another row are among them.
    pub fn add(&mut self, other: Implementation) {
        *self = match (*self, other) {
            (known, Implementation::Unknown) => known,
            (Implementation::Unknown, other) => other,
            (known, other) if known == other => known,
            _ => Implementation::Several,
        };
    }

    /// The implementation's name; empty if it is not known, or there are several.
    pub fn name(self) -> &'static str {
        if let Implementation::One(name) = self { name } else { "" }
    }
}
