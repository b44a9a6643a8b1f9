use crate::{
    Control, Prepared, Stop, Stream, Supply,
    control::{Ended, Marks},
};
use plimsoll_record::{
    ClientSample, FailureKind, Nanos, Outcome, Phase, PhaseMark, RECORD_SCHEMA, RequestRecord, TokenSource,
};
use plimsoll_transport::{Clock, Slot, Trace};
use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};
use tokio::{
    task::unconstrained,
    time::{Instant, sleep, sleep_until},
};

/// Takes what happens. Called on the thread that sends: it must only pass on.
pub type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// What happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request has ended.
    Request(Box<RequestRecord>),
    /// A phase has begun.
    Mark(PhaseMark),
    /// What a worker was busy with for about a second; real time only.
    Client(Box<ClientSample>),
}

/// After a failure the slot waits, doubling from the first of these to the second: a dead server must not turn the
/// closed loop into a flood of failures.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// One virtual user.
pub struct User<S> {
    pub number: u32,
    pub worker: u32,
    pub slot: Slot,
    pub clock: Clock,
    pub control: Arc<Control>,
    pub supply: Rc<RefCell<S>>,
    pub sink: Sink,
    pub stop: Stop,
}

impl<S: Supply> User<S> {
    /// Sends one request after another until the level is over.
    pub async fn run(mut self) {
        let mut backoff = BACKOFF.0;
        let mut free = self.clock.now();
        self.control.enter();
        while !self.stop.is_set() {
            let (phase, marks) = self.control.begin(free);
            self.tell(marks);
            let Some(phase) = phase else { return };
            let prepared = self.supply.borrow_mut().next(Stream::of(phase));
            let Some(prepared) = prepared else { return };
            let (record, freed) = self.request(phase, prepared, free).await;
            let ok = record.outcome.is_ok();
            self.end(record, freed);
            free = freed;
            if ok {
                backoff = BACKOFF.0;
            } else {
                sleep(backoff).await;
                backoff = (backoff * 2).min(BACKOFF.1);
                free = self.clock.now();
            }
        }
    }

    /// A request has ended, and its slot was free again at `freed`.
    pub(crate) fn end(&self, record: RequestRecord, freed: Nanos) {
        let ended = Ended {
            outcome: &record.outcome,
            duration: record.end_ns - record.due_ns,
            ttft: record.first_token_ns.map(|first| first - record.due_ns),
            output_tokens: record.output_tokens,
        };
        let marks = self.control.end(record.phase, freed, &ended);
        (self.sink)(Event::Request(Box::new(record)));
        self.tell(marks);
    }

    /// One request; returns its record and the instant at which the slot was free again.
    pub(crate) async fn request(
        &mut self,
        phase: Phase,
        prepared: Prepared,
        due: Nanos,
    ) -> (RequestRecord, Nanos) {
        let mut trace = Trace::default();
        let limit = self.control.plan().timeout;
        let deadline = Instant::now() + limit;
        let body = prepared.body.clone();
        let cut = tokio::select! {
            biased;
            () = self.slot.post(body, self.clock, &mut trace) => None,
            () = unconstrained(self.stop.wait()) => Some((FailureKind::Cancelled, "the run was stopped".to_owned())),
            // A server that always has more to say spends the task's budget in the first branch; time passes all the same.
            () = unconstrained(sleep_until(deadline)) => {
                Some((FailureKind::Timeout, format!("not complete within {limit:?} (--timeout)")))
            }
        };
        if let Some((kind, message)) = cut {
            self.slot.cut_off(self.clock, &mut trace, kind, &message);
        }
        let end = trace.end.unwrap_or_else(|| self.clock.now());
        // The slot is free when the answer's end was read, so that this client's own delays count as such; a body that
        // lingers after the answer holds it longer.
        let freed = if self.slot.is_open() { end } else { self.clock.now() };
        (self.record(phase, &prepared, due, end, trace), freed)
    }

    /// The record of a request that was never sent, because the level or the run was over before its turn.
    pub(crate) fn unsent(&self, phase: Phase, prepared: &Prepared, due: Nanos, why: &str) -> RequestRecord {
        let mut trace = Trace::default();
        trace.fail(FailureKind::Cancelled, why);
        self.record(phase, prepared, due, self.clock.now(), trace)
    }

    fn record(
        &self,
        phase: Phase,
        prepared: &Prepared,
        due: Nanos,
        end: Nanos,
        trace: Trace,
    ) -> RequestRecord {
        let level = self.control.plan();
        RequestRecord {
            schema: RECORD_SCHEMA,
            id: prepared.id,
            level: level.level(),
            repeat: level.repeat,
            phase,
            worker: self.worker,
            slot: self.number,
            due_ns: due,
            sent_ns: trace.sent,
            head_ns: trace.head,
            first_event_ns: trace.first_event,
            first_token_ns: trace.first_token,
            last_token_ns: trace.last_token,
            end_ns: end,
            events: trace.events,
            input_tokens: trace.input_tokens,
            cached_tokens: trace.cached_tokens,
            output_tokens: trace.output_tokens,
            token_source: if trace.output_tokens.is_some() {
                TokenSource::Usage
            } else {
                TokenSource::Unknown
            },
            asked_input_tokens: prepared.asked_input_tokens,
            max_tokens: prepared.max_tokens,
            finish_reason: trace.finish_reason,
            http_status: trace.http_status,
            target: None,
            capped: false,
            retry_after_s: None,
            retries: 0,
            redirects: trace.redirects,
            kernel_lag_ns: None,
            encoding: trace.encoding,
            conn: trace.conn,
            client_lag_ns: trace.client_lag,
            malformed: trace.malformed,
            outcome: trace.outcome.unwrap_or(Outcome::Failed {
                kind: FailureKind::Truncated,
                message: "the response ended without a result".to_owned(),
            }),
            text: trace.text,
            text_cut: trace.text_cut,
        }
    }

    /// Writes marks down.
    pub(crate) fn tell(&self, marks: Marks) {
        for mark in marks {
            (self.sink)(Event::Mark(mark));
        }
    }
}
