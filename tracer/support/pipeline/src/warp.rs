//! Events with some of their numbers changed.

use wirelap_events::{Body, Event, Packet, ReadKind, ReadyKind, SendKind, Seq, TextPlace};
use wirelap_test_support::random::Random;

/// An event with some of its numbers changed.
pub(crate) fn warp<'a>(event: &Event<'a>, random: &mut Random) -> Event<'a> {
    let mut event = *event;
    change(random, &mut event.at.0);
    match &mut event.body {
        Body::Packet(packet) => warp_packet(packet, random),
        Body::Send(send) => match &mut send.kind {
            SendKind::Stream { start, len, state } => {
                seq(random, start);
                change32(random, len);
                if let Some(state) = state {
                    for number in [
                        &mut state.in_flight,
                        &mut state.unsent,
                        &mut state.window,
                        &mut state.mss,
                        &mut state.cwnd,
                        &mut state.segments_out,
                        &mut state.send_buffer,
                    ] {
                        change32(random, number);
                    }
                    change(random, &mut state.pacing);
                }
            }
            SendKind::Datagram { len, entered } => {
                change32(random, len);
                if let Some(at) = entered {
                    change(random, &mut at.0);
                }
            }
        },
        Body::Written(written) => {
            seq(random, &mut written.start);
            change32(random, &mut written.len);
        }
        Body::Read(read) => match &mut read.kind {
            ReadKind::Stream { end, len } => {
                seq(random, end);
                change32(random, len);
            }
            ReadKind::Datagram { len, .. } => change32(random, len),
        },
        Body::Ready(ready) => match &mut ready.kind {
            ReadyKind::Stream(next) => seq(random, next),
            ReadyKind::Datagram { .. } => {}
        },
        Body::Wake(wake) => {
            change(random, &mut wake.woken.0);
            change(random, &mut wake.throttled.0);
            change(random, &mut wake.holder.held.0);
            if let Some(at) = &mut wake.left {
                change(random, &mut at.0);
            }
            wake.others.iter_mut().for_each(|other| change(random, &mut other.held.0));
        }
        Body::Retransmit(again) => {
            seq(random, &mut again.start);
            change32(random, &mut again.len);
        }
        Body::Drop(dropped) => {
            change32(random, &mut dropped.len);
            if let Some(at) = &mut dropped.queued {
                change(random, &mut at.0);
            }
        }
        Body::Quota(quota) => {
            change(random, &mut quota.quota.0);
            change(random, &mut quota.period.0);
            change(random, &mut quota.throttled.0);
            change32(random, &mut quota.periods);
            change32(random, &mut quota.throttled_periods);
        }
        Body::Waiting(since) => change(random, &mut since.0),
        Body::Lost(lost) => change(random, &mut lost.count),
        Body::Plain(plain) => {
            let (at, bytes) = match &mut plain.place {
                TextPlace::Sent { start, record_len } => (start, record_len),
                TextPlace::Read { end, taken, .. } => (end, taken),
            };
            seq(random, at);
            for number in [bytes, &mut plain.text_start, &mut plain.len] {
                change32(random, number);
            }
        }
        Body::Socket(_) | Body::Closed(_) | Body::State(_) | Body::Ended(_) | Body::Window(_) => {}
    }
    event
}

fn change(random: &mut Random, number: &mut u64) {
    if random.one_in(3) {
        *number = random.extreme();
    }
}

fn change32(random: &mut Random, number: &mut u32) {
    if random.one_in(3) {
        *number = extreme32(random);
    }
}

fn seq(random: &mut Random, seq: &mut Seq) {
    if random.one_in(3) {
        *seq = Seq(extreme32(random));
    }
}

fn warp_packet(packet: &mut Packet<'_>, random: &mut Random) {
    for number in [&mut packet.wire_bytes, &mut packet.payload_len] {
        if random.one_in(3) {
            *number = extreme32(random);
        }
    }
    for number in [
        &mut packet.link_header,
        &mut packet.ip_header,
        &mut packet.transport_header,
        &mut packet.segments,
    ] {
        if random.one_in(4) {
            *number = extreme16(random);
        }
    }
    if let Some(at) = &mut packet.queued
        && random.one_in(3)
    {
        at.0 = random.extreme();
    }
    if let Some(tcp) = &mut packet.tcp
        && random.one_in(3)
    {
        tcp.seq = Seq(extreme32(random));
        tcp.ack = Seq(extreme32(random));
        tcp.flags = random.byte();
        tcp.window = extreme16(random);
    }
}

fn extreme32(random: &mut Random) -> u32 {
    let [_, _, _, _, low @ ..] = random.extreme().to_be_bytes();
    u32::from_be_bytes(low)
}

fn extreme16(random: &mut Random) -> u16 {
    let [_, _, _, _, _, _, low @ ..] = random.extreme().to_be_bytes();
    u16::from_be_bytes(low)
}
