use crate::{escape, grid, wording};
use plimsoll_metrics::{FlagClass, Summary};

/// Width of the names before the findings.
const NAME: usize = 17;

/// Knee, SLO, operating point, bottleneck, reconciliation, flags.
pub fn verdicts(summary: &Summary, width: usize) -> String {
    let mut text = String::new();
    let mut say = |name: &str, finding: &str| {
        text.push_str(&grid::wrap(&format!("{name:<NAME$}"), &escape::terminal(finding), width));
    };
    say("Knee", &wording::knee(&summary.knee));
    for objective in &summary.slo {
        say("SLO", &objective.objective);
        for level in &objective.levels {
            let verdict = wording::verdict(level.verdict);
            say("", &format!("{verdict} at {}: {}", level.level, level.text));
        }
    }
    say("Operating point", &summary.operating_point.text);
    let limit = &summary.bottleneck;
    let at = limit.level.map(|level| format!(" (at {level})")).unwrap_or_default();
    say("Bottleneck", &format!("{}{at}: {}", wording::bottleneck(limit.kind), limit.text));
    let counts = &summary.reconciliation;
    say("Reconciliation", &format!("{}: {}", wording::reconciliation(counts.state), counts.text));
    let flags = wording::flags(summary);
    if flags.is_empty() {
        say("Integrity", &wording::no_flags(summary.checks));
        return text;
    }
    let invalid = flags.iter().filter(|(_, flag)| flag.class == FlagClass::Invalid).count();
    say(
        "Integrity",
        &format!("{invalid} INVALID and {} WARN flags of {} checks", flags.len() - invalid, summary.checks),
    );
    for (place, flag) in flags {
        let place = match place {
            Some((level, 0)) => format!("level {level}: "),
            Some((level, repeat)) => format!("level {level} repeat {repeat}: "),
            None => String::new(),
        };
        say(&format!("  {}", wording::class(flag.class)), &format!("{place}{}: {}", flag.id, flag.text));
    }
    text
}
