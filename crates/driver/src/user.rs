use crate::{
    Prepared, Stream, Supply,
    attempt::{Attempts, BACKOFF},
    control::Ended,
    site::Site,
};
use plimsoll_record::{
    ClientSample, FailureKind, Nanos, Outcome, Phase, PhaseMark, RECORD_SCHEMA, RequestRecord, TokenSource,
};
use plimsoll_transport::{Slot, Trace};
use std::{pin::pin, rc::Rc, sync::Arc};
use tokio::time::{Instant, sleep};

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

const STOPPED: &str = "the run was stopped";
/// Events that room is made for beforehand at most: a longer stream makes room as it comes.
const ROOM: usize = 4096;

/// One virtual user, with a connection to each target.
pub struct User<S> {
    pub number: u32,
    /// By target; never empty.
    pub slots: Vec<Slot>,
    pub site: Rc<Site<S>>,
}

impl<S: Supply> User<S> {
    /// Opens the connections. One that cannot be opened is tried again by its first request, which tells of it.
    pub async fn connect(&mut self) {
        for slot in &mut self.slots {
            if slot.connect().await.is_ok() {
                self.site.connected();
            }
        }
    }

    /// True when no request has to wait for a connection, as far as is known.
    pub fn is_open(&self) -> bool {
        self.slots.iter().all(Slot::is_open)
    }

    /// Sends one request after another until the level is over.
    pub async fn run(mut self) {
        let (control, clock) = (Arc::clone(&self.site.worker.control), self.site.worker.clock);
        let mut backoff = BACKOFF.0;
        let mut free = clock.now();
        control.enter();
        while !self.site.worker.stop.is_set() {
            let (phase, marks) = control.begin(free);
            self.site.tell(marks);
            let Some(phase) = phase else { return };
            let prepared = self.site.supply.borrow_mut().next(Stream::of(phase));
            let Some(prepared) = prepared else { return };
            let (record, freed) = self.request(phase, prepared, free).await;
            let ok = record.outcome.is_ok();
            self.end(record, freed);
            free = freed;
            if ok {
                backoff = BACKOFF.0;
            } else {
                if self.site.brake.guard(self.number, pin!(sleep(backoff))).await.is_none() {
                    return;
                }
                backoff = (backoff * 2).min(BACKOFF.1);
                free = clock.now();
            }
        }
    }

    /// A request has ended, and its slot was free again at `freed`.
    pub fn end(&self, record: RequestRecord, freed: Nanos) {
        let ended = Ended {
            outcome: &record.outcome,
            duration: record.end_ns - record.due_ns,
            ttft: record.first_token_ns.map(|first| first - record.due_ns),
            output_tokens: record.output_tokens,
        };
        let marks = self.site.worker.control.end(record.phase, freed, &ended);
        (self.site.worker.sink)(Event::Request(Box::new(record)));
        self.site.tell(marks);
    }

    /// One request; returns its record and the instant at which the slot was free again.
    pub async fn request(&mut self, phase: Phase, prepared: Prepared, due: Nanos) -> (RequestRecord, Nanos) {
        let index = self.target(&prepared);
        let (number, site) = (self.number, Rc::clone(&self.site));
        let clock = site.worker.clock;
        let (most, mut attempts) = (site.worker.control.plan().retries, Attempts::default());
        let begun = Instant::now();
        let mut trace = Trace::default();
        let Some(slot) = self.slots.get_mut(index) else {
            return (self.unsent(phase, &prepared, due, "not sent: there is no target"), clock.now());
        };
        let total = site.worker.targets.get(index).map_or_else(Default::default, |to| to.limits.time.total);
        loop {
            trace.events.reserve((prepared.max_tokens as usize).saturating_add(4).min(ROOM));
            let body = prepared.body.clone();
            let posted = {
                let post = pin!(slot.post_since(begun, body, clock, &mut trace));
                site.brake.guard(number, post).await
            };
            if trace.conn.connect_ns.is_some() {
                site.connected();
            }
            if posted.is_none() {
                slot.cut_off(clock, &mut trace, FailureKind::Cancelled, STOPPED);
                break;
            }
            // A wait beyond the time limit would only end there.
            let wait =
                attempts.wait(&trace, most).filter(|wait| begun.elapsed().saturating_add(*wait) < total);
            let Some(wait) = wait else { break };
            attempts.note(&trace);
            trace = Trace::default();
            if site.brake.guard(number, pin!(sleep(wait))).await.is_none() {
                trace.fail(FailureKind::Cancelled, STOPPED);
                break;
            }
        }
        let end = trace.end.unwrap_or_else(|| clock.now());
        // The slot is free when the answer's end was read, so that this client's own delays count as such; a body that
        // lingers after the answer holds it longer.
        let freed = if slot.is_open() { end } else { clock.now() };
        let (retries, unsent) = (attempts.count(), attempts.unsent());
        attempts.close(&mut trace);
        let mut record = self.record(phase, &prepared, due, end, trace);
        (record.retries, record.unsent_retries) = (retries, unsent);
        (record, freed)
    }

    /// Request k goes to target k mod T.
    fn target(&self, prepared: &Prepared) -> usize {
        (prepared.id % self.slots.len().max(1) as u64) as usize
    }

    /// The record of a request that was never sent, because the level or the run was over before its turn.
    pub fn unsent(&self, phase: Phase, prepared: &Prepared, due: Nanos, why: &str) -> RequestRecord {
        let mut trace = Trace::default();
        trace.fail(FailureKind::Cancelled, why);
        self.record(phase, prepared, due, self.site.worker.clock.now(), trace)
    }

    fn record(
        &self,
        phase: Phase,
        prepared: &Prepared,
        due: Nanos,
        end: Nanos,
        trace: Trace,
    ) -> RequestRecord {
        let worker = &self.site.worker;
        let level = worker.control.plan();
        let token_source = match (trace.output_tokens, trace.output_ids) {
            (Some(_), _) => TokenSource::Usage,
            (None, Some(_)) => TokenSource::TokenIds,
            (None, None) => TokenSource::Unknown,
        };
        RequestRecord {
            schema: RECORD_SCHEMA,
            id: prepared.id,
            level: level.level(),
            repeat: level.repeat,
            phase,
            worker: worker.number,
            slot: self.number,
            target: (self.slots.len() > 1).then(|| self.target(prepared) as u32),
            due_ns: due,
            capped: false,
            sent_ns: trace.sent,
            head_ns: trace.head,
            first_event_ns: trace.first_event,
            first_token_ns: trace.first_token,
            last_token_ns: trace.last_token,
            end_ns: end,
            events: trace.events,
            input_tokens: trace.input_tokens,
            cached_tokens: trace.cached_tokens,
            output_tokens: trace.output_tokens.or(trace.output_ids),
            token_source,
            asked_input_tokens: prepared.asked_input_tokens,
            max_tokens: prepared.max_tokens,
            finish_reason: trace.finish_reason,
            http_status: trace.http_status,
            retry_after_s: trace.retry_after_s,
            retries: 0,
            unsent_retries: 0,
            redirects: trace.redirects,
            conn: trace.conn,
            client_lag_ns: trace.client_lag,
            kernel_lag_ns: trace.kernel_lag,
            encoding: trace.encoding,
            malformed: trace.malformed,
            outcome: trace.outcome.unwrap_or(Outcome::Failed {
                kind: FailureKind::Truncated,
                message: "the response ended without a result".to_owned(),
            }),
            time_limit: trace.time_limit,
            text: trace.text,
            text_cut: trace.text_cut,
        }
    }
}
