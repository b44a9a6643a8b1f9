use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Stands between a connection, its consumer and the task that polls both. hyper passes each frame through a channel from
/// the connection to the body, whose ends wake each other. Here each end has a waker of its own: a wake during a poll has
/// that end polled in the same turn of the task, instead of one turn more for each token, and an end that nobody woke
/// is left alone.
pub struct Gate {
    inside: Arc<Inside>,
    /// Given to the connection.
    mover: Waker,
    /// Given to the consumer.
    consumer: Waker,
    /// The task's own waker once more, to be looked at without a lock.
    task: RefCell<Waker>,
}

struct Inside {
    /// The task's own waker.
    task: Mutex<Waker>,
    /// Of the bits below.
    state: AtomicU8,
}

/// The connection was woken.
const MOVE: u8 = 1;
/// The consumer was woken.
const CONSUME: u8 = 2;
/// The task is being polled: wakes are kept.
const SHUT: u8 = 4;

/// Turns within one poll. What is then still awake has the task woken, so that others have their turn.
const TURNS: u32 = 4;

struct End {
    inside: Arc<Inside>,
    bit: u8,
}

impl Gate {
    pub fn new() -> Self {
        let task = Mutex::new(Waker::noop().clone());
        let inside = Arc::new(Inside { task, state: AtomicU8::new(0) });
        let [mover, consumer] =
            [MOVE, CONSUME].map(|bit| Waker::from(Arc::new(End { inside: Arc::clone(&inside), bit })));
        Self { inside, mover, consumer, task: RefCell::new(Waker::noop().clone()) }
    }

    /// Polls whichever end was woken, both if `begin`, the consumer first: what has been read already comes before another
    /// read, so that it keeps the stamp of its own.
    pub fn poll<T>(
        &self,
        cx: &Context<'_>,
        begin: bool,
        mut mover: impl FnMut(&mut Context<'_>),
        mut consumer: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if !self.task.borrow().will_wake(cx.waker()) {
            self.inside.lock().clone_from(cx.waker());
            self.task.replace(cx.waker().clone());
        }
        let inside = &*self.inside;
        inside.state.fetch_or(if begin { SHUT | MOVE | CONSUME } else { SHUT }, AcqRel);
        let mut polled = Poll::Pending;
        for _ in 0..TURNS {
            if inside.take(CONSUME) {
                polled = consumer(&mut Context::from_waker(&self.consumer));
                if polled.is_ready() {
                    break;
                }
            }
            // The consumer may just have asked for more.
            if inside.take(MOVE) {
                mover(&mut Context::from_waker(&self.mover));
            }
            if inside.state.load(Acquire) == SHUT {
                break;
            }
        }
        let left = inside.state.fetch_and(!SHUT, AcqRel) & !SHUT;
        if polled.is_pending() && left != 0 {
            cx.waker().wake_by_ref();
        }
        polled
    }
}

impl Inside {
    /// True, once, if the end was woken.
    fn take(&self, end: u8) -> bool {
        self.state.load(Acquire) & end != 0 && self.state.fetch_and(!end, AcqRel) & end != 0
    }

