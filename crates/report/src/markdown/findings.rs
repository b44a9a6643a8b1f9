use super::sheet::{Sheet, cells};
use crate::{escape, figure, wording};
use plimsoll_metrics::Summary;

/// The verdicts in short.
pub fn glance(sheet: &mut Sheet, summary: &Summary) {
    let mut items = vec![format!("**Knee:** {}", escape::markdown(&wording::knee(&summary.knee)))];
    for objective in &summary.slo {
        if objective.levels.is_empty() {
            items.push(format!("**SLO** {}: {}", escape::code(&objective.objective), wording::NOT_JUDGED));
        }
        for level in &objective.levels {
            items.push(format!(
                "**SLO** {}: **{}** at {}",
                escape::code(&objective.objective),
                wording::verdict(level.verdict),
                level.level
            ));
        }
    }
    items.push(format!("**Operating point:** {}", escape::markdown(&summary.operating_point.text)));
    items.push(format!("**Bottleneck:** {}", wording::bottleneck(summary.bottleneck.kind)));
    items.push(format!("**Integrity:** {}", wording::integrity(summary)));
    sheet.list(&items);
}

/// The verdicts with what they rest on.
pub fn verdicts(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(2, "Verdicts");
    knee(sheet, summary);
    slo(sheet, summary);
    sheet.heading(3, "Operating point");
    sheet.paragraph(&escape::markdown(&summary.operating_point.text));
    bottleneck(sheet, summary);
    reconciliation(sheet, summary);
}

fn knee(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(3, "Knee");
    sheet.paragraph(&escape::markdown(&wording::knee(&summary.knee)));
    if summary.knee.elasticities.is_empty() {
        return;
    }
    sheet.paragraph("Elasticity between neighbouring levels, `(ln X2 - ln X1) / (ln N2 - ln N1)` of output tok/s X at concurrency N:");
    let row = |pair: &plimsoll_metrics::Elasticity| {
        vec![pair.from.to_string(), pair.to.to_string(), figure::significant(pair.value)]
    };
    let rows: Vec<Vec<String>> = summary.knee.elasticities.iter().map(row).collect();
    sheet.table(&cells(["from", "to", "elasticity"]), &rows, 0);
}

fn slo(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(3, "SLO");
    if summary.slo.is_empty() {
        sheet.paragraph("None was set.");
        return;
    }
    let percent = |share: Option<f64>| {
        share.map_or_else(|| figure::NONE.to_owned(), |share| figure::significant(share * 100.0))
    };
    let mut rows = Vec::new();
    for objective in &summary.slo {
        for level in &objective.levels {
            rows.push(vec![
                escape::code(&objective.objective),
                wording::verdict(level.verdict).to_owned(),
                escape::markdown(&level.text),
                level.level.to_string(),
                level.ok.to_string(),
                level.n.to_string(),
                percent(Some(level.target)),
                percent(level.lower),
                percent(level.upper),
            ]);
        }
    }
    let header = cells([
        "objective",
        "verdict",
        "reason",
        "concurrency",
        "met it",
        "n",
        "target (%)",
        "lower bound (%)",
        "upper bound (%)",
    ]);
    sheet.table(&header, &rows, 3);
    sheet.paragraph(
        "The bounds are one-sided 95 % Clopper-Pearson bounds of the true share; failed requests are misses. PASS: the lower \
         bound reaches the target. FAIL: the upper bound stays under it. INCONCLUSIVE: neither, more requests are needed.",
    );
}

fn bottleneck(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(3, "Bottleneck");
    let whole = &summary.bottleneck;
    sheet.paragraph(&format!("**{}**: {}", wording::bottleneck(whole.kind), escape::markdown(&whole.text)));
    let mut rows = Vec::new();
    for level in &summary.levels {
        let figures: Vec<String> = level
            .bottleneck
            .figures
            .iter()
            .map(|(name, value)| format!("{} {}", escape::code(name), figure::significant(*value)))
            .collect();
        rows.push(vec![
            level.level.to_string(),
            level.repeat.to_string(),
            wording::bottleneck(level.bottleneck.kind).to_owned(),
            escape::markdown(&level.bottleneck.text),
            figures.join(", "),
        ]);
    }
    if !rows.is_empty() {
        sheet.table(&cells(["concurrency", "repeat", "limit", "reason", "figures"]), &rows, 5);
    }
}

fn reconciliation(sheet: &mut Sheet, summary: &Summary) {
    let found = &summary.reconciliation;
    sheet.heading(3, "Client counts against the server's");
    sheet.paragraph(&format!(
        "**{}**: {}",
        wording::reconciliation(found.state),
        escape::markdown(&found.text)
    ));
    let row = |row: &plimsoll_metrics::ReconciliationRow| {
        let none = || figure::NONE.to_owned();
        vec![
            escape::code(&row.name),
            row.client.map_or_else(none, |count| count.to_string()),
            row.server.map_or_else(none, |count| count.to_string()),
        ]
    };
    let rows: Vec<Vec<String>> = found.rows.iter().map(row).collect();
    if !rows.is_empty() {
        sheet.table(&cells(["count", "client", "server"]), &rows, 1);
    }
}

/// Every integrity finding, the gravest first.
pub fn flags(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(2, "Integrity");
    sheet.paragraph(&format!("{}.", wording::integrity(summary)));
    let flags = wording::flags(summary);
    if flags.is_empty() {
        return;
    }
    sheet
        .paragraph("INVALID: the numbers it concerns are withheld. WARN: they stand, with this to be known.");
    let rows: Vec<Vec<String>> = flags
        .into_iter()
        .map(|(place, flag)| {
            let place = place.unwrap_or_else(|| "run".to_owned());
            let numbers: Vec<String> = flag.numbers.iter().map(|name| escape::code(name)).collect();
            let numbers = if numbers.is_empty() { "all".to_owned() } else { numbers.join(", ") };
            vec![
                wording::class(flag.class).to_owned(),
                place,
                escape::code(&flag.id),
                escape::markdown(&flag.text),
                numbers,
            ]
        })
        .collect();
    sheet.table(&cells(["class", "concurrency", "flag", "finding", "numbers"]), &rows, 5);
}
