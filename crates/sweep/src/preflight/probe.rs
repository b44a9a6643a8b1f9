use super::Files;
use crate::{SweepError, template::Template};
use plimsoll_driver::Target;
use plimsoll_record::{Conditions, LengthLaw, Outcome, Plan};
use plimsoll_transport::{Clock, Slot, Trace};
use plimsoll_workload::{Calibration, Prompt};
use std::time::Duration;

/// What the probes found.
pub struct Found {
    pub template: Template,
    pub calibration: Calibration,
    pub duration: Duration,
}

/// Most tokens of a probe that only counts its prompt.
const SHORT_ANSWER: u32 = 2;

/// Sends a few requests before the load: one of the mean length, to see that streaming works and how long it takes,
/// and one or two to learn how the server counts generated prompts.
pub async fn probe(
    plan: &Plan,
    target: &Target,
    mut template: Template,
    files: &Files,
    conditions: &mut Conditions,
) -> Result<Found, SweepError> {
    check_lengths(plan, files, conditions)?;
    let [short, long] = Calibration::probe_prompts();
    let mean = plan.output_tokens.mean().round().max(1.0) as u32;
    let mut prober = Prober { target, limit: plan.timeout.duration() };
    let mut first = prober.send(&template, &short, mean).await?;
    if refuses_stream_options(&first) {
        template.include_usage = false;
        conditions.notes.push(
            "the server refuses stream_options; requests go without, and it may send no usage".to_owned(),
        );
        first = prober.send(&template, &short, mean).await?;
    }
    judge(&first, target)?;
    conditions.server.stream_usage = first.output_tokens.is_some();
    if first.output_tokens.is_none() && files.tokenizer.is_none() {
        conditions.notes.push(
            "the server sends no usage in its streams: output tokens are unknown, and so are tok/s and TPOT; \
             give --tokenizer to count the text"
                .to_owned(),
        );
    }
    let duration = Duration::from_nanos((first.end.unwrap_or_default() - first.sent.unwrap_or_default()).0);
    let mut calibration = Calibration::default();
    if let Some(counted) = first.input_tokens {
        let generated = files.prompts.is_none();
        if generated {
            let second = prober.send(&template, &long, SHORT_ANSWER).await?;
            judge(&second, target)?;
            if let Some(long) = second.input_tokens {
                match Calibration::from_counts([counted, long]) {
                    Ok(found) => calibration = found,
                    Err(error) => conditions.notes.push(error.to_string()),
                }
            }
        }
        if let Some(system) = &files.system {
            let prompt = Prompt { system: Some(system.clone()), ..short.clone() };
            let with = prober.send(&template, &prompt, SHORT_ANSWER).await?;
            judge(&with, target)?;
            if let Some(with) = with.input_tokens {
                calibration = calibration.with_system(with, counted);
            }
        }
    }
    Ok(Found { template, calibration, duration })
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

struct Prober<'a> {
    target: &'a Target,
    limit: Duration,
}

impl Prober<'_> {
    async fn send(
        &mut self,
        template: &Template,
        prompt: &Prompt,
        max_tokens: u32,
    ) -> Result<Trace, SweepError> {
        let Target { dial, head, path, limits } = self.target.clone();
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
        Ok(trace)
    }
}

fn refuses_stream_options(trace: &Trace) -> bool {
    let refused = matches!(trace.http_status, Some(400 | 422));
    refused
        && matches!(&trace.outcome, Some(Outcome::Failed { message, .. }) if message.contains("stream_options"))
}

fn judge(trace: &Trace, target: &Target) -> Result<(), SweepError> {
    match &trace.outcome {
        Some(Outcome::Ok) => Ok(()),
        Some(Outcome::Failed { kind, message }) => Err(SweepError::target(format!(
            "a request to {} failed before the load began ({kind}): {message}",
            target.path
        ))),
        None => Err(SweepError::target(format!("a request to {} came to no end", target.path))),
    }
}
