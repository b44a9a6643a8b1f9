//! What the mock did: the truth that reported figures are held against.

use serde::{Deserialize, Serialize};

/// Every request of one client, in order of arrival. Times are of the system's monotonic clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    pub requests: Vec<Answered>,
}

/// One request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// Its body was read.
    pub arrival_ns: u64,
    /// Each token was handed to the connection.
    pub tokens_ns: Vec<u64>,
    /// All of them were.
    pub completed: bool,
}

/// Medians and 99th percentiles, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub ttft: [Option<f64>; 2],
    pub itl: [Option<f64>; 2],
}

/// What a client calls its time between tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Each gap between two tokens, of all requests together.
    Pooled,
    /// The mean gap of each request.
    PerRequest,
}

impl Truth {
    /// Tokens that were sent.
    pub fn tokens(&self) -> usize {
        self.requests.iter().map(|request| request.tokens_ns.len()).sum()
    }

    /// The figures of requests `from..from + n`, by arrival. The first ones of a client may be probes and warm-up.
    pub fn figures(&self, from: usize, n: usize, gaps: Gaps) -> Figures {
        let mut sorted: Vec<&Answered> = self.requests.iter().collect();
        sorted.sort_by_key(|request| request.arrival_ns);
        let measured = sorted.into_iter().skip(from).take(n).filter(|request| request.completed);
        let (mut ttft, mut itl) = (Vec::new(), Vec::new());
        for request in measured {
            let tokens = &request.tokens_ns;
            let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { continue };
            ttft.push(millis(request.arrival_ns, *first));
            match gaps {
                Gaps::Pooled => itl.extend(tokens.windows(2).filter_map(|pair| match pair {
                    [before, after] => Some(millis(*before, *after)),
                    _ => None,
                })),
                Gaps::PerRequest if tokens.len() > 1 => {
                    itl.push(millis(*first, *last) / (tokens.len() - 1) as f64);
                }
                Gaps::PerRequest => {}
            }
        }
        Figures { ttft: quantiles(ttft), itl: quantiles(itl) }
    }
}

fn millis(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}

/// Median and 99th percentile, linear between order statistics (Hyndman and Fan 1996, type 7), as most clients do.
fn quantiles(mut values: Vec<f64>) -> [Option<f64>; 2] {
    values.sort_by(f64::total_cmp);
    [0.5, 0.99].map(|q| {
        let place = q * values.len().checked_sub(1)? as f64;
        let low = *values.get(place.floor() as usize)?;
        let high = *values.get(place.ceil() as usize)?;
        Some(low + (high - low) * place.fract())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arrival_ms: u64, tokens_ms: &[u64]) -> Answered {
        let tokens_ns = tokens_ms.iter().map(|ms| ms * 1_000_000).collect();
        Answered { arrival_ns: arrival_ms * 1_000_000, tokens_ns, completed: true }
    }

    #[test]
    fn figures_are_of_the_measured_requests_only() {
        let probe = request(0, &[900]);
        let truth = Truth { requests: vec![request(20, &[30, 50]), request(10, &[15, 25, 35]), probe] };
        let found = truth.figures(1, 2, Gaps::Pooled);
        assert_eq!((found.ttft[0], found.itl), (Some(7.5), [Some(10.0), Some(19.8)]));
        let found = truth.figures(1, 2, Gaps::PerRequest);
        assert_eq!(found.itl, [Some(15.0), Some(19.9)]);
        assert_eq!((truth.tokens(), truth.figures(3, 2, Gaps::Pooled)), (6, Figures::default()));
    }
}
