//! The names of each concept, best first. `_total` may follow a counter's name on the page. `sglang:` also stands for
//! `sglang_`.

use plimsoll_record::{Counter, Gauge, HistogramName};

pub struct Concept {
    /// As in the files of a run.
    pub id: &'static str,
    pub names: &'static [&'static str],
}

const fn concept(id: &'static str, names: &'static [&'static str]) -> Concept {
    Concept { id, names }
}

pub const CACHE_CONFIG: &[&str] = &["vllm:cache_config_info", "vllm:cache_config"];

pub const GAUGES: &[(Gauge, Concept)] = &[
    (
        Gauge::Running,
        concept(
            "running",
            &[
                "vllm:num_requests_running",
                "sglang:num_running_reqs",
                "llamacpp:requests_processing",
                "tgi_batch_current_size",
                "trtllm_num_requests_running",
                "lmdeploy:num_requests_running",
            ],
        ),
    ),
    (
        Gauge::Waiting,
        concept(
            "waiting",
            &[
                "vllm:num_requests_waiting",
                "sglang:num_queue_reqs",
                "llamacpp:requests_deferred",
                "tgi_queue_size",
                "trtllm_num_requests_waiting",
                "lmdeploy:num_requests_waiting",
            ],
        ),
    ),
    (
        Gauge::KvUsage,
        concept(
            "kv_usage",
            &[
                "vllm:kv_cache_usage_perc",
                "vllm:gpu_cache_usage_perc",
                "sglang:token_usage",
                "trtllm_kv_cache_utilization",
                "lmdeploy:gpu_cache_usage_perc",
            ],
        ),
    ),
];

// llama.cpp counts only the prompt tokens that it computed, and LMDeploy was seen to count generated ones twice: such
// counters would be wrong here, and are absent instead.
pub const COUNTERS: &[(Counter, Concept)] = &[
    (
        Counter::PromptTokens,
        concept(
            "prompt_tokens",
            &[
                "vllm:prompt_tokens",
                "sglang:prompt_tokens",
                "trtllm_prompt_tokens",
                "tgi_request_input_length_sum",
            ],
        ),
    ),
    (
        Counter::GenerationTokens,
        concept(
            "generation_tokens",
            &[
                "vllm:generation_tokens",
                "sglang:generation_tokens",
                "llamacpp:tokens_predicted",
                "trtllm_generation_tokens",
                "tgi_request_generated_tokens_sum",
            ],
        ),
    ),
    (
        Counter::Preemptions,
        concept("preemptions", &["vllm:num_preemptions", "sglang:num_retracted_requests"]),
    ),
    // `gpu_` before vLLM 0.9 counted blocks: the ratio of the two is right, each by itself is in another unit.
    (
        Counter::PrefixQueries,
        concept("prefix_queries", &["vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"]),
    ),
    (Counter::PrefixHits, concept("prefix_hits", &["vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"])),
];

pub const FINISHED: Concept = concept(
    "finished",
    &["vllm:request_success", "trtllm_request_success", "sglang:num_requests", "tgi_request_success"],
);

pub const HISTOGRAMS: &[(HistogramName, Concept)] = &[
    (
        HistogramName::Ttft,
        concept(
            "ttft",
            &[
                "vllm:time_to_first_token_seconds",
                "sglang:time_to_first_token_seconds",
                "trtllm_time_to_first_token_seconds",
                "lmdeploy:time_to_first_token_seconds",
            ],
        ),
    ),
    (
        HistogramName::Itl,
        concept(
            "itl",
            &[
                "vllm:inter_token_latency_seconds",
                "vllm:time_per_output_token_seconds",
                "sglang:inter_token_latency_seconds",
                "sglang:time_per_output_token_seconds",
            ],
        ),
    ),
    (
        HistogramName::E2e,
        concept(
            "e2e",
            &[
                "vllm:e2e_request_latency_seconds",
                "sglang:e2e_request_latency_seconds",
                "trtllm_e2e_request_latency_seconds",
                "lmdeploy:e2e_request_latency_seconds",
                "tgi_request_duration",
            ],
        ),
    ),
    (
        HistogramName::Queue,
        concept(
            "queue",
            &[
                "vllm:request_queue_time_seconds",
                "vllm:time_in_queue_requests",
                "sglang:queue_time_seconds",
                "trtllm_request_queue_time_seconds",
                "lmdeploy:request_queue_time_seconds",
                "tgi_request_queue_duration",
            ],
        ),
    ),
    (
        HistogramName::Prefill,
        concept("prefill", &["vllm:request_prefill_time_seconds", "lmdeploy:request_prefill_time_seconds"]),
    ),
    (
        HistogramName::Decode,
        concept("decode", &["vllm:request_decode_time_seconds", "lmdeploy:request_decode_time_seconds"]),
    ),
    (
        HistogramName::Inference,
        concept(
            "inference",
            &["vllm:request_inference_time_seconds", "lmdeploy:request_inference_time_seconds"],
        ),
    ),
];
