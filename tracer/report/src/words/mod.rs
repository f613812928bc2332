//! The words of verdicts: what `correlate` gives as codes and numbers, in sentences.

mod causes;
mod clauses;
mod losses;
mod remedies;
mod titles;

pub use clauses::clause;
pub use remedies::remedy;
pub use titles::{place, title, title_in};