    fn lock(&self) -> MutexGuard<'_, Waker> {
        // A waker is whole whatever happened elsewhere.
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for End {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.inside.state.fetch_or(self.bit, AcqRel) & SHUT == 0 {
            self.inside.lock().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        cell::Cell,
        sync::atomic::{AtomicU32, Ordering::SeqCst},
    };

    struct Counted(AtomicU32);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// A task that polls a gate, and what each end does when polled.
    struct Bench {
        task: Arc<Counted>,
        gate: Gate,
        log: RefCell<String>,
    }

    impl Bench {
        fn new() -> Self {
            let task = Arc::new(Counted(AtomicU32::new(0)));
            Self { task, gate: Gate::new(), log: RefCell::new(String::new()) }
        }

        /// Polls; the ends say what they do by number of their poll, and may wake each other. Gives the order of polls, the
        /// result, and how often the task was woken.
        fn run(
            &self,
            begin: bool,
            mover: impl Fn(u32, &Gate),
            consumer: impl Fn(u32, &Gate) -> bool,
        ) -> (String, bool, u32) {
            let before = self.task.0.load(SeqCst);
            let (moved, consumed) = (Cell::new(0), Cell::new(0));
            let waker = Waker::from(Arc::clone(&self.task));
            let polled = self.gate.poll(
                &Context::from_waker(&waker),
                begin,
                |cx| {
                    assert!(cx.waker().will_wake(&self.gate.mover));
                    self.log.borrow_mut().push('m');
                    mover(moved.replace(moved.get() + 1), &self.gate);
                    assert_eq!(self.task.0.load(SeqCst), before, "nothing passes during a poll");
                },
                |cx| {
                    assert!(cx.waker().will_wake(&self.gate.consumer));
                    self.log.borrow_mut().push('c');
                    let ready = consumer(consumed.replace(consumed.get() + 1), &self.gate);
                    if ready { Poll::Ready(()) } else { Poll::Pending }
                },
            );
            (self.log.take(), polled.is_ready(), self.task.0.load(SeqCst) - before)
        }
    }

    #[test]
    fn whoever_was_woken_is_polled_and_nobody_else() {
        let bench = Bench::new();
        let idle = (|_, _: &Gate| {}, |_, _: &Gate| false);
        assert_eq!(bench.run(true, idle.0, idle.1), ("cm".to_owned(), false, 0), "both at the beginning");
        assert_eq!(bench.run(false, idle.0, idle.1), (String::new(), false, 0), "nobody was woken");
        bench.gate.mover.wake_by_ref();
        assert_eq!(bench.task.0.load(SeqCst), 1, "between polls wakes pass");
        assert_eq!(bench.run(false, idle.0, idle.1), ("m".to_owned(), false, 0));
        bench.gate.consumer.wake_by_ref();
        assert_eq!(bench.run(false, idle.0, idle.1), ("c".to_owned(), false, 0));
    }

    #[test]
    fn a_token_takes_two_polls_of_each_end() {
        let bench = Bench::new();
        // The consumer asks for more, the connection finds nothing.
        let asks = |_, gate: &Gate| {
            gate.mover.wake_by_ref();
            false
        };
        assert_eq!(bench.run(true, |_, _| {}, asks), ("cm".to_owned(), false, 0));
        // The socket wakes the connection, which hands a frame over.
        bench.gate.mover.wake_by_ref();
        let hands = |_, gate: &Gate| gate.consumer.wake_by_ref();
        assert_eq!(bench.run(false, hands, |_, _| true), ("mc".to_owned(), true, 0));
    }

    #[test]
    fn ends_that_never_rest_have_the_task_woken_once() {
        let bench = Bench::new();
        let endless = |_, gate: &Gate| {
            gate.consumer.wake_by_ref();
            gate.mover.wake_by_ref();
        };
        assert_eq!(bench.run(true, endless, |_, _| false), ("cmcmcmcm".to_owned(), false, 1));
        assert_eq!(bench.run(false, |_, _| {}, |_, _| false), ("cm".to_owned(), false, 0), "and go on then");
    }

    #[test]
    fn wakes_go_to_the_task_that_polled_last() {
        let [first, second] = [(); 2].map(|()| Arc::new(Counted(AtomicU32::new(0))));
        let gate = Gate::new();
        for task in [&first, &second] {
            let waker = Waker::from(Arc::clone(task));
            let _ = gate.poll(&Context::from_waker(&waker), true, |_| {}, |_| Poll::<()>::Pending);
        }
        gate.mover.wake_by_ref();
        gate.consumer.wake_by_ref();
        assert_eq!((first.0.load(SeqCst), second.0.load(SeqCst)), (0, 2));
    }
}
