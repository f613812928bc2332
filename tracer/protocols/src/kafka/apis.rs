//! Kafka's APIs (protocol guide, "Api Keys"): names, versions, headers and purposes.

use wirelap_events::FrameClass;
use wirelap_events::FrameClass::{Ack, Discovery, KeepAlive, Opaque, Other, Session, Subscribe};

/// The key of Produce.
pub(super) const PRODUCE: i16 = 0;
/// The key of Fetch.
pub(super) const FETCH: i16 = 1;
/// The key of Metadata.
pub(super) const METADATA: i16 = 3;
/// The key of `OffsetCommit`.
pub(super) const OFFSET_COMMIT: i16 = 8;
/// The key of `OffsetFetch`.
pub(super) const OFFSET_FETCH: i16 = 9;
/// The key of `SaslHandshake`.
pub(super) const SASL_HANDSHAKE: i16 = 17;
/// The key of `ShareFetch`.
pub(super) const SHARE_FETCH: i16 = 78;
/// The key of `ApiVersions`.
pub(super) const API_VERSIONS: i16 = 18;

/// Number of versions above the newest published one that are still considered valid.
const VERSIONS_TO_COME: i16 = 4;

/// One API: a kind of request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Api {
    /// The name of the request's frame.
    pub request: &'static str,
    /// The name of the response's frame.
    pub response: &'static str,
    /// The newest version in Kafka 4.3, or the last one before the API was removed.
    pub newest: i16,
    /// The first version with flexible headers and bodies (KIP-482).
    pub flexible: i16,
    /// The class of its frames; for a request or response that may carry records, the class without records.
    pub class: FrameClass,
}

/// The value of [`Api::flexible`] if no version is flexible.
const NEVER: i16 = i16::MAX;

macro_rules! apis {
    ($($key:literal $name:ident $newest:literal $flexible:tt $class:ident;)*) => {
        /// The API with this key.
        pub(super) fn of(key: i16) -> Option<&'static Api> {
            Some(match key {
                $($key => &Api {
                    request: concat!(stringify!($name), "Request"),
                    response: concat!(stringify!($name), "Response"),
                    newest: $newest,
                    flexible: $flexible,
                    class: $class,
                },)*
                _ => return None,
            })
        }

        #[cfg(test)]
        const KEYS: &[i16] = &[$($key),*];
    };
}

