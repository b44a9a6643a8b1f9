use super::histogram::Histogram;
use super::{FinishReason, Stats};
use plimsoll_record::MockEngine;
use plimsoll_wire::encode::{MetricKind, PageWriter};

/// What the page shows of the engine at this moment.
pub(crate) struct PageState<'a> {
    pub(crate) config: &'a MockEngine,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) kv_usage: f64,
    pub(crate) prefix_queries: u64,
    pub(crate) prefix_hits: u64,
    pub(crate) preemptions: u64,
    /// Seconds since the Unix epoch.
    pub(crate) started: f64,
}

/// The page, as a server started with `PROMETHEUS_DISABLE_CREATED_SERIES` shows it.
pub(crate) fn metrics_page(stats: &Stats, state: &PageState<'_>) -> String {
    let mut page = Page { out: PageWriter::new(), model: &state.config.model };
    page.out.family(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        MetricKind::Gauge,
    );
    page.out.sample("process_start_time_seconds", &[], state.started);
    gauges(&mut page, state);
    counters(&mut page, stats, state);
    histograms(&mut page, stats);
    cache_config(&mut page, state.config);
    page.out.finish()
}

struct Page<'a> {
    out: PageWriter,
    model: &'a str,
}

impl Page<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.out.family(name, help, MetricKind::Gauge);
        self.out.sample(name, &[("engine", "0"), ("model_name", self.model)], value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.out.family(name, help, MetricKind::Counter);
        self.out.sample(name, &[("engine", "0"), ("model_name", self.model)], value as f64);
    }

    /// A family with one more label, which sorts after the model's name.
    fn by(&mut self, family: (&str, &str, MetricKind), label: &str, values: &[(&str, f64)]) {
        let (name, help, kind) = family;
        self.out.family(name, help, kind);
        for (value, number) in values {
            let labels = [("engine", "0"), ("model_name", self.model), (label, value)];
            self.out.sample(name, &labels, *number);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, values: &Histogram) {
        self.out.family(name, help, MetricKind::Histogram);
        self.out.histogram(name, &[("engine", "0"), ("model_name", self.model)], &values.values());
    }
}

fn gauges(page: &mut Page<'_>, state: &PageState<'_>) {
    page.gauge(
        "vllm:num_requests_running",
        "Number of requests in model execution batches.",
        state.running as f64,
    );
    page.gauge(
        "vllm:num_requests_waiting",
        "Number of requests waiting to be processed.",
        state.waiting as f64,
    );
    page.by(
        (
            "vllm:num_requests_waiting_by_reason",
            "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; \
             'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of \
             all reasons equals vllm:num_requests_waiting.",
            MetricKind::Gauge,
        ),
        "reason",
        &[("capacity", state.waiting as f64), ("deferred", 0.0)],
    );
    page.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", state.kv_usage);
}

fn counters(page: &mut Page<'_>, stats: &Stats, state: &PageState<'_>) {
    page.counter(
        "vllm:prefix_cache_queries_total",
        "Prefix cache queries, in terms of number of queried tokens.",
        state.prefix_queries,
    );
    page.counter(
        "vllm:prefix_cache_hits_total",
        "Prefix cache hits, in terms of number of cached tokens.",
        state.prefix_hits,
    );
    page.counter(
        "vllm:num_preemptions_total",
        "Cumulative number of preemption from the engine.",
        state.preemptions,
    );
    page.counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", stats.prompt_tokens);
    page.by(
        ("vllm:prompt_tokens_by_source_total", "Number of prompt tokens by source.", MetricKind::Counter),
        "source",
        &[
            ("local_compute", stats.prompt_tokens.saturating_sub(stats.cached_tokens) as f64),
            ("local_cache_hit", stats.cached_tokens as f64),
            ("external_kv_transfer", 0.0),
        ],
    );
    page.counter(
        "vllm:prompt_tokens_cached_total",
        "Number of cached prompt tokens (local + external).",
        stats.cached_tokens,
    );
    page.counter(
        "vllm:generation_tokens_total",
        "Number of generation tokens processed.",
        stats.generation_tokens,
    );
    let name = "vllm:request_success_total";
    page.out.family(name, "Count of successfully processed requests.", MetricKind::Counter);
    for (reason, count) in FinishReason::ALL.iter().zip(stats.finished) {
        let labels = [("engine", "0"), ("finished_reason", reason.name()), ("model_name", page.model)];
        page.out.sample(name, &labels, count as f64);
    }
}

fn histograms(page: &mut Page<'_>, stats: &Stats) {
    let families = [
        ("request_prompt_tokens", "Number of prefill tokens processed.", &stats.request_prompt),
        ("request_generation_tokens", "Number of generation tokens processed.", &stats.request_generation),
        ("iteration_tokens_total", "Histogram of number of tokens per engine_step.", &stats.step_tokens),
        (
            "request_max_num_generation_tokens",
            "Histogram of maximum number of requested generation tokens.",
            &stats.request_generation,
        ),
        ("request_params_n", "Histogram of the n request parameter.", &stats.params_n),
        (
            "request_params_max_tokens",
            "Histogram of the max_tokens request parameter.",
            &stats.params_max_tokens,
        ),
        ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", &stats.ttft),
        ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &stats.itl),
        (
            "request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            &stats.tpot,
        ),
        ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &stats.e2e),
        ("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", &stats.queue),
        (
            "request_inference_time_seconds",
            "Histogram of time spent in RUNNING phase for request.",
            &stats.inference,
        ),
        (
            "request_prefill_time_seconds",
            "Histogram of time spent in PREFILL phase for request.",
            &stats.prefill,
        ),
        (
            "request_decode_time_seconds",
            "Histogram of time spent in DECODE phase for request.",
            &stats.decode,
        ),
        (
            "request_num_preemptions",
            "Histogram of the number of times a request was preempted.",
            &stats.request_preemptions,
        ),
        (
            "request_prefill_kv_computed_tokens",
            "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
            &stats.request_computed,
        ),
    ];
    for (name, help, values) in families {
        page.histogram(&format!("vllm:{name}"), help, values);
    }
}

fn cache_config(page: &mut Page<'_>, config: &MockEngine) {
    let name = "vllm:cache_config_info";
    page.out.family(name, "Information of the LLMEngine CacheConfig", MetricKind::Gauge);
    let block_size = config.block_size.to_string();
    let num_blocks = config.num_blocks.to_string();
    let size_tokens = (u64::from(config.block_size) * u64::from(config.num_blocks)).to_string();
    let labels = [
        ("block_size", block_size.as_str()),
        ("cache_dtype", "auto"),
        ("enable_prefix_caching", "True"),
        ("engine", "0"),
        ("gpu_memory_utilization", "0.92"),
        ("kv_cache_size_tokens", &size_tokens),
        ("num_cpu_blocks", "None"),
        ("num_gpu_blocks", &num_blocks),
        ("num_gpu_blocks_override", "None"),
        ("prefix_caching_hash_algo", "xxh3"),
        ("sliding_window", "None"),
    ];
    page.out.sample(name, &labels, 1.0);
}
