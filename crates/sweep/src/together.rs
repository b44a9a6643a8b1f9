use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Where a future of several stands.
enum Place<F: Future> {
    Pending(Pin<Box<F>>),
    Ready(F::Output),
}

/// The outputs of all futures, in their order, once the last has ended. They run side by side on this task, and are polled in
/// their order, so that under paused time the same happens every time. For a few: each wake polls all that are left.
pub async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut places: Vec<Place<F>> =
        futures.into_iter().map(|future| Place::Pending(Box::pin(future))).collect();
    poll_fn(|cx| {
        let mut pending = false;
        for place in &mut places {
            if let Place::Pending(future) = place {
                match future.as_mut().poll(cx) {
                    Poll::Ready(output) => *place = Place::Ready(output),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    let output = |place| match place {
        Place::Ready(output) => Some(output),
        // None is left.
        Place::Pending(_) => None,
    };
    places.into_iter().filter_map(output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn all_take_as_long_as_the_longest_and_keep_their_order() {
        let begun = Instant::now();
        let waits = [20, 50, 0, 30];
        let outputs = together(waits.map(|ms| async move {
            sleep(Duration::from_millis(ms)).await;
            ms
        }))
        .await;
        assert_eq!(outputs, waits);
        assert_eq!(begun.elapsed(), Duration::from_millis(50));
        assert!(together(Vec::<std::future::Ready<()>>::new()).await.is_empty());
    }
}
