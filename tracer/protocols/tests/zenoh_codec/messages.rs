//! Random messages, and what a decoder must say about each.

use proptest::prelude::*;
use zenoh_buffers::ZBuf;
use zenoh_protocol::common::{ZExtBody, ZExtUnknown};
use zenoh_protocol::core::{
    Encoding, EntityGlobalIdProto, NTP64, Timestamp, TimestampId, WireExpr, ZenohIdProto,
};
use zenoh_protocol::network::declare::{self, Declare, DeclareBody};
use zenoh_protocol::network::interest::{Interest, InterestMode, InterestOptions};
use zenoh_protocol::network::{
    Mapping, NetworkBody, NetworkMessage, Oam, Push, Request, Response, ResponseFinal, ext, push,
    request, response,
};
use zenoh_protocol::zenoh::ext::{AttachmentType, SourceInfoType, ValueType};
use zenoh_protocol::zenoh::{ConsolidationMode, Del, Err, Put, Query, Reply};
use zenoh_protocol::zenoh::{PushBody, RequestBody, ResponseBody};

/// Expected content of an application message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    pub topic: String,
    pub payload: Vec<u8>,
    pub key: Option<Key>,
}

/// A message and what must be found of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub message: NetworkMessage,
    pub name: &'static str,
    pub carried: Option<Carried>,
}

/// A message's bytes, by Zenoh's own encoder.
macro_rules! encode {
    ($message:expr) => {{
        let mut bytes = Vec::new();
        let mut writer = zenoh_buffers::writer::HasWriter::writer(&mut bytes);
        zenoh_codec::WCodec::write(zenoh_codec::Zenoh080::new(), &mut writer, $message).unwrap();
        bytes
    }};
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 120..300)
    ]
}

pub fn zid() -> impl Strategy<Value = ZenohIdProto> {
    prop::collection::vec(1..=255_u8, 1..=16)
        .prop_map(|id| ZenohIdProto::try_from(&id[..]).unwrap())
}

fn expr() -> impl Strategy<Value = WireExpr<'static>> {
    "[a-z]{1,8}(/[a-zé*]{1,8}){0,20}".prop_map(|suffix| WireExpr {
        scope: 0,
        suffix: suffix.into(),
        mapping: Mapping::Sender,
    })
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (any::<u64>(), zid()).prop_map(|(time, id)| Timestamp::new(NTP64(time), TimestampId::from(id)))
}

fn encoding() -> impl Strategy<Value = Encoding> {
    (any::<u16>(), prop::option::of(prop::collection::vec(any::<u8>(), 0..=255)))
        .prop_map(|(id, schema)| Encoding { id, schema: schema.map(Into::into) })
}

fn source<const ID: u8>() -> impl Strategy<Value = Option<SourceInfoType<ID>>> {
    let info = (zid(), any::<u32>(), any::<u32>())
        .prop_map(|(zid, eid, sn)| SourceInfoType { id: EntityGlobalIdProto { zid, eid }, sn });
    prop::option::of(info)
}

fn key<const ID: u8>(source: Option<&SourceInfoType<ID>>) -> Option<Key> {
    source.map(|source| {
        let id = &source.id;
        (id.zid.to_le_bytes(), u64::from(id.eid) << 32 | u64::from(source.sn))
    })
}

fn attachment<const ID: u8>() -> impl Strategy<Value = Option<AttachmentType<ID>>> {
    prop::option::of(bytes().prop_map(|buffer| AttachmentType { buffer: buffer.into() }))
}

/// Extensions that no version has yet.
fn unknown() -> impl Strategy<Value = Vec<ZExtUnknown>> {
    let body = prop_oneof![
        Just(ZExtBody::Unit),
        any::<u64>().prop_map(ZExtBody::Z64),
        bytes().prop_map(|bytes| ZExtBody::ZBuf(bytes.into())),
    ];
    let ext = (8..15_u8, any::<bool>(), body)
        .prop_map(|(id, mandatory, body)| ZExtUnknown::new(id, mandatory, body));
    prop::collection::vec(ext, 0..3)
}

fn node<const ID: u8>() -> impl Strategy<Value = ext::NodeIdType<ID>> {
    any::<u16>().prop_map(|node_id| ext::NodeIdType { node_id })
}

fn stamp<const ID: u8>() -> impl Strategy<Value = Option<ext::TimestampType<ID>>> {
    prop::option::of(timestamp().prop_map(|timestamp| ext::TimestampType { timestamp }))
}

fn qos<const ID: u8>() -> impl Strategy<Value = ext::QoSType<ID>> {
    any::<bool>().prop_map(|set| if set { ext::QoSType::DECLARE } else { ext::QoSType::DEFAULT })
}

/// A source's zid, and its entity and number.
pub type Key = ([u8; 16], u64);

/// A body, its payload and its key.
type Body = (PushBody, Vec<u8>, Option<Key>);

