use super::{
    Files,
    form::{candidates, describe, hides_tokens, tells_tokens, without},
};
use crate::{
    SweepError,
    template::{Form, Template},
};
use plimsoll_driver::Target;
use plimsoll_record::{Conditions, Endpoint, LengthLaw, Outcome, Plan};
use plimsoll_transport::{Clock, FetchLimits, Slot, Trace, fetch};
use plimsoll_wire::chat::{RefusedField, refused_field};
use plimsoll_workload::{Calibration, Prompt};
use std::{cell::Cell, time::Duration};
use tokio::time::{Instant, sleep};

/// What the probes found.
pub struct Found {
    pub template: Template,
    pub calibration: Calibration,
    pub duration: Duration,
}

/// Most tokens of a probe that only counts its prompt.
const SHORT_ANSWER: u32 = 2;
/// How long a server may take to close a connection after an answer.
const SETTLE: Duration = Duration::from_millis(250);
/// Most fields that are left out before a server is given up.
const MOST_REFUSALS: usize = 8;

/// Sends a few requests before the load: of the mean length until the server takes their form, to see that streaming works
/// and how long it takes; one or two to learn how it counts generated prompts; and one to every other target.
pub async fn probe(
    plan: &Plan,
    targets: &mut [Target],
    mut template: Template,
    files: &Files,
    conditions: &mut Conditions,
) -> Result<Found, SweepError> {
    check_lengths(plan, files, conditions)?;
    let Some((target, others)) = targets.split_first_mut() else {
        return Err(SweepError::usage("--url: no address given"));
    };
    let [short, long] = Calibration::probe_prompts();
    let mean = plan.output_tokens.mean().round().max(1.0) as u32;
    let limit = plan.timeout.duration();
    let prober = Prober { target, limit, keeps: Cell::new(None) };
    let asked = template.form.clone();
    let first = prober.find_form(&mut template, &short, mean).await?;
    judge(&first, prober.target)?;
    describe(plan.endpoint, &asked, &template.form, conditions);
    conditions.server.stream_usage = first.output_tokens.is_some();
    let duration = Duration::from_nanos((first.end.unwrap_or_default() - first.sent.unwrap_or_default()).0);
    let mut counted = first.input_tokens;
    if first.output_tokens.is_none() {
        let told = prober.find_ids(&mut template, &short, mean, conditions).await?;
        counted = counted.or(told.as_ref().and_then(|told| told.input_tokens));
        if told.is_none() && files.tokenizer.is_none() {
            conditions.notes.push(
                "the server sends no usage in its streams, nor the ids of its tokens: output tokens are unknown, and so \
                 are tok/s and TPOT; give --tokenizer to count the text"
                    .to_owned(),
            );
        }
    } else if hides_tokens(&first) {
        prober.find_extras(&mut template, &short, mean, conditions).await?;
    }
    let mut calibration = Calibration::default();
    if let Some(counted) = counted {
        let generated = files.prompts.is_none();
        if generated {
            let second = prober.judged(&template, &long, SHORT_ANSWER).await?;
            if let Some(long) = second.input_tokens {
                match Calibration::from_counts([counted, long]) {
                    Ok(found) => calibration = found,
                    Err(error) => conditions.notes.push(error.to_string()),
                }
            }
        }
        if let Some(system) = &files.system {
            let prompt = Prompt { system: Some(system.clone()), ..short.clone() };
            let with = prober.judged(&template, &prompt, SHORT_ANSWER).await?;
            if let Some(with) = with.input_tokens {
                calibration = calibration.with_system(with, counted);
            }
        }
    }
    let keeps = prober.keeps.get();
    trust(target, keeps, conditions);
    for target in others {
        let prober = Prober { target, limit, keeps: Cell::new(None) };
        prober.judged(&template, &short, SHORT_ANSWER).await?;
        let keeps = prober.keeps.get();
        trust(target, keeps, conditions);
    }
    Ok(Found { template, calibration, duration })
}

/// A server that closes its connections in silence gets a new one for each request.
fn trust(target: &mut Target, keeps: Option<bool>, conditions: &mut Conditions) {
    if keeps == Some(false) {
        target.limits.reuse = false;
        conditions.notes.push(
            "the server closes its connection after each answer, though it had promised to keep it; every request opens a \
             new one"
                .to_owned(),
        );
    }
}

