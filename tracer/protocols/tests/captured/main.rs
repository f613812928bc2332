//! Recorded sessions of foreign programs (`captures/record.sh`) against what those programs and their server
//! counted. tshark 4.0 knows neither NATS nor ZMTP.

mod amqp;
mod decode;
mod names;
mod nats;
mod ros_zenoh;
mod websocket;
mod zmtp;
