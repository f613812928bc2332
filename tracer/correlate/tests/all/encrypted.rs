//! Messages that their protocol encrypts: a row that has some is no idle one.

use crate::brokered::BROKER;
use crate::played::Played;
use wirelap_correlate::{Config, Doubt, DoubtReason, Group, GroupNote, Reliability, VerdictKind};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{opcua, payload, stamp, zmtp};
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

/// A record of TLS that is not read.
fn record(len: usize) -> Vec<u8> {
    let [high, low] = u16::try_from(len).unwrap().to_be_bytes();
    [&[23, 3, 3, high, low], &vec![0xA7; len][..]].concat()
}

/// Findings about a broker's row with three messages that nobody got in plain text, and of another broker's row, where one of the first
/// broker's other connections is in TLS: with a client, or with another server if it was opened by the broker.
fn beside_tls(is_opened_by_broker: bool) -> [(u64, Vec<Doubt>, Vec<VerdictKind>); 2] {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:40020", broker, BROKER);
    let mut tls = if is_opened_by_broker {
        world.existing(broker, "127.0.0.1:40040", process(30, "other"), "127.0.0.1:8883")
    } else {
        world.existing(process(30, "sub"), "127.0.0.1:40030", broker, "127.0.0.1:8883")
    };
    for _ in 0..4 {
        world.message(&mut tls.up, &record(300));
        world.message(&mut tls.down, &record(300));
    }
    let elsewhere = process(11, "mosquitto");
    let [mut from, mut to] = [21, 31].map(|pid| {
        let at = format!("127.0.0.1:{}", 40_000 + pid);
        world.connect_mqtt(process(pid, "client"), &at, elsewhere, "127.0.0.1:1884")
    });
    for n in 0..3 {
        let [sent, other] =
            [publish("t", &payload(stamp(n), 64)), publish("u", &payload(stamp(10 + n), 64))];
        world.message(&mut publisher.up, &sent);
        world.message(&mut tls.down, &record(sent.len() + 17));
        world.message(&mut from.up, &other);
        world.message(&mut to.down, &other);
    }
    let played = Played::of(&world);
    let groups = &played.snapshot.groups;
    let said = |port: u16| {
        let is_its = |group: &&Group| group.endpoint.is_some_and(|at| at.port() == port);
        let group = groups.iter().find(is_its).unwrap();
        let kinds = group.why.verdicts.iter().map(|one| one.kind).collect();
        (group.messages.delivered, group.doubts(&played.snapshot.trust), kinds)
    };
    [said(1883), said(1884)]
}

#[test]
fn what_may_have_gone_on_in_tls_is_doubted_and_not_said_to_be_lost() {
    for is_opened_by_broker in [false, true] {
        let [hidden, other] = beside_tls(is_opened_by_broker);
        let reason = DoubtReason::EncryptedConnections { connections: 1 };
        let doubt = Doubt { reason, reliability: Reliability::Unusable };
        assert_eq!(hidden, (0, vec![doubt], vec![]));
        assert_eq!(other, (3, vec![], vec![]));
    }
}
