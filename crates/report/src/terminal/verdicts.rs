use crate::{escape, grid, wording};
use plimsoll_metrics::Summary;

/// Width of the names before the findings.
const NAME: usize = 17;

/// Knee, SLO, operating point, bottleneck, client, reconciliation, flags.
pub fn verdicts(summary: &Summary, width: usize) -> String {
    let mut text = String::new();
    let mut say = |name: &str, finding: &str| {
        text.push_str(&grid::wrap(&format!("{name:<NAME$}"), &escape::terminal(finding), width));
    };
    say("Knee", &wording::knee(&summary.knee));
    for objective in &summary.slo {
        say("SLO", &objective.objective);
        if objective.levels.is_empty() {
            say("", wording::NOT_JUDGED);
        }
        for level in &objective.levels {
            let verdict = wording::verdict(level.verdict);
            say("", &format!("{verdict} at {}: {}", level.level, level.text));
        }
    }
    say("Operating point", &summary.operating_point.text);
    let limit = &summary.bottleneck;
    let at = limit.level.map(|level| format!(" (at {level})")).unwrap_or_default();
    say("Bottleneck", &format!("{}{at}: {}", wording::bottleneck(limit.kind), limit.text));
    say("Client", &summary.client.text());
    let counts = &summary.reconciliation;
    say("Reconciliation", &format!("{}: {}", wording::reconciliation(counts.state), counts.text));
    say("Integrity", &wording::integrity(summary));
    for group in wording::flags(summary) {
        let place = if group.places.is_empty() {
            String::new()
        } else {
            format!("level {}: ", group.places.join(", "))
        };
        let text = format!("{place}{}: {}", group.flag.id, group.text());
        say(&format!("  {}", wording::class(group.flag.class)), &text);
    }
    text
}
