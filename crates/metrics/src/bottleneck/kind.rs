//! From the parts to the finding.

use super::Evidence;
use super::budget::{Budget, NETWORK};
use crate::summary::BottleneckKind;

/// Share of the slots at which what the client leaves empty matters.
const CLIENT: f64 = 0.05;
/// Share above which the client, not the server, decides.
const CLIENT_DECIDES: f64 = 0.25;
/// Running at this share of the most seen is a full batch. A busy front end leaves holes between one request and the
/// next, and the sums are booked when a request ends; both keep a full batch from reading 1.
const FULL: f64 = 0.85;
/// KV use at which blocks, not slots, limit admission.
const KV_FULL: f64 = 0.9;

impl Budget {
    pub(super) fn kind(&self, of: &Evidence<'_>) -> BottleneckKind {
        match self.client {
            Some(client) => self.closed(client, of.most),
            None => self.open(of),
        }
    }

    /// In a closed loop; `most` is the largest batch that any level shows.
    pub(super) fn closed(&self, client: f64, most: f64) -> BottleneckKind {
        let slots = self.whole();
        let client_matters = client >= CLIENT * slots;
        let network_matters = self.network > NETWORK * slots;
        let full = self.service >= FULL * most;
        if !self.waits() {
            return match (network_matters, client_matters) {
                (true, _) if self.network >= client => BottleneckKind::Network,
                (_, true) => BottleneckKind::Client,
                _ => BottleneckKind::UnderLoaded,
            };
        }
        // Requests wait in the server. That decides unless more slots are lost before they reach it.
        let outside = if self.network >= client { network_matters } else { client_matters };
        if outside && self.network.max(client) > self.queue {
            return if self.network >= client {
                BottleneckKind::Network
            } else if full && client <= CLIENT_DECIDES * slots {
                BottleneckKind::Mixed
            } else {
                BottleneckKind::Client
            };
        }
        if self.blocks_are_short() || !full {
            BottleneckKind::ServerAdmission
        } else if client_matters {
            BottleneckKind::Mixed
        } else {
            BottleneckKind::ServerSlots
        }
    }

    /// In an open loop, bursts make requests wait at times below any limit, so that waiting alone shows none.
    fn open(&self, of: &Evidence<'_>) -> BottleneckKind {
        if self.waits() && self.service >= FULL * of.most {
            return BottleneckKind::ServerSlots;
        }
        if self.waits() && (of.grew || self.blocks_are_short()) {
            return BottleneckKind::ServerAdmission;
        }
        match (of.grew, of.capped) {
            (_, true) => BottleneckKind::Client,
            (true, _) if self.network > NETWORK * self.whole() => BottleneckKind::Network,
            (true, _) => BottleneckKind::CannotJudge,
            _ => BottleneckKind::UnderLoaded,
        }
    }

    fn waits(&self) -> bool {
        let enough = (CLIENT * self.whole()).clamp(0.05, 0.5);
        self.queue >= enough || self.waiting_share.is_some_and(|share| share >= 0.8)
    }

    fn blocks_are_short(&self) -> bool {
        self.kv_mean.is_some_and(|kv| kv >= KV_FULL)
            || (self.preemptions.is_some_and(|count| count > 0.0) && self.kv_max.is_some_and(|kv| kv >= 0.95))
    }
}
