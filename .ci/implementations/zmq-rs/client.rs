mod peer;

use zeromq::{PullSocket, PushSocket, Socket, SocketRecv, SocketSend};

// PUSH and PULL: its PUB does not tell when somebody subscribed.
fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = format!("tcp://{}", peer::address());
    let mut push = PushSocket::new();
    if peer::publishes() {
        runtime.block_on(push.bind(&address)).unwrap();
    } else {
        let mut pull = PullSocket::new();
        runtime.block_on(pull.connect(&address)).unwrap();
        runtime.spawn(async move {
            while pull.recv().await.is_ok() {
                peer::take();
            }
        });
    }
    peer::run(|payload| runtime.block_on(push.send(payload.into())).unwrap(), || ());
}
