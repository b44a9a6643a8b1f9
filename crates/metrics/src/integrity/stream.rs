use super::{Checks, families, invalid, named};
use crate::level::Measured;
use crate::summary::Flag;
use crate::timing::{bears_tokens, gaps};

/// Share of the requests above which a way of answering is the server's way.
const NEARLY_ALL: f64 = 0.9;

/// Whether answers came as streams at all.
pub(super) fn check(checks: &mut Checks, measured: &Measured<'_>) {
    let (mut long, mut whole, mut several, mut burst) = (0_u64, 0_u64, 0_u64, 0_u64);
    for request in measured.level.successes() {
        let events = request.events.iter().filter(|event| bears_tokens(event)).count();
        if request.output_tokens.is_some_and(|tokens| tokens >= 2) && events >= 1 {
            long += 1;
            whole += u64::from(events == 1);
        }
        if events >= 2 {
            several += 1;
            burst += u64::from(gaps(request).iter().all(|gap| gap.coalesced));
        }
    }
    let nearly_all = |part: u64, all: u64| part > 0 && part as f64 >= NEARLY_ALL * all as f64;
    checks.check(nearly_all(whole, long).then(|| {
        flag(
            "not_streamed",
            format!(
                "The server did not stream: {whole} of {long} answers of several tokens came whole, in one event. Their first token is their last, so TTFT is the whole answer's time and there is no time per token."
            ),
        )
    }));
    checks.check(nearly_all(burst, several).then(|| {
        flag(
            "burst",
            format!(
                "All tokens of {burst} of {several} answers came in one read. TTFT and TPOT say nothing about the server; is there a buffering proxy?"
            ),
        )
    }));
}

fn flag(id: &str, text: String) -> Flag {
    let mut numbers = families(&["ttft", "tpot", "itl", "icl"]);
    numbers.extend(named(&["service_ttft_p50", "service_ttft_p95"]));
    invalid(id, numbers, text)
}
