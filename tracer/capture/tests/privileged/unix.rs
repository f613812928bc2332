//! Connections over Unix sockets: who serves them, and on which path.

use crate::support::everything;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use wirelap_capture::{Capture, UnixConnection};

#[test]
fn connections_over_unix_sockets_are_listed_with_the_path_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let name = format!("wirelap-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let abstract_listener = UnixListener::bind_addr(&address).unwrap();

    let mut capture = Capture::attach(&everything()).unwrap();
    let expected = [path.display().to_string(), format!("@{name}")];
    let listed = |capture: &mut Capture| -> Vec<UnixConnection> {
        let mut all = capture.unix_connections().unwrap();
        all.retain(|connection| expected.contains(&connection.name));
        all
    };
    assert_eq!(listed(&mut capture), [], "nobody has connected");

    let near = UnixStream::connect(&path).unwrap();
    let far = listener.accept().unwrap();
    let other = UnixStream::connect_addr(&address).unwrap();
    let other_far = abstract_listener.accept().unwrap();
    let found = listed(&mut capture);
    let mut names: Vec<_> = found.iter().map(|connection| connection.name.clone()).collect();
    names.sort();
    let mut all = expected.to_vec();
    all.sort();
    assert_eq!(names, all, "{found:?}");
    let own = std::process::id();
    assert!(found.iter().all(|c| c.server.0 == own && c.client.0 == own), "{found:?}");

    drop((near, far, other, other_far));
    assert_eq!(listed(&mut capture), [], "all are closed");
}