fn put() -> impl Strategy<Value = Body> {
    (prop::option::of(timestamp()), encoding(), source(), attachment(), unknown(), bytes())
        .prop_map(|(timestamp, encoding, ext_sinfo, ext_attachment, ext_unknown, payload)| {
            let key = key(ext_sinfo.as_ref());
            let body = payload.clone().into();
            let put =
                Put { timestamp, encoding, ext_sinfo, ext_attachment, ext_unknown, payload: body };
            (put.into(), payload, key)
        })
}

fn del() -> impl Strategy<Value = Body> {
    (prop::option::of(timestamp()), source(), attachment(), unknown()).prop_map(
        |(timestamp, ext_sinfo, ext_attachment, ext_unknown)| {
            let key = key(ext_sinfo.as_ref());
            (Del { timestamp, ext_sinfo, ext_attachment, ext_unknown }.into(), Vec::new(), key)
        },
    )
}

fn case(
    body: NetworkBody,
    name: &'static str,
    expr: &WireExpr<'_>,
    carried: Option<(Vec<u8>, Option<Key>)>,
) -> Case {
    let topic = expr.suffix.to_string();
    let carried = carried.map(|(payload, key)| Carried { topic, payload, key });
    Case { message: body.into(), name, carried }
}

fn pushed() -> impl Strategy<Value = Case> {
    let put = put().prop_map(|body| ("Put", body));
    let body = prop_oneof![3 => put, 1 => del().prop_map(|body| ("Del", body))];
    (expr(), qos(), stamp(), node(), body).prop_map(
        |(wire_expr, ext_qos, ext_tstamp, ext_nodeid, (name, (payload, bytes, key)))| {
            let expr = wire_expr.clone();
            let ext_ts_stack = None::<push::ext::TsStackType>;
            let push = Push { wire_expr, ext_qos, ext_tstamp, ext_nodeid, ext_ts_stack, payload };
            case(NetworkBody::Push(push), name, &expr, Some((bytes, key)))
        },
    )
}

fn query() -> impl Strategy<Value = (Query, Option<Vec<u8>>)> {
    let value = prop::option::of((encoding(), bytes()));
    (any::<bool>(), "[a-z=;]{0,20}", source(), value, attachment(), unknown()).prop_map(
        |(auto, parameters, ext_sinfo, value, ext_attachment, ext_unknown)| {
            let consolidation =
                if auto { ConsolidationMode::Auto } else { ConsolidationMode::Latest };
            let payload = value.as_ref().map(|(_, payload)| payload.clone());
            let ext_body =
                value.map(|(encoding, payload)| ValueType { encoding, payload: payload.into() });
            let query = Query {
                consolidation,
                parameters,
                ext_sinfo,
                ext_body,
                ext_attachment,
                ext_unknown,
            };
            (query, payload)
        },
    )
}

fn requested() -> impl Strategy<Value = Case> {
    (any::<u32>(), expr(), qos(), stamp(), node(), query()).prop_map(
        |(id, wire_expr, ext_qos, ext_tstamp, ext_nodeid, (query, body))| {
            let expr = wire_expr.clone();
            let carried = body.map(|body| (body, key(query.ext_sinfo.as_ref())));
            let request = Request {
                id,
                wire_expr,
                ext_qos,
                ext_tstamp,
                ext_nodeid,
                ext_target: request::ext::QueryTarget::All,
                ext_budget: None,
                ext_timeout: Some(std::time::Duration::from_millis(id.into())),
                ext_ts_stack: None,
                payload: RequestBody::Query(query),
            };
            case(NetworkBody::Request(request), "Query", &expr, carried)
        },
    )
}

