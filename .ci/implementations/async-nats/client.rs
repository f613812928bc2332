mod peer;

use futures_util::StreamExt;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async_nats::connect(peer::address())).unwrap();
    if !peer::publishes() {
        let mut messages = runtime.block_on(client.subscribe(peer::TOPIC)).unwrap();
        runtime.spawn(async move {
            while messages.next().await.is_some() {
                peer::take();
            }
        });
        runtime.block_on(client.flush()).unwrap();
    }
    let publish =
        |payload: Vec<u8>| runtime.block_on(client.publish(peer::TOPIC, payload.into())).unwrap();
    peer::run(publish, || runtime.block_on(client.flush()).unwrap());
}
