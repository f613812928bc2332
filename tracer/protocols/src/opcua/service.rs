//! Services by the type of their request or response: the identifiers of the binary encodings
//! (OPC 10000-6 Annex A, `NodeIds.csv`).

use super::fields::{FieldError, Fields};
use super::node::NodeId;
use wirelap_events::Class;

/// A request or a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Service {
    id: u32,
    pub name: &'static str,
    /// The class of its frames if it has no value.
    pub class: Class,
}

pub(super) const READ_REQUEST: u32 = 631;
pub(super) const READ_RESPONSE: u32 = 634;
pub(super) const WRITE_REQUEST: u32 = 673;
pub(super) const CREATE_MONITORED_ITEMS_REQUEST: u32 = 751;
pub(super) const PUBLISH_RESPONSE: u32 = 829;

/// The type of a notification with values; it is not a service.
pub(super) const DATA_CHANGE_NOTIFICATION: u32 = 811;

impl Service {
    /// Reads the type at the start of a body.
    pub fn read(fields: &mut Fields<'_>) -> Result<&'static Service, FieldError> {
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
}

const fn service(id: u32, name: &'static str, class: Class) -> Service {
    Service { id, name, class }
}

/// All services in the order of their identifiers. Reads, writes and calls without values are `Other`; a `PublishRequest`
/// acknowledges notifications.
static SERVICES: &[Service] = &[
    service(397, "ServiceFault", Class::Other),
    service(422, "FindServersRequest", Class::Discovery),
    service(425, "FindServersResponse", Class::Discovery),
    service(428, "GetEndpointsRequest", Class::Discovery),
    service(431, "GetEndpointsResponse", Class::Discovery),
    service(437, "RegisterServerRequest", Class::Discovery),
    service(440, "RegisterServerResponse", Class::Discovery),
    service(446, "OpenSecureChannelRequest", Class::Session),
    service(449, "OpenSecureChannelResponse", Class::Session),
    service(452, "CloseSecureChannelRequest", Class::Session),
    service(461, "CreateSessionRequest", Class::Session),
    service(464, "CreateSessionResponse", Class::Session),
    service(467, "ActivateSessionRequest", Class::Session),
    service(470, "ActivateSessionResponse", Class::Session),
    service(473, "CloseSessionRequest", Class::Session),
    service(476, "CloseSessionResponse", Class::Session),
    service(479, "CancelRequest", Class::Other),
    service(482, "CancelResponse", Class::Other),
    service(488, "AddNodesRequest", Class::Other),
    service(491, "AddNodesResponse", Class::Other),
    service(494, "AddReferencesRequest", Class::Other),
    service(497, "AddReferencesResponse", Class::Other),
    service(500, "DeleteNodesRequest", Class::Other),
    service(503, "DeleteNodesResponse", Class::Other),
    service(506, "DeleteReferencesRequest", Class::Other),
    service(509, "DeleteReferencesResponse", Class::Other),
    service(527, "BrowseRequest", Class::Discovery),
    service(530, "BrowseResponse", Class::Discovery),
    service(533, "BrowseNextRequest", Class::Discovery),
    service(536, "BrowseNextResponse", Class::Discovery),
    service(554, "TranslateBrowsePathsToNodeIdsRequest", Class::Discovery),
    service(557, "TranslateBrowsePathsToNodeIdsResponse", Class::Discovery),
    service(560, "RegisterNodesRequest", Class::Other),
    service(563, "RegisterNodesResponse", Class::Other),
    service(566, "UnregisterNodesRequest", Class::Other),
    service(569, "UnregisterNodesResponse", Class::Other),
    service(615, "QueryFirstRequest", Class::Discovery),
    service(618, "QueryFirstResponse", Class::Discovery),
    service(621, "QueryNextRequest", Class::Discovery),
    service(624, "QueryNextResponse", Class::Discovery),
    service(631, "ReadRequest", Class::Other),
    service(634, "ReadResponse", Class::Other),
    service(664, "HistoryReadRequest", Class::Other),
    service(667, "HistoryReadResponse", Class::Other),
    service(673, "WriteRequest", Class::Other),
    service(676, "WriteResponse", Class::Ack),
    service(700, "HistoryUpdateRequest", Class::Other),
    service(703, "HistoryUpdateResponse", Class::Other),
    service(712, "CallRequest", Class::Other),
    service(715, "CallResponse", Class::Other),
    service(751, "CreateMonitoredItemsRequest", Class::Subscribe),
    service(754, "CreateMonitoredItemsResponse", Class::Subscribe),
    service(763, "ModifyMonitoredItemsRequest", Class::Subscribe),
    service(766, "ModifyMonitoredItemsResponse", Class::Subscribe),
    service(769, "SetMonitoringModeRequest", Class::Subscribe),
    service(772, "SetMonitoringModeResponse", Class::Subscribe),
    service(775, "SetTriggeringRequest", Class::Subscribe),
    service(778, "SetTriggeringResponse", Class::Subscribe),
    service(781, "DeleteMonitoredItemsRequest", Class::Subscribe),
    service(784, "DeleteMonitoredItemsResponse", Class::Subscribe),
    service(787, "CreateSubscriptionRequest", Class::Subscribe),
    service(790, "CreateSubscriptionResponse", Class::Subscribe),
    service(793, "ModifySubscriptionRequest", Class::Subscribe),
    service(796, "ModifySubscriptionResponse", Class::Subscribe),
    service(799, "SetPublishingModeRequest", Class::Subscribe),
    service(802, "SetPublishingModeResponse", Class::Subscribe),
    service(826, "PublishRequest", Class::Ack),
    service(829, "PublishResponse", Class::Other),
    service(832, "RepublishRequest", Class::Ack),
    service(835, "RepublishResponse", Class::Ack),
    service(841, "TransferSubscriptionsRequest", Class::Subscribe),
    service(844, "TransferSubscriptionsResponse", Class::Subscribe),
    service(847, "DeleteSubscriptionsRequest", Class::Subscribe),
    service(850, "DeleteSubscriptionsResponse", Class::Subscribe),
    service(12208, "FindServersOnNetworkRequest", Class::Discovery),
    service(12209, "FindServersOnNetworkResponse", Class::Discovery),
    service(12211, "RegisterServer2Request", Class::Discovery),
    service(12212, "RegisterServer2Response", Class::Discovery),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_in_order_and_found() {
        assert!(SERVICES.is_sorted_by(|a, b| a.id < b.id));
        for (id, name) in [
            (READ_REQUEST, "ReadRequest"),
            (READ_RESPONSE, "ReadResponse"),
            (WRITE_REQUEST, "WriteRequest"),
            (CREATE_MONITORED_ITEMS_REQUEST, "CreateMonitoredItemsRequest"),
            (PUBLISH_RESPONSE, "PublishResponse"),
        ] {
            assert_eq!(Service::of(id).map(|service| service.name), Some(name));
        }
        assert_eq!(Service::of(DATA_CHANGE_NOTIFICATION), None);
    }
}