/// A Response's body, its name, its payload and its key.
type Answer = (ResponseBody, &'static str, Vec<u8>, Option<Key>);

fn answer() -> impl Strategy<Value = Answer> {
    let reply =
        (prop_oneof![put(), del()], unknown()).prop_map(|((payload, bytes, key), ext_unknown)| {
            let reply = Reply { consolidation: ConsolidationMode::None, ext_unknown, payload };
            (ResponseBody::Reply(reply), "Reply", bytes, key)
        });
    let err = (encoding(), source(), unknown(), bytes()).prop_map(
        |(encoding, ext_sinfo, ext_unknown, bytes)| {
            let key = key(ext_sinfo.as_ref());
            let payload: ZBuf = bytes.clone().into();
            (
                ResponseBody::Err(Err { encoding, ext_sinfo, ext_unknown, payload }),
                "Err",
                bytes,
                key,
            )
        },
    );
    prop_oneof![reply, err]
}

fn responded() -> impl Strategy<Value = Case> {
    let responder = prop::option::of((zid(), any::<u32>()));
    (any::<u32>(), expr(), qos(), stamp(), responder, answer()).prop_map(
        |(rid, wire_expr, ext_qos, ext_tstamp, responder, (payload, name, bytes, key))| {
            let expr = wire_expr.clone();
            let ext_respid =
                responder.map(|(zid, eid)| response::ext::ResponderIdType { zid, eid });
            let ext_ts_stack = None;
            let response =
                Response { rid, wire_expr, payload, ext_qos, ext_tstamp, ext_respid, ext_ts_stack };
            case(NetworkBody::Response(response), name, &expr, Some((bytes, key)))
        },
    )
}

fn declaration() -> impl Strategy<Value = (DeclareBody, &'static str)> {
    use declare::{DeclareKeyExpr, DeclareQueryable, DeclareSubscriber, DeclareToken};
    use declare::{UndeclareKeyExpr, UndeclareQueryable, UndeclareSubscriber, UndeclareToken};
    (0..9_u8, any::<u32>(), any::<u16>(), expr()).prop_map(|(kind, id, small, wire_expr)| {
        let ext_wire_expr = declare::common::ext::WireExprType { wire_expr: wire_expr.clone() };
        let ext_info =
            declare::queryable::ext::QueryableInfoType { complete: true, distance: small };
        match kind {
            0 => (
                DeclareBody::DeclareKeyExpr(DeclareKeyExpr { id: small, wire_expr }),
                "DeclareKeyExpr",
            ),
            1 => {
                (DeclareBody::UndeclareKeyExpr(UndeclareKeyExpr { id: small }), "UndeclareKeyExpr")
            }
            2 => (DeclareSubscriber { id, wire_expr }.into_body(), "DeclareSubscriber"),
            3 => (UndeclareSubscriber { id, ext_wire_expr }.into_body(), "UndeclareSubscriber"),
            4 => (DeclareQueryable { id, wire_expr, ext_info }.into_body(), "DeclareQueryable"),
            5 => (UndeclareQueryable { id, ext_wire_expr }.into_body(), "UndeclareQueryable"),
            6 => (DeclareToken { id, wire_expr }.into_body(), "DeclareToken"),
            7 => (UndeclareToken { id, ext_wire_expr }.into_body(), "UndeclareToken"),
            _ => (DeclareBody::DeclareFinal(declare::common::DeclareFinal), "DeclareFinal"),
        }
    })
}

/// Puts a declaration into the enum that holds them all.
trait IntoBody {
    fn into_body(self) -> DeclareBody;
}

macro_rules! into_body {
    ($($name:ident)*) => {$(
        impl IntoBody for declare::$name {
            fn into_body(self) -> DeclareBody {
                DeclareBody::$name(self)
            }
        }
    )*};
}

into_body! {
    DeclareSubscriber UndeclareSubscriber DeclareQueryable UndeclareQueryable DeclareToken
    UndeclareToken
}

fn declared() -> impl Strategy<Value = Case> {
    (prop::option::of(any::<u32>()), qos(), stamp(), node(), declaration()).prop_map(
        |(interest_id, ext_qos, ext_tstamp, ext_nodeid, (body, name))| {
            let declare = Declare { interest_id, ext_qos, ext_tstamp, ext_nodeid, body };
            case(NetworkBody::Declare(declare), name, &WireExpr::empty(), None)
        },
    )
}

fn interest() -> impl Strategy<Value = Case> {
    (any::<u32>(), prop::option::of(expr()), any::<bool>(), qos(), stamp(), node()).prop_map(
        |(id, wire_expr, last, ext_qos, ext_tstamp, ext_nodeid)| {
            let mode = if last { InterestMode::Final } else { InterestMode::CurrentFuture };
            let options = InterestOptions::ALL;
            let interest =
                Interest { id, mode, options, wire_expr, ext_qos, ext_tstamp, ext_nodeid };
            case(NetworkBody::Interest(interest), "Interest", &WireExpr::empty(), None)
        },
    )
}

fn rest() -> impl Strategy<Value = Case> {
    let last = (any::<u32>(), qos(), stamp()).prop_map(|(rid, ext_qos, ext_tstamp)| {
        let last = ResponseFinal { rid, ext_qos, ext_tstamp };
        case(NetworkBody::ResponseFinal(last), "ResponseFinal", &WireExpr::empty(), None)
    });
    let oam =
        (any::<u16>(), bytes(), qos(), stamp()).prop_map(|(id, body, ext_qos, ext_tstamp)| {
            let oam = Oam { id, body: ZExtBody::ZBuf(body.into()), ext_qos, ext_tstamp };
            case(NetworkBody::OAM(oam), "OAM", &WireExpr::empty(), None)
        });
    prop_oneof![last, oam]
}

/// Any network message.
pub fn any_message() -> impl Strategy<Value = Case> {
    prop_oneof![pushed(), requested(), responded(), declared(), interest(), rest()]
}

/// Any network message that can be cut into fragments and found again by its data.
pub fn any_data() -> impl Strategy<Value = Case> {
    prop_oneof![pushed(), requested(), responded()]
}
