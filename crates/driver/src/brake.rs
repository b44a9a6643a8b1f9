use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Poll, Waker},
};

/// Stops the requests of one worker. A token costs no look at the run's stop, which is a lock and a list of waiters: one
/// task waits for that, and a request in flight has only left word here how to wake it.
#[derive(Debug, Default)]
pub struct Brake {
    pulled: Cell<bool>,
    /// By slot.
    riders: RefCell<BTreeMap<u32, Waker>>,
}

impl Brake {
    /// Stops all.
    pub fn pull(&self) {
        self.pulled.set(true);
        for waker in std::mem::take(&mut *self.riders.borrow_mut()).into_values() {
            waker.wake();
        }
    }

    /// The output of `future`, which runs in the slot `slot`; `None` if it was stopped before. Pinned by the caller: a future
    /// that is handed over has its room twice, in each of thousands of tasks.
    pub async fn guard<F: Future>(&self, slot: u32, mut future: Pin<&mut F>) -> Option<F::Output> {
        let mut known: Option<Waker> = None;
        let _leave = Leave { brake: self, slot };
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            if self.pulled.get() {
                return Poll::Ready(None);
            }
            if !known.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                known = Some(cx.waker().clone());
                self.riders.borrow_mut().insert(slot, cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

/// Takes the slot's word back.
struct Leave<'a> {
    brake: &'a Brake,
    slot: u32,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.brake.riders.borrow_mut().remove(&self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::pending, pin::pin, rc::Rc, time::Duration};
    use tokio::{
        task::LocalSet,
        time::{Instant, sleep},
    };

    #[tokio::test(start_paused = true)]
    async fn all_stop_at_once_and_later_ones_do_not_begin() {
        let brake = Rc::new(Brake::default());
        let local = LocalSet::new();
        for slot in 0..3 {
            let brake = Rc::clone(&brake);
            local.spawn_local(async move {
                assert_eq!(brake.guard(slot, pin!(async { 7 })).await, Some(7));
                assert_eq!(brake.guard(slot, pin!(pending::<()>())).await, None);
                assert_eq!(brake.guard(slot, pin!(pending::<()>())).await, None, "still stopped");
            });
        }
        let begun = Instant::now();
        local
            .run_until(async {
                sleep(Duration::from_millis(10)).await;
                assert_eq!(brake.riders.borrow().len(), 3);
                brake.pull();
            })
            .await;
        local.await;
        assert_eq!(begun.elapsed(), Duration::from_millis(10));
        assert!(brake.riders.borrow().is_empty());
    }
}
