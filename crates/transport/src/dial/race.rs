//! Several addresses of one name, tried as RFC 8305 (section 5) has it: the next one starts when the last has failed or
//! has been silent for a moment, and the first that connects wins. One that swallows packets does not use up the limit
//! for the connection.

use crate::TransportError;
use std::{future::Future, io, net::SocketAddr, time::Duration};
use tokio::{task::JoinSet, time::sleep};

/// The Connection Attempt Delay that RFC 8305 recommends.
const DELAY: Duration = Duration::from_millis(250);

/// The first connection that one of `addresses` takes; attempts start in their order. Those that are still under way then
/// are given up. An error is the last one that an address gave.
pub async fn race<T, F>(
    addresses: &[SocketAddr],
    connect: impl Fn(SocketAddr) -> F,
) -> Result<(SocketAddr, T), TransportError>
where
    T: Send + 'static,
    F: Future<Output = io::Result<T>> + Send + 'static,
{
    let failed = |address: SocketAddr, error: &io::Error| TransportError::connect(address, error);
    if let [address] = addresses {
        let only = connect(*address).await;
        return only.map(|socket| (*address, socket)).map_err(|error| failed(*address, &error));
    }
    let mut waiting = addresses.iter().copied();
    let mut attempts = JoinSet::new();
    let mut last = None;
    loop {
        if let Some(address) = waiting.next() {
            let attempt = connect(address);
            attempts.spawn(async move { (address, attempt.await) });
        }
        tokio::select! {
            biased;
            ended = attempts.join_next() => match ended {
                Some(Ok((address, Ok(socket)))) => return Ok((address, socket)),
                Some(Ok((address, Err(error)))) => last = Some(failed(address, &error)),
                // Attempts do not panic, and nobody else aborts them.
                Some(Err(_)) => {}
                None => return Err(last.unwrap_or_else(TransportError::no_address)),
            },
            () = sleep(DELAY), if waiting.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, future::pending, io::ErrorKind};
    use tokio::time::Instant;

    /// What an address does, and after how many milliseconds.
    #[derive(Clone, Copy)]
    enum Does {
        Take(u64),
        Refuse(u64),
        Swallow,
    }
    use Does::{Refuse, Swallow, Take};

    /// The index of the address that won, or the error, and when.
    async fn raced(script: &[Does]) -> (Result<u16, String>, u64) {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let addresses: Vec<_> = (0..).take(script.len()).map(address).collect();
        let does: BTreeMap<_, _> = addresses.iter().copied().zip(script.iter().copied()).collect();
        let begun = Instant::now();
        let connect = |address| {
            let does = does[&address];
            async move {
                let (after, result) = match does {
                    Take(after) => (after, Ok(address.port())),
                    Refuse(after) => (after, Err(ErrorKind::ConnectionRefused.into())),
                    Swallow => pending().await,
                };
                sleep(Duration::from_millis(after)).await;
                result
            }
        };
        let result = race(&addresses, connect).await;
        let taken = begun.elapsed().as_millis() as u64;
        if let Ok((address, socket)) = &result {
            assert_eq!(address.port(), *socket);
        }
        (result.map(|(_, port)| port).map_err(|error| error.to_string()), taken)
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_address_holds_the_next_back_for_a_moment_only() {
        assert_eq!(raced(&[Swallow, Take(5)]).await, (Ok(1), 250 + 5));
        assert_eq!(raced(&[Swallow, Swallow, Swallow, Take(5)]).await, (Ok(3), 750 + 5));
        assert_eq!(raced(&[Swallow, Refuse(10), Take(5)]).await, (Ok(2), 250 + 10 + 5));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_refuses_holds_nobody_back() {
        assert_eq!(raced(&[Refuse(3), Refuse(3), Take(5)]).await, (Ok(2), 11));
        let (result, at) = raced(&[Refuse(3), Refuse(400), Refuse(7)]).await;
        // The third starts at 253 and fails at 260, the second at 403.
        assert_eq!(at, 403);
        assert!(result.unwrap_err().starts_with("cannot connect to 127.0.0.1:1: "));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_to_connect_wins_whenever_it_began() {
        assert_eq!(raced(&[Take(249), Take(0)]).await, (Ok(0), 249));
        assert_eq!(raced(&[Take(300), Swallow]).await, (Ok(0), 300));
        assert_eq!(raced(&[Take(300), Take(10)]).await, (Ok(1), 260));
    }

    #[tokio::test(start_paused = true)]
    async fn one_address_or_none() {
        assert_eq!(raced(&[Take(900)]).await, (Ok(0), 900));
        assert!(raced(&[Refuse(1)]).await.0.unwrap_err().contains("127.0.0.1:0"));
        assert_eq!(raced(&[]).await, (Err("the host name has no address".to_owned()), 0));
    }
}
