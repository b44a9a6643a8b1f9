use super::numbers::{key, key_titles};
use super::sheet::{Sheet, cells};
use crate::{escape, figure, wording};
use plimsoll_metrics::{BottleneckKind, LevelSummary, Summary};

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
    items.push(format!(
        "**Bottleneck:** {}{}: {}",
        wording::bottleneck(summary.bottleneck.kind),
        summary.bottleneck.level.map(|level| format!(" (at {level})")).unwrap_or_default(),
        escape::markdown(&summary.bottleneck.text)
    ));
    items.push(format!("**Client:** {}", escape::markdown(&summary.client.text())));
    items.push(format!("**Integrity:** {}", wording::integrity(summary)));
    sheet.list(&items);
}

/// The verdicts with what they rest on.
pub fn verdicts(sheet: &mut Sheet, summary: &Summary) {
    sheet.heading(2, "Verdicts");
    knee(sheet, summary);
    slo(sheet, summary);
    bottleneck(sheet, summary);
    reconciliation(sheet, summary);
}

fn knee(sheet: &mut Sheet, summary: &Summary) {
    if summary.knee.elasticities.is_empty() {
        return;
    }
    sheet.heading(3, "Knee");
    let open = summary.knee.elasticities.iter().any(|pair| pair.from.is_open_loop());
    let load = if open { "offered rate" } else { "concurrency" };
    sheet.paragraph(&format!("Elasticity between neighbouring levels, `(ln X2 - ln X1) / (ln N2 - ln N1)` of output tok/s X at {load} N:"));
    let row = |pair: &plimsoll_metrics::Elasticity| {
        vec![pair.from.to_string(), pair.to.to_string(), figure::significant(pair.value)]
    };
    let rows: Vec<Vec<String>> = summary.knee.elasticities.iter().map(row).collect();
    sheet.table(&cells(["from", "to", "elasticity"]), &rows, 0);
}

fn slo(sheet: &mut Sheet, summary: &Summary) {
    if summary.slo.is_empty() {
        return;
    }
    sheet.heading(3, "SLO");
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
        "level",
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

/// Where the requests were at each level, and the reasons that the glance does not give.
fn bottleneck(sheet: &mut Sheet, summary: &Summary) {
    if summary.levels.is_empty() {
        return;
    }
    sheet.heading(3, "Bottleneck");
    sheet.paragraph("Requests on average: held back by the client (in a closed loop), between client and engine, waiting in the server, being served.");
    let part = |level: &LevelSummary, name: &str| {
        let percent = if name == "kv_usage_max" { 100.0 } else { 1.0 };
        let value = level.bottleneck.figures.get(name).map(|value| percent * value);
        value.map_or_else(|| figure::NONE.to_owned(), figure::significant)
    };
    let row = |level: &LevelSummary| {
        let mut row = key(level, summary);
        row.push(wording::bottleneck(level.bottleneck.kind).to_owned());
        row.extend(
            ["client", "network", "queue", "service", "kv_usage_max", "n"].map(|name| part(level, name)),
        );
        row
    };
    let mut header = key_titles(summary);
    header.extend(cells(["limit", "client", "network", "queue", "service", "KV use (%)", "n"]));
    let texts = header.len() - 6;
    sheet.table(&header, &summary.levels.iter().map(row).collect::<Vec<_>>(), texts);
    let unjudged = |level: &&LevelSummary| {
        level.bottleneck.kind == BottleneckKind::CannotJudge
            && level.bottleneck.text != summary.bottleneck.text
    };
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for level in summary.levels.iter().filter(unjudged) {
        let place = crate::footnote::place(level, summary);
        match reasons.iter_mut().find(|(text, _)| *text == level.bottleneck.text) {
            Some((_, places)) => places.push(place),
            None => reasons.push((&level.bottleneck.text, vec![place])),
        }
    }
    let items: Vec<String> = reasons
        .iter()
        .map(|(text, places)| format!("At {}: {}", places.join(", "), escape::markdown(text)))
        .collect();
    sheet.list(&items);
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

/// Every integrity finding, those of one kind together, the gravest first.
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
        .iter()
        .map(|group| {
            let places = if group.places.is_empty() { "run".to_owned() } else { group.places.join(", ") };
            let numbers: Vec<String> =
                wording::numbers(&group.flag.numbers).iter().map(|name| escape::code(name)).collect();
            let numbers = if numbers.is_empty() { "all".to_owned() } else { numbers.join(", ") };
            vec![
                wording::class(group.flag.class).to_owned(),
                places,
                escape::code(&group.flag.id),
                escape::markdown(&group.text()),
                numbers,
            ]
        })
        .collect();
    sheet.table(&cells(["class", "at", "flag", "finding", "numbers"]), &rows, 5);
}
