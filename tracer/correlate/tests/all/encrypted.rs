//! Messages that their protocol encrypts: a row that has some is no idle one.

use crate::played::Played;
use wirelap_correlate::{Config, DoubtReason, GroupNote, Reliability};
use wirelap_test_support::compose::{opcua, zmtp};
use wirelap_test_support::world::{Connection, World, process};

const MESSAGES: u64 = 30;

fn connection(world: &mut World, port: u16) -> Connection {
    let to = format!("127.0.0.1:{port}");
    world.connect(process(10, "client"), "127.0.0.1:40000", process(20, "server"), &to)
}

/// All messages are counted, nothing else is, and the row cannot be used.
fn check(world: &World, middleware: &str) {
    let played = Played::new(Config::default(), &world.events);
    let [group] = &played.snapshot.groups[..] else { panic!("{middleware}: not one row") };
    assert_eq!(group.middleware, middleware);
    assert_eq!([group.messages.sent, group.messages.delivered], [0; 2], "{middleware}");
    assert_eq!(group.uncertain.encrypted, MESSAGES, "{middleware}");
    let doubts = group.doubts(&played.snapshot.trust);
    assert_eq!(doubts[0].reason, DoubtReason::Encrypted { messages: MESSAGES }, "{middleware}");
    assert_eq!(doubts[0].reliability, Reliability::Unusable, "{middleware}");
    let note = GroupNote::Encrypted { conversations: 1, is_tls: false };
    assert!(group.notes.contains(&note), "{middleware}: {:?}", group.notes);
}

/// CURVE (RFC 26): a greeting that names it, and MESSAGE commands.
#[test]
fn zmtp_with_curve() {
    let mut world = World::new();
    let mut pair = connection(&mut world, 5_555);
    let mut greeting = vec![0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1];
    greeting.extend(b"CURVE");
    greeting.resize(64, 0);
    world.message(&mut pair.up, &greeting);
    world.message(&mut pair.down, &greeting);
    for n in 0..u8::try_from(MESSAGES).unwrap() {
        let sealed = [&b"\x07MESSAGE"[..], &[0, 0, 0, 0, 0, 0, 0, n], &[n ^ 0x5A; 60]].concat();
        world.message(&mut pair.up, &zmtp::part(false, &sealed));
    }
    check(&world, "zmtp");
}

/// `SignAndEncrypt`: an OPN that names a policy, and messages of which no field can be read.
#[test]
fn opc_ua_with_sign_and_encrypt() {
    let mut world = World::new();
    let mut pair = connection(&mut world, 4_840);
    let hello = [&b"HELF"[..], &32_u32.to_le_bytes(), &[0; 20], &[0xFF; 4]].concat();
    world.message(&mut pair.up, &hello);
    let policy = b"http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256";
    let policy = [&u32::try_from(policy.len()).unwrap().to_le_bytes()[..], policy].concat();
    let body = [&7_u32.to_le_bytes()[..], &policy, &[0xA5; 300]].concat();
    let size = u32::try_from(8 + body.len()).unwrap().to_le_bytes();
    let open = [&b"OPNF"[..], &size, &body].concat();
    world.message(&mut pair.up, &open);
    world.message(&mut pair.down, &open);
    for n in 0..MESSAGES {
        let n = u8::try_from(n).unwrap();
        let sealed: Vec<u8> = (0..120_u8).map(|at| at.wrapping_mul(37) ^ n ^ 0xC3).collect();
        let way = if n % 2 == 0 { &mut pair.up } else { &mut pair.down };
        world.message(way, &opcua::chunk('F', n.into(), &sealed));
    }
    check(&world, "opcua");
}
