//! Folder of the programs.

use wirelap_harness::foreign::Folder;

/// The folder of the user's own build.
pub const FOLDER: Folder = Folder {
    variable: "WIRELAP_XRCE_BIN",
    option: "--xrce-bin",
    project: "the agent and the example clients of https://github.com/eProsima/Micro-XRCE-DDS as it says there",
};
