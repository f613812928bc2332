//! Ports and process trees that the filter lets through, and changes of them.

use super::Capture;
use super::maps::{array, map_error};
use crate::{CaptureError, filter};
use aya::maps::HashMap;
use std::path::Path;
use wirelap_events::Pid;

impl Capture {
    /// Starts to trace a process and its children. Without a filter, all processes are traced already and this changes nothing.
    ///
    /// # Errors
    /// [`CaptureError::NoProcess`] if there is no such process.
    pub fn add_pid(&mut self, pid: Pid) -> Result<(), CaptureError> {
        if !Path::new("/proc").join(pid.0.to_string()).exists() {
            return Err(CaptureError::NoProcess(pid.0));
        }
        self.want_tree(pid)?;
        self.filter_changed()
    }

    /// Starts to trace a port. Without a filter, all ports are traced already and this changes nothing.
    ///
    /// # Errors
    /// [`CaptureError::Map`] if the kernel refuses the change of the filter.
    pub fn add_port(&mut self, port: u16) -> Result<(), CaptureError> {
        self.want_port(port)?;
        self.filter_changed()
    }

    pub(super) fn want_port(&mut self, port: u16) -> Result<(), CaptureError> {
        let (index, bit) = filter::port_bit(port);
        let mut ports = array::<[u64; 2]>(&mut self.ebpf, "ports")?;
        let [wanted, learned] = ports.get(&index, 0).map_err(map_error("ports"))?;
        ports.set(index, [wanted | bit, learned], 0).map_err(map_error("ports"))
    }

    pub(super) fn want_tree(&mut self, root: Pid) -> Result<(), CaptureError> {
        let map = self.ebpf.map_mut("pids").ok_or(CaptureError::NoMap("pids"))?;
        let mut pids: HashMap<_, u32, u8> = HashMap::try_from(map).map_err(map_error("pids"))?;
        // The root is added first: from then on, the probes add the children that it starts.
        pids.insert(root.0, 1, 0).map_err(map_error("pids"))?;
        for pid in filter::process_tree(root.0) {
            pids.insert(pid, 1, 0).map_err(map_error("pids"))?;
        }
        Ok(())
    }

    /// Makes the probes check the sockets again that the filter has excluded so far.
    fn filter_changed(&mut self) -> Result<(), CaptureError> {
        if !self.filtered {
            return Ok(());
        }
        self.generation = self.generation.wrapping_add(1);
        self.write_settings()?;
        self.list_existing()
    }
}
