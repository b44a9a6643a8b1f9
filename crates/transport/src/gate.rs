use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire, Ordering::Release},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Stands between a connection and the task that polls it. hyper passes each frame through a channel from the
/// connection to the body, whose ends wake each other; since one task polls both, one after the other, such a wake asks
/// for what is happening already, and would have the whole task polled once more for each token.
pub struct Gate {
    inside: Arc<Inside>,
    waker: Waker,
    /// The task's own waker once more, to be looked at without a lock.
    task: RefCell<Waker>,
}

struct Inside {
    /// The task's own waker.
    task: Mutex<Waker>,
    state: AtomicU8,
}

/// The task is not being polled: wakes pass.
const OPEN: u8 = 0;
/// The task is being polled.
const SHUT: u8 = 1;
/// And a wake came meanwhile.
const WOKEN: u8 = 2;

impl Gate {
    pub fn new() -> Self {
        let task = Mutex::new(Waker::noop().clone());
        let inside = Arc::new(Inside { task, state: AtomicU8::new(OPEN) });
        let waker = Waker::from(Arc::clone(&inside));
        Self { inside, waker, task: RefCell::new(Waker::noop().clone()) }
    }

    /// Polls with a context whose wakes are held back until the poll's end. If it ends unfinished after a wake, it is polled
    /// once more, so that a request is written at once, and a wake then is passed on. Whoever is ready polls on by itself.
    pub fn poll<T>(&self, cx: &Context<'_>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        if !self.task.borrow().will_wake(cx.waker()) {
            self.inside.lock().clone_from(cx.waker());
            self.task.replace(cx.waker().clone());
        }
        let state = &self.inside.state;
        state.store(SHUT, Release);
        let mut polled = poll(&mut Context::from_waker(&self.waker));
        if polled.is_pending() {
            if state.compare_exchange(SHUT, OPEN, AcqRel, Acquire).is_ok() {
                return polled;
            }
            state.store(SHUT, Release);
            polled = poll(&mut Context::from_waker(&self.waker));
        }
        if state.swap(OPEN, AcqRel) == WOKEN && polled.is_pending() {
            cx.waker().wake_by_ref();
        }
        polled
    }
}

impl Inside {
    fn lock(&self) -> MutexGuard<'_, Waker> {
        // A waker is whole whatever happened elsewhere.
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Inside {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.load(Acquire) == OPEN
            || self.state.compare_exchange(SHUT, WOKEN, AcqRel, Acquire) == Err(OPEN)
        {
            self.lock().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    struct Counted(AtomicU32);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn wakes_during_a_poll_have_it_polled_once_more_and_are_passed_on_once() {
        let task = Arc::new(Counted(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&task));
        let cx = Context::from_waker(&waker);
        let gate = Gate::new();
        // Polls as the script says, each time waking so often; tells how often it was polled and the task woken.
        let run = |script: &[(u32, Poll<()>)]| {
            let before = task.0.load(SeqCst);
            let mut polls = 0;
            let polled = gate.poll(&cx, |cx| {
                let (wakes, end) = script[polls];
                polls += 1;
                (0..wakes).for_each(|_| cx.waker().wake_by_ref());
                assert_eq!(task.0.load(SeqCst), before, "nothing passes during a poll");
                end
            });
            (polled, polls, task.0.load(SeqCst) - before)
        };
        let (ready, pending) = (Poll::Ready(()), Poll::Pending);
        assert_eq!(run(&[(2, ready)]), (ready, 1, 0));
        assert_eq!(run(&[(0, pending)]), (pending, 1, 0), "what is ready forgets its wakes");
        assert_eq!(run(&[(2, pending), (0, pending)]), (pending, 2, 0));
        assert_eq!(run(&[(1, pending), (1, ready)]), (ready, 2, 0));
        assert_eq!(run(&[(1, pending), (3, pending)]), (pending, 2, 1));
        gate.waker.wake_by_ref();
        assert_eq!(task.0.load(SeqCst), 2, "between polls wakes pass");
    }

    #[test]
    fn wakes_go_to_the_task_that_polled_last() {
        let [first, second] = [(); 2].map(|()| Arc::new(Counted(AtomicU32::new(0))));
        let gate = Gate::new();
        for task in [&first, &second] {
            let waker = Waker::from(Arc::clone(task));
            let _ = gate.poll(&Context::from_waker(&waker), |_| Poll::<()>::Pending);
        }
        gate.waker.wake_by_ref();
        assert_eq!((first.0.load(SeqCst), second.0.load(SeqCst)), (0, 1));
    }
}
