use crate::terminal;
use plimsoll_record::Level;
use plimsoll_sweep::{Progress, Resolved};

/// Turns a level's progress into words.
#[derive(Debug)]
pub struct View {
    seed: Option<u64>,
    window_s: Option<f64>,
    floor_s: f64,
    /// When the window of the current level was first seen open, seconds since the level's start.
    opened: Option<(usize, f64)>,
}

/// A level at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub level: Level,
    pub repeat: u32,
    pub index: usize,
    pub progress: Progress,
    pub elapsed_s: f64,
    pub target: Option<u32>,
}

impl View {
    pub fn new(resolved: &Resolved) -> Self {
        let plan = &resolved.plan;
        Self {
            seed: plan.seed,
            window_s: plan.duration.map(|span| span.duration().as_secs_f64()),
            floor_s: plan.min_window.duration().as_secs_f64(),
            opened: None,
        }
    }

    /// Where the evidence goes, what runs, and the seed.
    pub fn started(&self, folder: &std::path::Path, levels: &[Level], repeats: u32) -> String {
        let kind = if levels.iter().any(|level| level.is_open_loop()) { "rate" } else { "concurrency" };
        let levels: Vec<String> = levels.iter().map(Level::to_string).collect();
        let times = if repeats > 1 { format!(" x {repeats}") } else { String::new() };
        let seed = self.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        terminal::line(&format!(
            "{kind} {}{times}{seed}, evidence in {}",
            levels.join(", "),
            folder.display()
        ))
    }

    /// `concurrency 8  measure 37/72  312 tok/s  ttft p50 0.120 s  0 failed  about 12 s left`.
    pub fn running(&mut self, moment: &Moment) -> String {
        if moment.progress.ended == 0 {
            return format!("{}  {}", name(moment), phase(moment));
        }
        let left = self.left(moment).map(|left| format!("  {left}")).unwrap_or_default();
        format!("{}  {}  {}{left}", name(moment), phase(moment), figures(moment))
    }

    /// What a level came to.
    pub fn ended(moment: &Moment) -> String {
        let Progress { measured, ended, .. } = moment.progress;
        format!(
            "{}  {measured} measured of {ended}  {}  {:.1} s",
            name(moment),
            figures(moment),
            moment.elapsed_s
        )
    }

    /// Time until the window closes, where that is known. The requests then in flight come on top.
    fn left(&mut self, moment: &Moment) -> Option<String> {
        let progress = moment.progress;
        if progress.window_open.is_none() || progress.window_close.is_some() {
            return None;
        }
        if self.opened.is_none_or(|(index, _)| index != moment.index) {
            self.opened = Some((moment.index, moment.elapsed_s));
        }
        let open_s = moment.elapsed_s - self.opened?.1;
        if let Some(target) = moment.target {
            let rate = f64::from(progress.measured) / open_s;
            let left = f64::from(target.saturating_sub(progress.measured)) / rate;
            return (open_s > 1.0 && left.is_finite()).then(|| format!("about {left:.0} s left"));
        }
        let (word, window_s) =
            self.window_s.map_or(("at least", self.floor_s), |window_s| ("about", window_s));
        let left = window_s - open_s;
        (left > 0.0).then(|| format!("{word} {left:.0} s left"))
    }
}

fn name(moment: &Moment) -> String {
    let repeat = if moment.repeat > 0 { format!(" (repeat {})", moment.repeat + 1) } else { String::new() };
    match moment.level {
        Level::Concurrency(slots) => format!("concurrency {slots:>3}{repeat}"),
        Level::Rate(rate) => format!("{rate} req/s{repeat}"),
    }
}

fn phase(moment: &Moment) -> String {
    let progress = moment.progress;
    if progress.window_open.is_none() {
        return format!("warm-up {}", progress.ended);
    }
    let of = moment.target.map(|target| format!("/{target}")).unwrap_or_default();
    let word = if progress.window_close.is_none() { "measure" } else { "filler" };
    format!("{word} {}{of}", progress.measured)
}

