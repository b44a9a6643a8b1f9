//! Every formula by its id.

/// A formula that a [`crate::Number`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The id in [`crate::Number::formula`].
    pub id: &'static str,
    /// The formula.
    pub text: &'static str,
    /// What it means or where it comes from.
    pub source: &'static str,
}

/// All formulas, by id.
pub fn all() -> &'static [Formula] {
    FORMULAS
}

/// The formula of this id.
pub fn get(id: &str) -> Option<&'static Formula> {
    FORMULAS.binary_search_by(|formula| formula.id.cmp(id)).ok().and_then(|index| FORMULAS.get(index))
}

const fn formula(id: &'static str, text: &'static str, source: &'static str) -> Formula {
    Formula { id, text, source }
}

/// How every quantile of a sample is made.
pub const QUANTILE: &str = "A quantile is of type 7 (Hyndman and Fan 1996), with a 95 % interval between two order statistics (Hahn and Meeker 1991).";

const FORMULAS: &[Formula] = &[
    formula(
        "backlog_growth",
        "requests due before t1 and not over, less those due before t0 and not over",
        "above capacity it grows as long as the window is",
    ),
    formula(
        "busiest_thread",
        "largest over worker threads of processor time / time, over samples whose middle lies in [t0, t1)",
        "the system's accounting per thread",
    ),
    formula(
        "capped_share",
        "measured requests that waited for the cap on requests in flight / measured requests",
        "0 in an open loop",
    ),
    formula(
        "client_lag_quantile",
        "largest time between the read that brought an event and its use, per measured request; quantile",
        "the client's own delay after reading",
    ),
    formula(
        "coalesced_share",
        "gaps between token-bearing events that came in one read / all such gaps",
        "events of one read share a stamp",
    ),
    formula(
        "connect_max",
        "largest time to connect, over measured requests that had to",
        "TCP, and the proxy's part",
    ),
    formula(
        "connect_quantile",
        "time to connect, over measured requests that had to; quantile",
        "TCP, and the proxy's part",
    ),
    formula(
        "cycle_client",
        "C - in_flight - Σ |[sent - connect - tls, sent] ∩ [t0, t1)| / (t1 - t0)",
        "cycle budget C = client + network + queue + service: slots neither in flight nor waiting for a new connection",
    ),
    formula(
        "cycle_network",
        "C - cycle_client - queue - service",
        "cycle budget: between client and engine (connecting, network, front end, tokenizer), and the error of the others",
    ),
    formula(
        "cycle_queue",
        "requests waiting: server_waiting, or its gauge from 20 scrapes on",
        "cycle budget: waiting for admission",
    ),
    formula(
        "cycle_service",
        "requests in the batch: server_running, or its gauge from 20 scrapes on",
        "cycle budget: being served",
    ),
    formula(
        "e2e_max",
        "largest of last_token - due, over complete measured requests",
        "from the intended start to the last token",
    ),
    formula(
        "e2e_mean",
        "mean of last_token - due, over complete measured requests",
        "from the intended start to the last token",
    ),
    formula(
        "e2e_quantile",
        "last_token - due, over complete measured requests; quantile",
        "from the intended start to the last token",
    ),
    formula("events_s", "events of all streams in [t0, t1) / (t1 - t0)", "what this client had to read"),
    formula(
        "finish_lag_quantile",
        "end - last_token, over complete measured requests; quantile",
        "usage, [DONE] and the end of the body",
    ),
    formula(
        "icl_max",
        "largest of gaps between neighbouring token-bearing events",
        "gaps between events as they arrive",
    ),
    formula(
        "icl_mean",
        "mean of gaps between neighbouring token-bearing events",
        "gaps between events as they arrive",
    ),
    formula(
        "icl_quantile",
        "gaps between neighbouring token-bearing events; quantile",
        "gaps between events as they arrive",
    ),
    formula("in_flight", "Σ |[sent, end] ∩ [t0, t1)| / (t1 - t0)", "exact time average"),
    formula(
        "in_flight_peak",
        "largest number of [sent, end) that overlap inside [t0, t1)",
        "exact; an end comes before a start at the same instant",
    ),
    formula(
        "input_tok_s",
        "prompt tokens of the requests whose first token arrived in [t0, t1) / (t1 - t0)",
        "windowed throughput, every phase's requests",
    ),
    formula(
        "itl_max",
        "largest of each gap between token-bearing events, spread over the tokens of the event that ends it",
        "gaps between tokens",
    ),
    formula(
        "itl_mean",
        "mean of each gap between token-bearing events, spread over the tokens of the event that ends it",
        "gaps between tokens",
    ),
    formula(
        "itl_quantile",
        "each gap between token-bearing events, spread over the tokens of the event that ends it; quantile",
        "gaps between tokens",
    ),
    formula(
        "kernel_lag_quantile",
        "largest time between the kernel's receipt of bytes and their read, per measured request, looked at once in 0.1 ms of a thread's reads, with every fourth while it is late; quantile",
        "the client's own delay before reading",
    ),
    formula(
        "kv_usage_max",
        "largest value of the gauge over scrapes in [t0, t1), stale ones left out",
        "the server's gauge",
    ),
    formula(
        "kv_usage_mean",
        "mean of the gauge over scrapes in [t0, t1), stale ones left out",
        "the server's gauge",
    ),
    formula(
        "new_connection_share",
        "measured requests that had to open a connection / measured requests",
        "0 with connections that are kept",
    ),
    formula(
        "offered_req_s",
        "requests due in [t0, t1) / (t1 - t0)",
        "the schedule, whatever the server does",
    ),
    formula(
        "output_tok_s",
        "output tokens whose event arrived in [t0, t1) / (t1 - t0); a request's tokens lie evenly on its token-bearing events unless the server counts them per event",
        "windowed throughput, every phase's requests",
    ),
    formula(
        "output_tokens_mean",
        "mean of n, over complete measured requests",
        "the server's usage, or the named tokenizer",
    ),
    formula(
        "prefix_hit_rate",
        "growth of prefix cache hits / growth of prefix cache queries, in tokens, in [t0, t1)",
        "the server's counters",
    ),
    formula(
        "process_cpu",
        "processor time of this process / time, over samples whose middle lies in [t0, t1)",
        "the system's accounting",
    ),
    formula(
        "req_s",
        "complete requests that ended in (t0, t1] / (t1 - t0)",
        "windowed throughput, every phase's requests",
    ),
    formula(
        "response_max",
        "largest of end - due, over complete measured requests",
        "response time from the intended start to the end of the body",
    ),
    formula(
        "response_mean",
        "mean of end - due, over complete measured requests",
        "response time from the intended start to the end of the body",
    ),
    formula(
        "response_quantile",
        "end - due, over complete measured requests; quantile",
        "response time from the intended start to the end of the body",
    ),
    formula(
        "retransmits",
        "TCP segments sent again, all connections of the network namespace, in [t0, t1)",
        "the system's counter",
    ),
    formula(
        "runtime_lag_quantile",
        "lateness of the workers' runtimes at the ticks of a heartbeat in [t0, t1); quantile",
        "a busy runtime is late for everything",
    ),
    formula(
        "send_delay_quantile",
        "sent - due - connect - tls, over measured requests that met no cap and were not sent again; quantile",
        "the client's own delay before sending",
    ),
    formula(
        "server_queue_mean",
        "growth of the sum of queue times / growth of their count",
        "the server's histogram",
    ),
    formula(
        "server_running",
        "growth of the sum of inference times in [t0, t1) / (t1 - t0); linear between scrapes",
        "Little 1961, on the server's own stamps",
    ),
    formula(
        "server_running_gauge",
        "mean of the gauge over scrapes in [t0, t1), stale ones left out",
        "the server's gauge",
    ),
    formula(
        "server_scrapes",
        "scrapes in [t0, t1), stale ones included",
        "successful reads of the metrics page",
    ),
    formula(
        "server_ttft_quantile",
        "quantile of the histogram's growth, linear in its bucket",
        "PromQL histogram_quantile",
    ),
    formula(
        "server_waiting",
        "growth of the sum of queue times in [t0, t1) / (t1 - t0); linear between scrapes",
        "Little 1961, on the server's own stamps",
    ),
    formula(
        "server_waiting_gauge",
        "mean of the gauge over scrapes in [t0, t1), stale ones left out",
        "the server's gauge",
    ),
    formula(
        "server_waiting_share",
        "scrapes in [t0, t1) with waiting > 0 / scrapes in [t0, t1), stale ones left out",
        "the server's gauge",
    ),
    formula(
        "service_e2e_quantile",
        "last_token - sent, over complete measured requests; quantile",
        "the same as e2e without the client's own delay or cap",
    ),
    formula(
        "service_ttft_quantile",
        "first_token - sent, over complete measured requests; quantile",
        "time to first token without the client's own delay",
    ),
    formula(
        "steal",
        "processor time that other virtual machines took / time, in [t0, t1)",
        "the system's accounting",
    ),
    formula(
        "throttled",
        "time that the control group's quota stopped this process in [t0, t1)",
        "the control group's counter",
    ),
    formula(
        "tls_max",
        "largest time of a TLS handshake, over measured requests that had to wait for one",
        "part of making a connection",
    ),
    formula(
        "tls_quantile",
        "time of the TLS handshake, over measured requests that had to wait for one; quantile",
        "part of making a connection",
    ),
    formula(
        "token_share",
        "output tokens of a target's measured requests / those of all",
        "1 / targets when they share alike",
    ),
    formula(
        "tokens_per_chunk",
        "Σ (n - 1) / Σ (token-bearing events - 1), over complete measured requests",
        "1 when each event is one token",
    ),
    formula(
        "tpot_max",
        "largest of (last_token - first_token) / (n - 1), over complete measured requests with at least 10 output tokens",
        "time per output token after the first",
    ),
    formula(
        "tpot_mean",
        "mean of (last_token - first_token) / (n - 1), over complete measured requests with at least 2 output tokens",
        "time per output token after the first",
    ),
    formula(
        "tpot_quantile",
        "(last_token - first_token) / (n - 1), over complete measured requests with at least 10 output tokens; quantile",
        "time per output token after the first",
    ),
    formula(
        "ttft_max",
        "largest of first_token - due, over complete measured requests",
        "time to first token from the intended start",
    ),
    formula(
        "ttft_mean",
        "mean of first_token - due, over complete measured requests",
        "time to first token from the intended start",
    ),
    formula(
        "ttft_quantile",
        "first_token - due, over complete measured requests; quantile",
        "time to first token from the intended start",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_and_are_found() {
        assert!(all().windows(2).all(|pair| pair[0].id < pair[1].id));
        assert_eq!(get("tpot_mean").map(|formula| formula.id), Some("tpot_mean"));
        assert_eq!(get("tpot"), None);
    }
}
