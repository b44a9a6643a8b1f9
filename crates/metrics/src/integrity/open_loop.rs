use super::{Checks, families, invalid, named, response, warn};
use crate::level::Measured;
use crate::open_loop::Arriving;

/// The flag of a rate with which the server does not keep up.
pub(crate) const NOT_STEADY: &str = "not_steady";

/// The checks that only an open loop needs.
pub(super) fn check(checks: &mut Checks, measured: &Measured<'_>, arriving: &Arriving) {
    checks.check(arriving.grew.then(|| {
        let mut numbers = families(&["ttft", "e2e"]);
        numbers.extend(response());
        // What waits is booked when it ends, so the histograms lag behind the backlog.
        numbers.extend(named(&["server_waiting", "server_queue_mean"]));
        let [first, .., last] = arriving.quarters;
        invalid(
            NOT_STEADY,
            numbers,
            format!(
                "Not steady: the backlog grew from {first:.1} requests in the first quarter of the window to {last:.1} in the last, with {} arrivals and {} ends. Above capacity waiting grows as long as the window is, so that no latency describes this rate; throughput is the server's capacity.",
                arriving.offered, arriving.over
            ),
        )
    }));
    checks.check((arriving.capped > 0).then(|| {
        invalid(
            "not_open_loop",
            named(&["service_ttft_p50", "service_ttft_p95", "service_e2e_p50", "service_e2e_p95"]),
            format!(
                "Not an open loop: {} of {} measured requests ({:.1} %) waited for the cap on requests in flight. The waiting is part of their response time; service times leave it out and are withheld.",
                arriving.capped,
                measured.level.cohort.len(),
                100.0 * arriving.capped as f64 / measured.level.cohort.len().max(1) as f64
            ),
        )
    }));
    checks.check(measured.level.ended_early.map(|why| {
        warn("ended_early", named(&["offered_req_s"]), format!("The level ended before its time: {why}."))
    }));
    let unsent = measured.level.cohort.iter().filter(|request| request.sent_ns.is_none()).count();
    checks.check((unsent > 0).then(|| {
        warn(
            "arrivals_not_sent",
            named(&["offered_req_s"]),
            format!("{unsent} measured requests arrived by schedule and were never sent; they count as offered and as failed."),
        )
    }));
}