/// Lengths that can never fit are told before the load, not by failures within it.
fn check_lengths(plan: &Plan, files: &Files, conditions: &Conditions) -> Result<(), SweepError> {
    let Some(limit) = conditions.server.max_model_len else { return Ok(()) };
    let largest = |law: LengthLaw| match law {
        LengthLaw::Fixed(n) | LengthLaw::Uniform { high: n, .. } => n,
        LengthLaw::Normal { mean, .. } => mean,
    };
    let input = if files.prompts.is_none() { largest(plan.input_tokens) } else { 0 };
    let output = largest(plan.output_tokens);
    if u64::from(input) + u64::from(output) > u64::from(limit) {
        return Err(SweepError::usage(format!(
            "--input-tokens {} and --output-tokens {} do not fit into the server's max_model_len of {limit} tokens",
            plan.input_tokens, plan.output_tokens
        )));
    }
    Ok(())
}

/// Sends single requests to one server.
pub struct Prober<'a> {
    target: &'a Target,
    limit: Duration,
    /// Whether a connection outlived its first answer; absent while that is not known.
    keeps: Cell<Option<bool>>,
}

impl<'a> Prober<'a> {
    /// One that does not look whether connections outlive their answers. `limit` is for each request.
    pub const fn new(target: &'a Target, limit: Duration) -> Self {
        Self { target, limit, keeps: Cell::new(Some(true)) }
    }

    /// Leaves fields out, one after another, until the server takes the rest; what it then answers may still be a failure
    /// of another kind.
    pub async fn find_form(
        &self,
        template: &mut Template,
        prompt: &Prompt,
        max_tokens: u32,
    ) -> Result<Trace, SweepError> {
        let mut tried = Vec::new();
        for _ in 0..MOST_REFUSALS {
            let trace = self.send(template, prompt, max_tokens).await?;
            let Some(refused) = self.refused(&trace, template, prompt, max_tokens).await else {
                return Ok(trace);
            };
            let instead = refused.instead.as_deref();
            match without(template.endpoint, &template.form, refused.field, instead, &mut tried) {
                Some(form) => template.form = form,
                None => {
                    return Err(SweepError::target(format!(
                        "{} refuses `{}`, and every other name of it that is known: {}",
                        route(self.target),
                        refused.field,
                        refused.message
                    )));
                }
            }
        }
        Err(SweepError::target(format!(
            "{} refuses one field of a request after another; is it a server for LLMs?",
            route(self.target)
        )))
    }

