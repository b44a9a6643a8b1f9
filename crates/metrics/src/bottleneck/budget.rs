use crate::server::ServerLoad;
use plimsoll_record::Level;

/// Fewest scrapes inside the window for gauges to be evidence.
pub(crate) const SCRAPES: u64 = 20;

/// Fewest requests that must finish inside the window for the histograms' sums to be evidence.
const FINISHED: f64 = 10.0;

/// Share at which time between client and engine matters.
pub(super) const NETWORK: f64 = 0.10;

/// What the server's part of a budget rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    Histogram,
    Gauge,
}

impl Basis {
    pub const fn source(self) -> &'static str {
        match self {
            Self::Histogram => "server histogram",
            Self::Gauge => "server gauge",
        }
    }
}

/// Where the requests are on average; the parts sum to the concurrency, in an open loop to the requests under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub level: Level,
    /// In flight, or waiting for a new connection.
    pub under_way: f64,
    /// Of these, waiting for a new connection: its time is the network's, not a gap of the client.
    pub connecting: f64,
    /// None in an open loop, which has no slots.
    pub client: Option<f64>,
    pub network: f64,
    pub queue: f64,
    pub service: f64,
    pub basis: Basis,
    /// Requests or scrapes behind the server's part.
    pub n: u64,
    /// The most that ran at once as far as the gauge saw.
    pub running_max: Option<f64>,
    pub waiting_share: Option<f64>,
    pub kv_mean: Option<f64>,
    pub kv_max: Option<f64>,
    pub preemptions: Option<f64>,
}

impl Budget {
    /// While a backlog grows (`grew`) the histograms do not count: what waits now is booked when it ends.
    pub fn of(
        level: Level,
        in_flight: f64,
        connecting: f64,
        server: &ServerLoad,
        grew: bool,
    ) -> Result<Self, String> {
        let gauges = &server.gauges;
        let (service, queue, basis, n) = match (
            &server.running,
            &server.waiting,
            gauges.running.zip(gauges.waiting),
        ) {
            (Ok(running), Ok(waiting), _) if server.finished >= FINISHED && !grew => {
                (*running, *waiting, Basis::Histogram, server.finished as u64)
            }
            (_, _, Some((running, waiting))) if gauges.used >= SCRAPES => {
                (running, waiting, Basis::Gauge, gauges.used)
            }
            _ if grew => {
                return Err(format!(
                    "the backlog grew, so that only gauges could show what waits; {} usable scrapes fell inside the window, {SCRAPES} are needed",
                    gauges.used
                ));
            }
            (Err(fell), _, _) | (_, Err(fell), _) => {
                return Err(format!(
                    "the server's histograms of inference and queue time: {}; its gauges: {} usable scrapes inside the window, {SCRAPES} are needed",
                    fell.0, gauges.used
                ));
            }
            _ => {
                return Err(format!(
                    "only {:.0} requests finished and {} usable scrapes fell inside the window; {FINISHED:.0} or {SCRAPES} are needed",
                    server.finished, gauges.used
                ));
            }
        };
        let under_way = in_flight + connecting;
        let network = under_way - queue - service;
        let whole = level.concurrency().map_or(under_way.max(1.0), f64::from);
        if network < -NETWORK * whole {
            return Err(format!(
                "the server held {:.2} requests on average, this client only {in_flight:.2} in flight: other traffic, or a window too short for requests of this length",
                queue + service
            ));
        }
        Ok(Self {
            level,
            under_way,
            connecting,
            client: level.concurrency().map(|slots| f64::from(slots) - under_way),
            network,
            queue,
            service,
            basis,
            n,
            running_max: gauges.running_max,
            waiting_share: gauges.waiting_share.filter(|_| gauges.used >= SCRAPES),
            kv_mean: gauges.kv_mean,
            kv_max: gauges.kv_max,
            preemptions: server.preemptions,
        })
    }

    /// The most that this level shows to run at once.
    pub fn most_running(&self) -> f64 {
        self.running_max.unwrap_or(0.0).max(self.service)
    }

    /// What the parts sum to: the slots, or the requests under way of an open loop.
    pub fn whole(&self) -> f64 {
        self.level.concurrency().map_or(self.under_way, f64::from)
    }

    /// The parts by name.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let client = self.client.map(|client| ("client", client));
        let others =
            [("network and front end", self.network), ("queue", self.queue), ("service", self.service)];
        client.into_iter().chain(others)
    }
}
