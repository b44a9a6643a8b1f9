use crate::shell::say;
use anyhow::{Context, Result, ensure};
use plimsoll_metrics::{BottleneckKind, Flag, KneeState, ReconciliationState, RunState, Summary};
use plimsoll_record::{Conditions, Counter, Level, RequestRecord, Sample, SampleOutcome, read_lines};
use std::{fs, path::Path};

/// What a run folder holds.
pub struct Evidence {
    summary: Summary,
    conditions: Conditions,
    requests: Vec<RequestRecord>,
    samples: Vec<Sample>,
}

impl Evidence {
    pub fn read(folder: &Path) -> Result<Self> {
        let bytes = |name: &str| {
            fs::read(folder.join(name)).with_context(|| format!("{name} of {}", folder.display()))
        };
        let requests = read_lines(&bytes("requests.jsonl")?);
        let samples = read_lines(&bytes("samples.jsonl")?);
        ensure!(
            requests.bad.is_empty() && samples.bad.is_empty(),
            "the folder has lines that cannot be read"
        );
        Ok(Self {
            summary: serde_json::from_slice(&bytes("summary.json")?).context("summary.json")?,
            conditions: serde_json::from_slice(&bytes("conditions.json")?).context("conditions.json")?,
            requests: requests.records,
            samples: samples.records,
        })
    }

    /// Every flag, so that whoever reads the log can judge whether it is true.
    pub fn print_flags(&self) {
        let of_levels = self
            .summary
            .levels
            .iter()
            .flat_map(|level| level.flags.iter().map(move |flag| (Some(level.level), flag)));
        let all: Vec<(Option<Level>, &Flag)> =
            self.summary.flags.iter().map(|flag| (None, flag)).chain(of_levels).collect();
        say(&format!("{} flags from {} checks", all.len(), self.summary.checks));
        for (level, flag) in all {
            let place = level.map_or("run".to_owned(), Level::words);
            say(&format!("  {:?} {} ({place}): {}", flag.class, flag.id, flag.text));
        }
    }

    /// What is the same on every machine, however busy.
    pub fn check_exact(&self) -> Result<()> {
        self.check_levels()?;
        self.check_counts()
    }

    /// What throughput and waiting amount to.
    pub fn check_verdicts(&self) -> Result<()> {
        self.check_knee()?;
        self.check_bottleneck()
    }

    fn check_levels(&self) -> Result<()> {
        let summary = &self.summary;
        ensure!(summary.state == RunState::Complete, "the run is not complete: {:?}", summary.state);
        let levels: Vec<Level> = summary.levels.iter().map(|level| level.level).collect();
        ensure!(levels == [1, 2, 4, 8, 10, 16].map(Level::Concurrency), "levels {levels:?}");
        ensure!(
            self.conditions.added_levels == [Level::from(10)],
            "added levels {:?}",
            self.conditions.added_levels
        );
        for level in &summary.levels {
            ensure!(
                level.n == 40 && level.ok == 40,
                "{} of {} measured at {}",
                level.ok,
                level.n,
                level.level
            );
        }
        let judged: Vec<Level> =
            summary.slo.iter().flat_map(|slo| &slo.levels).map(|level| level.level).collect();
        ensure!(judged == [Level::from(10)], "the SLO was judged at {judged:?}");
        Ok(())
    }

    /// The client's counts equal the rise of the server's counters exactly: in the summary, and counted anew here.
    fn check_counts(&self) -> Result<()> {
        let found = &self.summary.reconciliation;
        ensure!(found.state == ReconciliationState::Match, "reconciliation: {}", found.text);
        for row in &found.rows {
            let (client, server) =
                (row.client.context("no client count")?, row.server.context("no server count")?);
            ensure!(whole(server) == Some(client), "{}: client {client}, server {server}", row.name);
        }
        let ok = || self.requests.iter().filter(|request| request.outcome.is_ok());
        let tokens = |count: fn(&RequestRecord) -> Option<u32>| -> Option<u64> {
            ok().map(|record| count(record).map(u64::from)).sum()
        };
        for (name, client, server) in [
            (
                "completions",
                Some(ok().count() as u64),
                self.rise(|sample| Some(sample.finished.values().sum())),
            ),
            (
                "output tokens",
                tokens(|record| record.output_tokens),
                self.rise(|sample| sample.counters.get(&Counter::GenerationTokens).copied()),
            ),
            (
                "input tokens",
                tokens(|record| record.input_tokens),
                self.rise(|sample| sample.counters.get(&Counter::PromptTokens).copied()),
            ),
        ] {
            let server = server.and_then(whole);
            ensure!(
                client.is_some() && client == server,
                "{name}: {client:?} in requests.jsonl, {server:?} in samples.jsonl"
            );
            say(&format!("  {name}: {} on both sides", client.unwrap_or_default()));
        }
        Ok(())
    }

    /// From the first scrape to the last; both were made while the server was idle.
    fn rise(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let mut read: Vec<&Sample> =
            self.samples.iter().filter(|sample| sample.outcome == SampleOutcome::Ok).collect();
        read.sort_by_key(|sample| sample.at_ns);
        Some(value(read.last()?)? - value(read.first()?)?)
    }

    fn check_knee(&self) -> Result<()> {
        let knee = &self.summary.knee;
        let KneeState::Bracket { low, high } = knee.state else {
            anyhow::bail!("no knee was found: {}", knee.text);
        };
        ensure!(
            (low..=high).contains(&Level::from(4)),
            "the knee's bracket {low} to {high} does not hold 4: {}",
            knee.text
        );
        say(&format!("  knee: {}", knee.text));
        Ok(())
    }

    fn check_bottleneck(&self) -> Result<()> {
        let level =
            self.summary.levels.iter().find(|level| level.level == 16.into()).context("no level 16")?;
        let found = &level.bottleneck;
        ensure!(
            found.kind == BottleneckKind::ServerSlots,
            "at 16 the limit is {:?}: {}",
            found.kind,
            found.text
        );
        let number = |name: &str| {
            level.number(name).and_then(|number| number.value).with_context(|| format!("no {name} at 16"))
        };
        let (running, waiting) = (number("server_running")?, number("server_waiting")?);
        ensure!((3.0..=4.2).contains(&running), "running {running} at 16; there are 4 slots");
        ensure!(waiting > 2.0, "waiting {waiting} at 16");
        say(&format!("  at 16: {running:.2} running, {waiting:.2} waiting"));
        Ok(())
    }
}

fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && value.fract() == 0.0).then_some(value as u64)
}