    /// The field that a refusal is about, if it is about one.
    async fn refused(
        &self,
        trace: &Trace,
        template: &Template,
        prompt: &Prompt,
        max_tokens: u32,
    ) -> Option<RefusedField<'static>> {
        let status = trace.http_status.filter(|status| matches!(status, 400 | 422))?;
        let Some(Outcome::Failed { message, .. }) = &trace.outcome else { return None };
        let candidates = candidates(template.endpoint, &template.form);
        if let Some(refused) = refused_field(status, message.as_bytes(), &candidates) {
            return Some(refused);
        }
        // The message alone does not name it; the rest of the body may.
        let redirects = self.target.limits.redirects;
        let limits = FetchLimits { time: self.limit, redirects, ..FetchLimits::default() };
        let body = Some(template.prompt(prompt, max_tokens));
        let reply =
            fetch(&self.target.dial, &self.target.head, &self.target.path, body, limits).await.ok()?;
        refused_field(reply.status, &reply.body, &candidates)
    }

    /// Where an event holds several tokens, asks for what tells how many: usage on every event, else the tokens' ids. Where
    /// an event is a token nothing is asked for, since either makes each event larger and costs server and client time.
    async fn find_extras(
        &self,
        template: &mut Template,
        prompt: &Prompt,
        max_tokens: u32,
        conditions: &mut Conditions,
    ) -> Result<(), SweepError> {
        let usage = Form { continuous_usage: true, ..template.form.clone() };
        let ids = Form { token_ids: true, ..template.form.clone() };
        let tries = [(usage, "continuous_usage_stats"), (ids, "return_token_ids")];
        let usual = template.form.include_usage;
        for (form, field) in tries.into_iter().filter(|(form, _)| usual || form.token_ids) {
            if self.tells(form, field, template, prompt, max_tokens, conditions).await?.is_some() {
                conditions.notes.push(format!(
                    "an event of the server holds several tokens; {field} is asked for, which tells how many"
                ));
                return Ok(());
            }
        }
        conditions.notes.push(
            "an event of the server holds several tokens, and it does not tell how many: the time between tokens cannot \
             be seen"
                .to_owned(),
        );
        Ok(())
    }

    /// Where a stream has no usage, asks for the ids of its tokens: `Some` when they come, and then they are asked for from
    /// now on.
    async fn find_ids(
        &self,
        template: &mut Template,
        prompt: &Prompt,
        max_tokens: u32,
        conditions: &mut Conditions,
    ) -> Result<Option<Trace>, SweepError> {
        if !matches!(template.endpoint, Endpoint::Chat | Endpoint::Completions) {
            return Ok(None);
        }
        let form = Form { token_ids: true, ..template.form.clone() };
        let told = self.tells(form, "return_token_ids", template, prompt, max_tokens, conditions).await?;
        if told.is_some() {
            conditions.notes.push(
                "the server sends no usage in its streams; return_token_ids is asked for, and the ids are counted"
                    .to_owned(),
            );
        }
        Ok(told)
    }

    /// A request in another form, by one field, that tells the tokens of each event. Only if it does, the form is kept.
    async fn tells(
        &self,
        form: Form,
        field: &str,
        template: &mut Template,
        prompt: &Prompt,
        max_tokens: u32,
        conditions: &mut Conditions,
    ) -> Result<Option<Trace>, SweepError> {
        let plain = std::mem::replace(&mut template.form, form);
        let trace = self.send(template, prompt, max_tokens).await?;
        let complete = trace.outcome == Some(Outcome::Ok);
        if complete && tells_tokens(&trace) {
            conditions.server.usage_per_event = template.form.continuous_usage;
            conditions.server.token_ids = template.form.token_ids;
            return Ok(Some(trace));
        }
        if !complete {
            conditions.server.refused_fields.push(field.to_owned());
        }
        template.form = plain;
        Ok(None)
    }

    async fn judged(
        &self,
        template: &Template,
        prompt: &Prompt,
        max_tokens: u32,
    ) -> Result<Trace, SweepError> {
        let trace = self.send(template, prompt, max_tokens).await?;
        judge(&trace, self.target)?;
        Ok(trace)
    }

    /// One streamed request. An error: no complete answer within the limit.
    pub async fn send(
        &self,
        template: &Template,
        prompt: &Prompt,
        max_tokens: u32,
    ) -> Result<Trace, SweepError> {
        let Target { dial, head, path, limits, .. } = self.target.clone();
        let mut slot = Slot::new(dial, head, &path, limits).map_err(SweepError::usage)?;
        let mut trace = Trace::default();
        let body = template.prompt(prompt, max_tokens);
        let sent = tokio::time::timeout(self.limit, slot.post(body, Clock::start(), &mut trace)).await;
        if sent.is_err() {
            return Err(SweepError::target(format!(
                "no complete answer to a request for {max_tokens} tokens on {path} within {:?}; raise --timeout, or \
                 look why the server hangs",
                self.limit
            )));
        }
        self.watch(&mut slot).await;
        Ok(trace)
    }

    /// Does the connection outlive its answer? Asked once. Pipes in memory are not asked: their servers are ours.
    async fn watch(&self, slot: &mut Slot) {
        if self.keeps.get().is_some() || !slot.is_open() || self.target.dial.is_memory() {
            return;
        }
        let begun = Instant::now();
        let mut keeps = true;
        while keeps && begun.elapsed() < SETTLE {
            sleep(SETTLE / 10).await;
            keeps = slot.keeps_connection().await;
        }
        self.keeps.set(Some(keeps));
    }
}

fn judge(trace: &Trace, target: &Target) -> Result<(), SweepError> {
    match &trace.outcome {
        Some(Outcome::Ok) => Ok(()),
        Some(Outcome::Failed { kind, message }) => Err(SweepError::target(format!(
            "a request to {} failed before the load began ({kind}): {message}",
            route(target)
        ))),
        None => Err(SweepError::target(format!("a request to {} came to no end", route(target)))),
    }
}

/// The path without its query, which may hold a key.
fn route(target: &Target) -> &str {
    target.path.split('?').next().unwrap_or_default()
}
