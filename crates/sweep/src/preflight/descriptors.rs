//! Is there an open file for every connection?

use crate::{Link, SweepError};
use plimsoll_record::Plan;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files beside the connections: the run folder's, the metrics page's, the terminal's.
const SPARE: u64 = 32;
/// Open files of a worker's runtime.
const WORKER: u64 = 8;

/// Raises this process's limit on open files as far as the plan needs. An error says what it should be: otherwise a level
/// ends in failed connections that look like the server's.
pub fn check(plan: &Plan, link: &Link) -> Result<(), SweepError> {
    let level = u64::from(plan.concurrency.iter().copied().max().unwrap_or(0));
    // The embedded mock holds the other ends in the same process.
    let connections = match link {
        Link::Url => level,
        Link::Embedded(_) => 2 * level,
        Link::Memory(_) => return Ok(()),
    };
    ensure(connections + SPARE + WORKER * u64::from(plan.workers))
        .map_err(|limit| SweepError::usage(told(level, limit)))
}

/// A limit that is too low, and what it should be.
#[derive(Debug)]
struct TooFew {
    limit: u64,
    needed: u64,
}

fn ensure(needed: u64) -> Result<(), TooFew> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    let raise = || setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).is_ok();
    if enough(current) || (enough(maximum) && raise()) {
        return Ok(());
    }
    Err(TooFew { limit: maximum.or(current).unwrap_or_default(), needed })
}

fn told(level: u64, TooFew { limit, needed }: TooFew) -> String {
    format!(
        "--concurrency: {level} connections at once need {needed} open files, and this process may have {limit}; raise \
         the limit (`ulimit -n {needed}`), or ask for less"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_as_far_as_it_may_be() {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        ensure(1).unwrap();
        assert_eq!(getrlimit(Resource::Nofile).current, current, "not touched without need");
        if let Some(maximum) = maximum {
            ensure(maximum).unwrap();
            assert_eq!(getrlimit(Resource::Nofile).current, Some(maximum));
            let text = told(9, ensure(maximum + 1).unwrap_err());
            assert!(text.contains(&format!("may have {maximum};")), "{text}");
        }
    }

    #[test]
    fn the_embedded_server_needs_as_many_again() {
        let plan = Plan { concurrency: vec![1, u32::MAX], ..Plan::default() };
        let limit = getrlimit(Resource::Nofile).maximum;
        if limit.is_some_and(|limit| limit < u64::from(u32::MAX)) {
            for (link, needed) in [
                (Link::Url, u64::from(u32::MAX) + 40),
                (Link::Embedded(String::new()), 2 * u64::from(u32::MAX) + 40),
            ] {
                let error = check(&plan, &link).unwrap_err().to_string();
                assert!(error.contains(&format!("need {needed} open files")), "{error}");
            }
        }
    }
}
