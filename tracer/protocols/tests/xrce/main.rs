//! XRCE: real traffic of Micro XRCE-DDS against what its clients counted, and what they send again.

mod captures;
mod repeats;
