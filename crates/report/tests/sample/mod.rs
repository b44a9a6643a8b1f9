//! A run made up by hand: two levels, figures of every kind, hostile names.

use plimsoll_metrics::{
    Bottleneck, BottleneckKind, ClientProof, ClientVerdict, Criterion, CriterionState, Elasticity, Flag,
    FlagClass, Interval, Knee, KneeState, LevelSummary, Number, OperatingPoint, Reading, Reconciliation,
    ReconciliationRow, ReconciliationState, RunState, SUMMARY_SCHEMA, SloLevel, SloVerdict, Summary,
    TargetSummary, Verdict, Window,
};
use plimsoll_record::{
    Ceiling, ClientLimits, Conditions, Environment, Nanos, Plan, PromptConditions, RECORD_SCHEMA,
    ServerConditions, TargetConditions,
};
use std::collections::BTreeMap;

pub fn plan() -> Plan {
    Plan {
        url: vec!["http://127.0.0.1:8100".into()],
        model: Some("tiny".into()),
        concurrency: vec![4, 16],
        requests: Some(150),
        slo: Some("at 16: ttft p95 < 1s".into()),
        seed: Some(7),
        ..Plan::default()
    }
}

/// What a server named after an attack would leave in the conditions.
pub fn conditions() -> Conditions {
    Conditions {
        schema: RECORD_SCHEMA,
        server: ServerConditions {
            model: "tiny|`x`".into(),
            models: vec!["tiny|`x`".into(), "other".into()],
            version: Some("0.32.0 <script>alert(1)</script>".into()),
            software: Some("uvicorn\u{1b}[31m".into()),
            max_model_len: Some(2048),
            stream_usage: true,
            concepts: BTreeMap::new(),
            missing_concepts: vec!["preemptions".into()],
            cache_config: BTreeMap::from([
                ("block_size".into(), "16".into()),
                ("num_gpu_blocks".into(), "4096".into()),
            ]),
            idle_before: Some(true),
            ..ServerConditions::default()
        },
        prompts: PromptConditions {
            source: "generated".into(),
            regime: "cold".into(),
            usable: None,
            skipped: BTreeMap::new(),
        },
        seed: 7,
        levels: vec![4.into(), 16.into()],
        added_levels: vec![16.into()],
        notes: vec!["the server sends tokens in pairs | see [this](http://evil.example)".into()],
        environment: Environment {
            started_at: "2026-12-01T10:00:00Z".into(),
            started_unix_ns: 1_796_119_200_000_000_000,
            url: "http://127.0.0.1:8100".into(),
            client: "plimsoll 0.1.0".into(),
            argv: ["plimsoll", "sweep", "--url", "http://127.0.0.1:8100"].map(str::to_owned).to_vec(),
            host: "bench-1".into(),
            os: "Linux 6.12 x86_64".into(),
            cpus: 2,
            targets: vec![
                TargetConditions {
                    url: "https://a|b.example".into(),
                    addresses: vec!["192.0.2.1:443".into()],
                    dns_ns: Some(Nanos(1_500_000)),
                    connect_ns: Some(Nanos(800_000)),
                    tls_ns: Some(Nanos(4_700_000)),
                    http: Some("2".into()),
                    tls: Some("1.3".into()),
                    proxy: None,
                },
                TargetConditions { url: "http://127.0.0.1:8100".into(), ..TargetConditions::default() },
            ],
            limits: ClientLimits {
                files_needed: Some(80),
                files_allowed: Some(1024),
                ..ClientLimits::default()
            },
            ceiling: Some(Ceiling {
                measured_at: "2026-12-01T09:00:00Z".into(),
                client: "plimsoll 0.1.0".into(),
                workers: 1,
                streams: 1000,
                events_s: 60_000.0,
                requests_s: 2000.0,
            }),
        },
    }
}