// Key, name, newest version, first flexible version, class. Joining a group and finding the offset to read from are
// `Subscribe`; storing an offset is `Ack`.
apis! {
    0 Produce 13 9 Ack;
    1 Fetch 18 12 Other;
    2 ListOffsets 11 6 Subscribe;
    3 Metadata 13 9 Discovery;
    4 LeaderAndIsr 7 4 Other;
    5 StopReplica 4 2 Other;
    6 UpdateMetadata 8 6 Discovery;
    7 ControlledShutdown 3 3 Session;
    8 OffsetCommit 10 8 Ack;
    9 OffsetFetch 10 6 Subscribe;
    10 FindCoordinator 6 3 Discovery;
    11 JoinGroup 9 6 Subscribe;
    12 Heartbeat 4 4 KeepAlive;
    13 LeaveGroup 5 4 Subscribe;
    14 SyncGroup 5 4 Subscribe;
    15 DescribeGroups 6 5 Other;
    16 ListGroups 5 3 Other;
    17 SaslHandshake 1 NEVER Session;
    18 ApiVersions 4 3 Session;
    19 CreateTopics 7 5 Other;
    20 DeleteTopics 6 4 Other;
    21 DeleteRecords 2 2 Other;
    22 InitProducerId 6 2 Session;
    23 OffsetForLeaderEpoch 4 4 Subscribe;
    24 AddPartitionsToTxn 5 3 Other;
    25 AddOffsetsToTxn 4 3 Other;
    26 EndTxn 5 3 Other;
    27 WriteTxnMarkers 2 1 Other;
    28 TxnOffsetCommit 5 3 Ack;
    29 DescribeAcls 3 2 Other;
    30 CreateAcls 3 2 Other;
    31 DeleteAcls 3 2 Other;
    32 DescribeConfigs 4 4 Other;
    33 AlterConfigs 2 2 Other;
    34 AlterReplicaLogDirs 2 2 Other;
    35 DescribeLogDirs 5 2 Other;
    36 SaslAuthenticate 2 2 Session;
    37 CreatePartitions 3 2 Other;
    38 CreateDelegationToken 3 2 Session;
    39 RenewDelegationToken 2 2 Session;
    40 ExpireDelegationToken 2 2 Session;
    41 DescribeDelegationToken 3 2 Other;
    42 DeleteGroups 2 2 Other;
    43 ElectLeaders 2 2 Other;
    44 IncrementalAlterConfigs 1 1 Other;
    45 AlterPartitionReassignments 1 0 Other;
    46 ListPartitionReassignments 0 0 Other;
    47 OffsetDelete 0 NEVER Other;
    48 DescribeClientQuotas 1 1 Other;
    49 AlterClientQuotas 1 1 Other;
    50 DescribeUserScramCredentials 0 0 Other;
    51 AlterUserScramCredentials 0 0 Other;
    52 Vote 2 0 Other;
    53 BeginQuorumEpoch 1 1 Other;
    54 EndQuorumEpoch 1 1 Other;
    55 DescribeQuorum 2 0 Other;
    56 AlterPartition 3 0 Other;
    57 UpdateFeatures 2 0 Other;
    58 Envelope 0 0 Opaque;
    59 FetchSnapshot 1 0 Other;
    60 DescribeCluster 2 0 Discovery;
    61 DescribeProducers 0 0 Other;
    62 BrokerRegistration 4 0 Session;
    63 BrokerHeartbeat 2 0 KeepAlive;
    64 UnregisterBroker 0 0 Session;
    65 DescribeTransactions 0 0 Other;
    66 ListTransactions 2 0 Other;
    67 AllocateProducerIds 0 0 Session;
    68 ConsumerGroupHeartbeat 1 0 KeepAlive;
    69 ConsumerGroupDescribe 1 0 Other;
    70 ControllerRegistration 0 0 Session;
    71 GetTelemetrySubscriptions 0 0 Other;
    72 PushTelemetry 0 0 Other;
    73 AssignReplicasToDirs 0 0 Other;
    74 ListConfigResources 1 0 Other;
    75 DescribeTopicPartitions 0 0 Discovery;
    76 ShareGroupHeartbeat 1 0 KeepAlive;
    77 ShareGroupDescribe 1 0 Other;
    78 ShareFetch 2 0 Other;
    79 ShareAcknowledge 2 0 Ack;
    80 AddRaftVoter 1 0 Other;
    81 RemoveRaftVoter 0 0 Other;
    82 UpdateRaftVoter 0 0 Other;
    83 InitializeShareGroupState 0 0 Other;
    84 ReadShareGroupState 0 0 Other;
    85 WriteShareGroupState 1 0 Other;
    86 DeleteShareGroupState 0 0 Other;
    87 ReadShareGroupStateSummary 1 0 Other;
    88 StreamsGroupHeartbeat 0 0 KeepAlive;
    89 StreamsGroupDescribe 0 0 Other;
    90 DescribeShareGroupOffsets 1 0 Other;
    91 AlterShareGroupOffsets 0 0 Other;
    92 DeleteShareGroupOffsets 0 0 Other;
}

/// A request's API key and version. The response does not repeat them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ApiCall {
    pub key: i16,
    pub version: i16,
}

impl ApiCall {
    /// The call, if the API exists and may have this version.
    pub fn plausible(key: i16, version: i16) -> Option<(ApiCall, &'static Api)> {
        let api = of(key)?;
        let versions = 0..=api.newest.saturating_add(VERSIONS_TO_COME);
        versions.contains(&version).then_some((ApiCall { key, version }, api))
    }

    /// True if the bodies of request and response are flexible.
    pub fn is_flexible(self) -> bool {
        of(self.key).is_some_and(|api| self.version >= api.flexible)
    }

    /// True if the response's header ends with a tag buffer (header version 1). That of `ApiVersions` never does, because the
    /// client does not know yet which versions the server supports (KIP-511).
    pub fn has_flexible_response_header(self) -> bool {
        self.is_flexible() && self.key != API_VERSIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_without_gaps() {
        let all: Vec<i16> = (0..=92).collect();
        assert_eq!(KEYS, all);
        assert_eq!((of(-1), of(93)), (None, None));
    }

    #[test]
    fn versions_have_an_end() {
        assert!(ApiCall::plausible(PRODUCE, 13).is_some());
        assert!(ApiCall::plausible(PRODUCE, -1).is_none());
        assert!(ApiCall::plausible(PRODUCE, 18).is_none());
    }

    #[test]
    fn headers_are_flexible_where_kip_482_says_so() {
        let flexible = |key, version| ApiCall { key, version }.has_flexible_response_header();
        assert!(!flexible(PRODUCE, 8) && flexible(PRODUCE, 9));
        assert!(!flexible(FETCH, 11) && flexible(FETCH, 12));
        assert!(!flexible(API_VERSIONS, 4), "but its request's header is");
        assert!(ApiCall { key: API_VERSIONS, version: 3 }.is_flexible());
        assert!(!flexible(17, 1));
    }
}
