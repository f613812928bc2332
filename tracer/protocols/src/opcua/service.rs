//! Services by the type of their request or response: the identifiers of the binary encodings
//! (OPC 10000-6 Annex A, `NodeIds.csv`).

use super::fields::{FieldError, OpcuaFields};
use super::node::NodeId;
use wirelap_events::FrameClass;

/// A request or a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Service {
    id: u32,
    pub name: &'static str,
    /// The class of its frames if it has no value.
    pub class: FrameClass,
}

pub(super) const CREATE_SESSION_REQUEST: u32 = 461;
pub(super) const READ_REQUEST: u32 = 631;
pub(super) const READ_RESPONSE: u32 = 634;
pub(super) const WRITE_REQUEST: u32 = 673;
pub(super) const CREATE_MONITORED_ITEMS_REQUEST: u32 = 751;
pub(super) const PUBLISH_REQUEST: u32 = 826;
pub(super) const PUBLISH_RESPONSE: u32 = 829;
pub(super) const REPUBLISH_REQUEST: u32 = 832;
pub(super) const REPUBLISH_RESPONSE: u32 = 835;

/// The type of a notification with values; it is not a service.
pub(super) const DATA_CHANGE_NOTIFICATION: u32 = 811;

impl Service {
    /// Reads the type at the start of a body.
    pub fn read(fields: &mut OpcuaFields<'_>) -> Result<&'static Service, FieldError> {
        let number = NodeId::read(fields)?.standard().ok_or(FieldError::Malformed)?;
        Service::of(number).ok_or(FieldError::Malformed)
    }

    fn of(id: u32) -> Option<&'static Service> {
        let index = SERVICES.binary_search_by_key(&id, |service| service.id).ok()?;
        SERVICES.get(index)
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// True for a request that the server answers as soon as it can. A `PublishRequest` waits for something to notify of (OPC 10000-4
    /// §5.14.5).
    pub fn is_prompt_request(&self) -> bool {
        self.name.ends_with("Request") && self.id != PUBLISH_REQUEST
    }

    /// True if it answers a request.
    pub fn is_response(&self) -> bool {
        self.name.ends_with("Response") || self.name == "ServiceFault"
    }
}

const fn service(id: u32, name: &'static str, class: FrameClass) -> Service {
    Service { id, name, class }
}

/// All services in the order of their identifiers. Reads, writes and calls without values are `Other`; a `PublishRequest`
/// acknowledges notifications.
static SERVICES: &[Service] = &[
    service(397, "ServiceFault", FrameClass::Other),
    service(422, "FindServersRequest", FrameClass::Discovery),
    service(425, "FindServersResponse", FrameClass::Discovery),
    service(428, "GetEndpointsRequest", FrameClass::Discovery),
    service(431, "GetEndpointsResponse", FrameClass::Discovery),
    service(437, "RegisterServerRequest", FrameClass::Discovery),
    service(440, "RegisterServerResponse", FrameClass::Discovery),
    service(446, "OpenSecureChannelRequest", FrameClass::Session),
    service(449, "OpenSecureChannelResponse", FrameClass::Session),
    service(452, "CloseSecureChannelRequest", FrameClass::Session),
    service(461, "CreateSessionRequest", FrameClass::Session),
    service(464, "CreateSessionResponse", FrameClass::Session),
    service(467, "ActivateSessionRequest", FrameClass::Session),
    service(470, "ActivateSessionResponse", FrameClass::Session),
    service(473, "CloseSessionRequest", FrameClass::Session),
    service(476, "CloseSessionResponse", FrameClass::Session),
    service(479, "CancelRequest", FrameClass::Other),
    service(482, "CancelResponse", FrameClass::Other),
    service(488, "AddNodesRequest", FrameClass::Other),
    service(491, "AddNodesResponse", FrameClass::Other),
    service(494, "AddReferencesRequest", FrameClass::Other),
    service(497, "AddReferencesResponse", FrameClass::Other),
    service(500, "DeleteNodesRequest", FrameClass::Other),
    service(503, "DeleteNodesResponse", FrameClass::Other),
    service(506, "DeleteReferencesRequest", FrameClass::Other),
    service(509, "DeleteReferencesResponse", FrameClass::Other),
    service(527, "BrowseRequest", FrameClass::Discovery),
    service(530, "BrowseResponse", FrameClass::Discovery),
    service(533, "BrowseNextRequest", FrameClass::Discovery),
    service(536, "BrowseNextResponse", FrameClass::Discovery),
    service(554, "TranslateBrowsePathsToNodeIdsRequest", FrameClass::Discovery),
    service(557, "TranslateBrowsePathsToNodeIdsResponse", FrameClass::Discovery),
    service(560, "RegisterNodesRequest", FrameClass::Other),
    service(563, "RegisterNodesResponse", FrameClass::Other),
    service(566, "UnregisterNodesRequest", FrameClass::Other),
    service(569, "UnregisterNodesResponse", FrameClass::Other),
    service(615, "QueryFirstRequest", FrameClass::Discovery),
    service(618, "QueryFirstResponse", FrameClass::Discovery),
    service(621, "QueryNextRequest", FrameClass::Discovery),
    service(624, "QueryNextResponse", FrameClass::Discovery),
    service(631, "ReadRequest", FrameClass::Other),
    service(634, "ReadResponse", FrameClass::Other),
    service(664, "HistoryReadRequest", FrameClass::Other),
    service(667, "HistoryReadResponse", FrameClass::Other),
    service(673, "WriteRequest", FrameClass::Other),
    service(676, "WriteResponse", FrameClass::Ack),
    service(700, "HistoryUpdateRequest", FrameClass::Other),
    service(703, "HistoryUpdateResponse", FrameClass::Other),
    service(712, "CallRequest", FrameClass::Other),
    service(715, "CallResponse", FrameClass::Other),
    service(751, "CreateMonitoredItemsRequest", FrameClass::Subscribe),
    service(754, "CreateMonitoredItemsResponse", FrameClass::Subscribe),
    service(763, "ModifyMonitoredItemsRequest", FrameClass::Subscribe),
    service(766, "ModifyMonitoredItemsResponse", FrameClass::Subscribe),
    service(769, "SetMonitoringModeRequest", FrameClass::Subscribe),
    service(772, "SetMonitoringModeResponse", FrameClass::Subscribe),
    service(775, "SetTriggeringRequest", FrameClass::Subscribe),
    service(778, "SetTriggeringResponse", FrameClass::Subscribe),
    service(781, "DeleteMonitoredItemsRequest", FrameClass::Subscribe),
    service(784, "DeleteMonitoredItemsResponse", FrameClass::Subscribe),
    service(787, "CreateSubscriptionRequest", FrameClass::Subscribe),
    service(790, "CreateSubscriptionResponse", FrameClass::Subscribe),
    service(793, "ModifySubscriptionRequest", FrameClass::Subscribe),
    service(796, "ModifySubscriptionResponse", FrameClass::Subscribe),
    service(799, "SetPublishingModeRequest", FrameClass::Subscribe),
    service(802, "SetPublishingModeResponse", FrameClass::Subscribe),
    service(826, "PublishRequest", FrameClass::Ack),
    service(829, "PublishResponse", FrameClass::Other),
    service(832, "RepublishRequest", FrameClass::Ack),
    service(835, "RepublishResponse", FrameClass::Ack),
    service(841, "TransferSubscriptionsRequest", FrameClass::Subscribe),
    service(844, "TransferSubscriptionsResponse", FrameClass::Subscribe),
    service(847, "DeleteSubscriptionsRequest", FrameClass::Subscribe),
    service(850, "DeleteSubscriptionsResponse", FrameClass::Subscribe),
    service(12208, "FindServersOnNetworkRequest", FrameClass::Discovery),
    service(12209, "FindServersOnNetworkResponse", FrameClass::Discovery),
    service(12211, "RegisterServer2Request", FrameClass::Discovery),
    service(12212, "RegisterServer2Response", FrameClass::Discovery),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_in_order_and_found() {
        assert!(SERVICES.is_sorted_by(|a, b| a.id < b.id));
        for (id, name) in [
            (CREATE_SESSION_REQUEST, "CreateSessionRequest"),
            (READ_REQUEST, "ReadRequest"),
            (READ_RESPONSE, "ReadResponse"),
            (WRITE_REQUEST, "WriteRequest"),
            (CREATE_MONITORED_ITEMS_REQUEST, "CreateMonitoredItemsRequest"),
            (PUBLISH_RESPONSE, "PublishResponse"),
            (REPUBLISH_REQUEST, "RepublishRequest"),
            (REPUBLISH_RESPONSE, "RepublishResponse"),
        ] {
            assert_eq!(Service::of(id).map(|service| service.name), Some(name));
        }
        assert_eq!(Service::of(DATA_CHANGE_NOTIFICATION), None);
        let of = |id| Service::of(id).unwrap();
        assert!(of(READ_REQUEST).is_prompt_request() && !of(READ_REQUEST).is_response());
        assert!(of(397).is_response() && !of(PUBLISH_REQUEST).is_prompt_request());
    }
}
