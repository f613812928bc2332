//! Placeholder until its folder is written.
use crate::control::Control;
use crate::link::{Family, Handler, Link};
use anyhow::{Result, bail};
use wirelap_contract::Spec;
/// The middleware.
pub struct Dds;
impl Family for Dds {
    fn max_payload(&self) -> usize {
        64 << 20
    }
    fn open(&self, spec: &Spec, _: Option<Handler>, _: &Control) -> Result<Box<dyn Link>> {
        bail!("{} is not built in yet", spec.middleware.name())
    }
}