pub fn summary() -> Summary {
    Summary {
        schema: SUMMARY_SCHEMA,
        state: RunState::Complete,
        levels: vec![low(), high()],
        knee: Knee {
            state: KneeState::Bracket { low: 4.into(), high: 16.into() },
            elasticities: vec![Elasticity { from: 4.into(), to: 16.into(), value: 0.061_2 }],
            text: "between 4 and 16: output tokens per second follow concurrency with elasticity 0.06 from 4 to 16".into(),
        },
        slo: vec![SloVerdict {
            objective: "at 16: ttft p95 < 1s".into(),
            at: Some(16.into()),
            levels: vec![SloLevel {
                level: 16.into(),
                verdict: Verdict::Inconclusive,
                ok: 139,
                n: 150,
                target: 0.95,
                lower: Some(0.881_3),
                upper: Some(0.960_1),
                text: "139 of 150 met it; the true share lies in [88.1 %, 96.0 %]".into(),
            }],
        }],
        operating_point: OperatingPoint {
            level: Some(4.into()),
            headroom: Some(1.0),
            text: "4: the largest level that is not above the knee's lower edge".into(),
        },
        bottleneck: slots(),
        client: ClientProof { criteria: vec![], ..client() },
        reconciliation: Reconciliation {
            state: ReconciliationState::Mismatch,
            rows: vec![
                ReconciliationRow { name: "completions".into(), client: Some(332), server: Some(336.0) },
                ReconciliationRow { name: "input_tokens".into(), client: Some(84_992), server: None },
            ],
            text: "the server counts 4 completions more than this client".into(),
        },
        flags: vec![Flag {
            id: "other_traffic".into(),
            class: FlagClass::Warn,
            numbers: vec![],
            text: "the server served 4 requests that this client did not send".into(),
        }],
        checks: 38,
    }
}

fn client() -> ClientProof {
    let criterion = |name: &str, state, value, text: &str| Criterion {
        name: name.into(),
        state,
        value,
        threshold: 0.001,
        unit: "s".into(),
        n: 150,
        text: text.into(),
    };
    ClientProof {
        verdict: ClientVerdict::NotProven,
        reasons: "read delay not known".into(),
        criteria: vec![
            criterion("send_delay", CriterionState::Met, Some(0.000_21), "send delay p99 0.210 ms"),
            criterion("read_delay", CriterionState::Unknown, None, "read delay not known"),
            criterion("ceiling", CriterionState::Met, Some(8.4), "the self-test reached 8.4 times this load"),
        ],
    }
}

fn target(target: u32, ttft: f64) -> TargetSummary {
    TargetSummary {
        target,
        n: 75,
        ok: 74,
        failures: BTreeMap::from([("http_429".into(), 1)]),
        numbers: vec![
            quantile("ttft_p50", "ttft_quantile", ttft, Some((0.03, Some(0.1)))),
            plain("token_share", "share", "token_share", 0.5),
        ],
    }
}

fn slots() -> Bottleneck {
    Bottleneck {
        kind: BottleneckKind::ServerSlots,
        level: Some(16.into()),
        text: "3.97 of 4 slots run and 11.9 requests wait".into(),
        figures: BTreeMap::from([("client".into(), 0.03), ("queue".into(), 11.9), ("service".into(), 3.97)]),
    }
}

