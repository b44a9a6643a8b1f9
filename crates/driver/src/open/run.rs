use super::Pool;
use crate::{DriverError, Pacer, Prepared, Stream, Supply, Worker, site::Site, user::User};
use plimsoll_record::{Nanos, Phase};
use plimsoll_transport::Clock;
use std::{cell::RefCell, rc::Rc, time::Duration};
use tokio::{
    task::{JoinError, JoinSet, coop::consume_budget},
    time::Instant,
};

/// Sends the worker's requests when they are due, until the level is over and the last of them has ended. Must run
/// where local tasks can be spawned.
pub async fn run<S, F>(
    site: Rc<Site<S>>,
    pool: Rc<RefCell<Pool<S, F>>>,
    pacer: &mut Pacer,
) -> Result<(), DriverError>
where
    S: Supply + 'static,
    F: Fn(u32) -> Result<User<S>, DriverError> + 'static,
{
    let Worker { number, of, clock, ref control, ref stop, .. } = site.worker;
    let mut requests = JoinSet::new();
    let mut index = 0;
    'level: while let Some((next, due)) = control.next_of(number, of, index) {
        index = next;
        let wake = control.next_edge().map_or(due, |edge| edge.min(due));
        tokio::select! {
            biased;
            () = stop.wait() => break,
            () = control.over() => break,
            paced = pacer.sleep_until(instant(clock, wake)) => {
                paced.map_err(|error| DriverError::new(format!("the timer failed: {error}")))?;
            }
        }
        // Where each arrival is due already when the last one has been dealt with, nothing else would have its turn.
        consume_budget().await;
        let now = clock.now();
        site.tell(control.tick(now));
        // All that are due, so that a late wake makes none of them later than it must.
        let mut arrival = Some((index, due));
        while let Some((next, due)) = arrival.filter(|(_, due)| *due <= now) {
            let (phase, marks) = control.arrive(next, now);
            site.tell(marks);
            let Some(phase) = phase else { break 'level };
            let Some(prepared) = site.supply.borrow_mut().next(Stream::of(phase)) else { break 'level };
            let request = Request { phase, prepared, due };
            requests.spawn_local(serve(request, Rc::clone(&site), Rc::clone(&pool)));
            index = next + 1;
            arrival = control.next_of(number, of, index);
        }
        while let Some(ended) = requests.try_join_next() {
            came_to(ended)?;
        }
    }
    while let Some(ended) = requests.join_next().await {
        came_to(ended)?;
    }
    Ok(())
}

fn came_to(ended: Result<Result<(), DriverError>, JoinError>) -> Result<(), DriverError> {
    ended.map_err(|error| DriverError::new(format!("a request ended abnormally: {error}")))?
}

/// An arrival with its request.
struct Request {
    phase: Phase,
    prepared: Prepared,
    due: Nanos,
}

/// Waits for a place in flight if there is a cap, and sends the request.
async fn serve<S, F>(
    request: Request,
    site: Rc<Site<S>>,
    pool: Rc<RefCell<Pool<S, F>>>,
) -> Result<(), DriverError>
where
    S: Supply,
    F: Fn(u32) -> Result<User<S>, DriverError>,
{
    let Request { phase, prepared, due } = request;
    let Worker { control, stop, .. } = &site.worker;
    let (mut place, mut capped, mut given_up) = (None, false, None);
    if let Some(line) = control.line() {
        place = line.place();
        if place.is_none() {
            capped = true;
            control.in_line(true);
            tokio::select! {
                biased;
                () = stop.wait() => given_up = Some("not sent: the run was stopped"),
                free = line.wait() => {
                    place = free;
                    if place.is_none() {
                        given_up = Some("not sent: the level was over before its turn (--cap)");
                    }
                }
            }
            control.in_line(false);
        }
    }
    let mut user = pool.borrow_mut().take()?;
    let (mut record, freed) = if let Some(why) = given_up {
        let record = user.unsent(phase, &prepared, due, why);
        let end = record.end_ns;
        (record, end)
    } else {
        user.request(phase, prepared, due).await
    };
    record.capped = capped;
    // The place is free before the level hears of it, as the connection is.
    drop(place);
    user.end(record, freed);
    pool.borrow_mut().give(user);
    Ok(())
}

/// The clock's instant of a time that may be centuries away.
fn instant(clock: Clock, at: Nanos) -> Instant {
    let far = || Instant::now() + Duration::from_hours(24);
    clock.epoch().checked_add(Duration::from_nanos(at.0)).unwrap_or_else(far)
}
