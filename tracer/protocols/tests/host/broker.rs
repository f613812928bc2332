//! mosquitto and its subscriber.

use super::{Guard, poll};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// A broker of our own.
pub struct Broker {
    pub port: u16,
    _process: Guard,
}

/// Starts a broker on a free port of 127.0.0.1.
pub fn start(folder: &Path) -> Broker {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = folder.join("mosquitto.conf");
    let text = format!(
        "listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\n"
    );
    std::fs::write(&config, text).unwrap();
    let process = Command::new("mosquitto").arg("-c").arg(config).stderr(Stdio::null()).spawn();
    let process = Guard(process.expect("mosquitto"));
    poll("the broker's start", || TcpStream::connect(("127.0.0.1", port)).ok());
    Broker { port, _process: process }
}

/// A subscriber and what it has said.
pub struct Subscriber {
    _process: Guard,
    said: Arc<Mutex<String>>,
}

impl Subscriber {
    /// Starts it and waits until the broker has granted its subscription.
    pub fn start(port: u16, args: &[&str]) -> Subscriber {
        // Into a pipe it would not speak before it ends.
        let mut child = Command::new("stdbuf")
            .args(["-oL", "mosquitto_sub"])
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-d", "-v"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("mosquitto_sub");
        let said = Arc::new(Mutex::new(String::new()));
        let (output, heard) = (child.stdout.take().unwrap(), said.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                heard.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let subscriber = Subscriber { _process: Guard(child), said };
        subscriber.wait_for("Subscribed");
        subscriber
    }

    /// Waits until a line starts with `text`: as `-v` says of a message's topic.
    pub fn wait_for(&self, text: &str) {
        poll(text, || {
            self.said.lock().unwrap().lines().any(|line| line.starts_with(text)).then_some(())
        });
    }
}
