//! The whole page, as browsers and readers get it.

mod access;
mod charts;
mod colours;
mod fixtures;
mod hostile;
mod markup;
mod published;
mod several;
mod truth;
