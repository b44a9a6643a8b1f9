use crate::{
    Calibration, PlannedRequest, Prompt, PromptFile, Stream, Tokenizer, WorkloadError,
    draw::{Key, Purpose},
    file::Order,
    length::draw_length,
    prompt::Generator,
};
use plimsoll_record::{LengthLaw, Level, Plan};
use std::{fmt, sync::Arc};

/// All requests of a run, made one by one when they are asked for.
#[derive(Debug)]
pub struct Workload {
    seed: u64,
    input: LengthLaw,
    output: LengthLaw,
    system: Option<String>,
    /// Tokens of the system prompt, where there is one and they are known.
    system_tokens: Option<u32>,
    source: Source,
    tokenizer: Option<Arc<Tokenizer>>,
    repeats: u32,
}

#[derive(Debug)]
enum Source {
    Generated(Generator),
    File { file: PromptFile, order: Order },
}

/// What the prompts are meant to do to a prefix cache. Results of different regimes are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// No two prompts share their first block: the cache never hits.
    Cold,
    /// All share the system prompt and nothing else.
    SharedPrefix,
    /// Whatever the file's prompts share.
    Natural,
}

impl Workload {
    /// Prepares the requests of a plan. The contents of the files that the plan names are given apart: `prompts`,
    /// `system` and `tokenizer`. `calibration` says how the server counts; the default takes a word for a token, and
    /// with a tokenizer only its overhead is used.
    pub fn new(
        plan: &Plan,
        seed: u64,
        prompts: Option<PromptFile>,
        system: Option<String>,
        tokenizer: Option<Tokenizer>,
        calibration: Calibration,
    ) -> Result<Self, WorkloadError> {
        calibration.check()?;
        let tokenizer = tokenizer.map(Arc::new);
        let counted =
            system.as_deref().zip(tokenizer.as_ref()).and_then(|(text, tokenizer)| tokenizer.count(text));
        let source = match prompts {
            None => Source::Generated(Generator::new(calibration, tokenizer.clone())),
            Some(mut file) => {
                if system.is_some() {
                    file.drop_system_messages();
                }
                let order = Order::new(file.len(), &plan.levels(), plan.repeats, seed);
                Source::File { file, order }
            }
        };
        Ok(Self {
            seed,
            input: plan.input_tokens,
            output: plan.output_tokens,
            system_tokens: calibration.system_tokens.or(counted),
            system,
            source,
            tokenizer,
            repeats: plan.repeats.max(1),
        })
    }

    /// Request `k` of a level, repeat and stream: a pure function of these, the plan and the seed. Measured and filler
    /// requests are both of [`Stream::Load`], whose numbers run on.
    pub fn request(&self, level: Level, repeat: u32, stream: Stream, k: u64) -> PlannedRequest {
        let key = Key { seed: self.seed, level, repeat, stream, k };
        let max_tokens = draw_length(self.output, &mut key.draw(Purpose::OutputLength));
        let (mut prompt, asked_input_tokens) = match &self.source {
            Source::Generated(generator) => {
                let asked = draw_length(self.input, &mut key.draw(Purpose::InputLength));
                (Prompt::user(generator.prompt(key, asked)), self.with_system(asked))
            }
            Source::File { file, order } => (file.prompt(order.position(level, repeat, stream, k)), None),
        };
        prompt.system.clone_from(&self.system);
        PlannedRequest { id: k, phase_stream: stream, prompt, asked_input_tokens, max_tokens }
    }

    fn with_system(&self, asked: u32) -> Option<u32> {
        if self.system.is_some() { Some(asked.saturating_add(self.system_tokens?)) } else { Some(asked) }
    }

    /// Tokens of a text by the tokenizer that was given; `None` without one.
    pub fn count_tokens(&self, text: &str) -> Option<u32> {
        self.tokenizer.as_ref()?.count(text)
    }

    /// The seed of all draws.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How often each level is run.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// What the prompts are meant to do to a prefix cache.
    pub fn regime(&self) -> Regime {
        match (&self.source, &self.system) {
            (Source::File { .. }, _) => Regime::Natural,
            (Source::Generated(_), Some(_)) => Regime::SharedPrefix,
            (Source::Generated(_), None) => Regime::Cold,
        }
    }

    /// The file that the prompts come from.
    pub fn file(&self) -> Option<&PromptFile> {
        match &self.source {
            Source::File { file, .. } => Some(file),
            Source::Generated(_) => None,
        }
    }

    /// What a reader of the results should know of the prompts; each is a sentence. `requests` is the number of
    /// requests that the run will send at least, warm-up included.
    pub fn notes(&self, requests: u64) -> Vec<String> {
        let Some(file) = self.file() else { return Vec::new() };
        let mut notes = file.notes();
        let usable = file.len() as u64;
        if requests > usable {
            notes.push(format!(
                "prompts repeat: {usable} distinct in {} for at least {requests} requests, so that a prefix cache may \
                 hold some of them",
                file.name()
            ));
        }
        notes
    }
}

impl Regime {
    /// The name as it stands in `conditions.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::SharedPrefix => "shared-prefix",
            Self::Natural => "natural",
        }
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