/// Over the whole level up to now, warm-up included: for orientation, not for the report.
fn figures(moment: &Moment) -> String {
    let progress = moment.progress;
    let tokens = if moment.elapsed_s > 0.0 { progress.output_tokens as f64 / moment.elapsed_s } else { 0.0 };
    let ttft =
        progress.ttft_p50.map_or_else(|| "-".to_owned(), |ttft| format!("{:.3} s", ttft.as_secs_f64()));
    let backlog = if moment.level.is_open_loop() { backlog(moment) } else { String::new() };
    format!("{tokens:.0} tok/s  ttft p50 {ttft}  {} failed{backlog}", progress.failed)
}

/// Of an open loop: what came and what was answered each second, what is in flight, and what waits for the cap.
fn backlog(moment: &Moment) -> String {
    let progress = moment.progress;
    let each_second = |n: u64| n as f64 / moment.elapsed_s.max(1e-3);
    let (sent, ended) = (each_second(progress.started), each_second(progress.ended));
    let line = if progress.waiting > 0 { format!(", {} in line", progress.waiting) } else { String::new() };
    format!("  {sent:.1}/s due, {ended:.1}/s done  {} in flight{line}", progress.in_flight())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use plimsoll_record::{Nanos, Plan, Span};

    pub fn view(change: impl FnOnce(&mut Plan)) -> View {
        let mut plan = Plan { url: vec!["http://h".into()], seed: Some(5), ..Plan::default() };
        change(&mut plan);
        View::new(&plimsoll_sweep::resolve(plan, 1).unwrap())
    }

    pub fn moment(elapsed_s: f64, open: bool, measured: u32, target: Option<u32>) -> Moment {
        let progress = Progress {
            started: 20,
            ended: 12,
            failed: 1,
            waiting: 0,
            output_tokens: 1000,
            ttft_p50: Some(Nanos::from_millis(100)),
            window_open: open.then_some(Nanos::from_millis(1)),
            window_close: None,
            measured,
        };
        Moment { level: Level::Concurrency(8), repeat: 0, index: 3, progress, elapsed_s, target }
    }

    #[test]
    fn a_fixed_number_of_requests_has_a_time_left_once_a_rate_is_known() {
        let mut view = view(|_| {});
        let line = view.running(&moment(2.0, false, 0, Some(40)));
        assert_eq!(line, "concurrency   8  warm-up 12  500 tok/s  ttft p50 0.100 s  1 failed");
        assert!(!view.running(&moment(4.0, true, 1, Some(40))).contains("left"));
        let line = view.running(&moment(8.0, true, 10, Some(40)));
        assert_eq!(
            line,
            "concurrency   8  measure 10/40  125 tok/s  ttft p50 0.100 s  1 failed  about 12 s left"
        );
    }

    #[test]
    fn a_window_counts_down_and_the_rule_only_bounds() {
        let mut window = view(|plan| plan.duration = Some(Span::from_millis(10_000)));
        window.running(&moment(2.0, true, 1, None));
        assert!(window.running(&moment(5.0, true, 9, None)).ends_with("about 7 s left"));
        let mut rule = view(|_| {});
        rule.running(&moment(2.0, true, 1, None));
        assert!(rule.running(&moment(5.0, true, 9, None)).ends_with("at least 27 s left"));
        assert!(!rule.running(&moment(50.0, true, 9, None)).contains("left"));
    }

    #[test]
    fn a_rate_shows_what_came_what_was_answered_and_what_waits() {
        let mut moment = moment(4.0, true, 3, None);
        moment.level = Level::Rate(plimsoll_record::Rate::new(2.5).unwrap());
        moment.progress.waiting = 2;
        let line = view(|_| {}).running(&moment);
        assert!(
            line.starts_with("2.5 req/s  measure 3  250 tok/s  ttft p50 0.100 s  1 failed  5.0/s due"),
            "{line}"
        );
        assert!(line.contains("3.0/s done  6 in flight, 2 in line"), "{line}");
    }

    #[test]
    fn the_first_line_names_the_seed() {
        let text = view(|_| {}).started(std::path::Path::new("runs/x"), &[1, 2].map(Level::Concurrency), 2);
        assert_eq!(text, "concurrency 1, 2 x 2, seed 5, evidence in runs/x");
    }
}