fn low() -> LevelSummary {
    LevelSummary {
        level: 4.into(),
        repeat: 0,
        window: Some(Window { open_ns: Nanos(1_500_000_000), close_ns: Nanos(21_500_000_000) }),
        n: 150,
        ok: 150,
        failures: BTreeMap::new(),
        numbers: vec![
            plain("output_tok_s", "tok/s", "throughput", 412.25),
            plain("req_s", "req/s", "throughput_requests", 6.441),
            plain("in_flight", "requests", "in_flight", 3.981),
            quantile("send_delay_p99", "send_delay_quantile", 0.000_21, None),
            plain("connect_max", "s", "connect_max", 0.001_2),
            plain("new_connection_share", "share", "new_connection_share", 0.02),
            quantile("ttft_p50", "ttft", 0.045_12, Some((0.044, Some(0.046_3)))),
            quantile("ttft_p95", "ttft", 0.087_3, Some((0.08, Some(0.101)))),
            at_least("ttft_p99", "ttft", 0.12),
            quantile("tpot_p50", "tpot", 0.009_45, Some((0.0094, Some(0.0095)))),
            absent("itl_p50", "s", "itl", "5 tokens came in a chunk on average"),
            absent("itl_p95", "s", "itl", "5 tokens came in a chunk on average"),
            quantile("icl_p50", "icl", 0.047_2, Some((0.047, Some(0.0475)))),
            quantile("e2e_p50", "e2e", 0.621, Some((0.618, Some(0.625)))),
            quantile("e2e_p95", "e2e", 0.702, Some((0.688, Some(0.731)))),
            absent("server_running", "requests", "server_running", "the server shows no such histogram"),
            plain("server_running_gauge", "requests", "server_running_gauge", 3.812),
            plain("server_waiting", "requests", "server_waiting", 0.0),
            plain("kv_usage_max", "share", "kv_usage", 0.0312),
        ],
        bottleneck: Bottleneck {
            kind: BottleneckKind::UnderLoaded,
            level: Some(4.into()),
            text: "no request waits".into(),
            figures: BTreeMap::new(),
        },
        client: client(),
        targets: vec![],
        flags: vec![],
    }
}

fn high() -> LevelSummary {
    LevelSummary {
        level: 16.into(),
        repeat: 0,
        window: None,
        n: 150,
        ok: 148,
        failures: BTreeMap::from([("timeout".into(), 2)]),
        numbers: vec![
            plain("output_tok_s", "tok/s", "throughput", 1_448.5),
            plain("req_s", "req/s", "throughput_requests", 7.01),
            plain("in_flight", "requests", "in_flight", 15.97),
            quantile("ttft_p50", "ttft", 1.702, Some((1.65, Some(1.74)))),
            at_least("ttft_p95", "ttft", 2.313),
            quantile("tpot_p50", "tpot", 0.009_71, Some((0.0096, Some(0.0098)))),
            withheld("itl_p50", "itl", "coalesced_reads"),
            withheld("itl_p95", "itl", "coalesced_reads"),
            quantile("e2e_p50", "e2e", 2.302, None),
            quantile("e2e_p95", "e2e", 12.51, None),
            plain("server_running", "requests", "server_running", 3.97),
            plain("server_waiting", "requests", "server_waiting", 11.93),
            plain("kv_usage_max", "share", "kv_usage", 0.128),
        ],
        bottleneck: slots(),
        client: client(),
        targets: vec![target(0, 0.04), target(1, 0.09)],
        flags: vec![Flag {
            id: "coalesced_reads".into(),
            class: FlagClass::Invalid,
            numbers: vec!["itl_p50".into(), "itl_p95".into()],
            text: "31 % of the events came in one read with the one before".into(),
        }],
    }
}

fn plain(name: &str, unit: &str, formula: &str, value: f64) -> Number {
    Number {
        name: name.into(),
        unit: unit.into(),
        formula: formula.into(),
        value: Some(value),
        reading: Reading::Estimate,
        n: 150,
        interval: None,
        interval_reason: Some("a single run".into()),
        source: if name.starts_with("server") { "server gauge" } else { "client stamps" }.into(),
        reason: None,
        withheld: None,
    }
}

fn quantile(name: &str, formula: &str, value: f64, ends: Option<(f64, Option<f64>)>) -> Number {
    let interval = ends.map(|(low, high)| Interval {
        low,
        high,
        confidence: 0.95,
        method: "order statistics, binomial ranks".into(),
    });
    Number { interval, ..plain(name, "s", formula, value) }
}

fn at_least(name: &str, formula: &str, value: f64) -> Number {
    Number { reading: Reading::AtLeast, ..quantile(name, formula, value, Some((value, None))) }
}

fn absent(name: &str, unit: &str, formula: &str, reason: &str) -> Number {
    Number {
        value: None,
        reading: Reading::Absent,
        reason: Some(reason.into()),
        ..plain(name, unit, formula, 0.0)
    }
}

fn withheld(name: &str, formula: &str, flag: &str) -> Number {
    Number { withheld: Some(0.0042), ..absent(name, "s", formula, &format!("withheld: {flag}")) }
}
