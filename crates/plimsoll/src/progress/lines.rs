use super::view::{Moment, View};
use crate::terminal;
use plimsoll_sweep::{Observer, SweepEvent};

/// Shortest time between two lines of a level, seconds.
const EVERY_S: f64 = 10.0;

/// A line when a level starts and ends, and one every ten seconds meanwhile: for logs and pipes.
pub struct Lines {
    view: View,
    say: fn(&str),
    /// The level last spoken of, and when.
    last: Option<(usize, f64)>,
}

impl Lines {
    pub const fn new(view: View) -> Self {
        Self { view, say: terminal::say, last: None }
    }
}

impl Observer for Lines {
    fn event(&mut self, event: SweepEvent) {
        match event {
            SweepEvent::Preflight(text) => (self.say)(&terminal::line(&text)),
            SweepEvent::Note(text) => (self.say)(&terminal::line(&format!("note: {text}"))),
            SweepEvent::Started { folder, levels, repeats } => {
                (self.say)(&self.view.started(&folder, &levels, repeats));
            }
            SweepEvent::Level { level, repeat, index, progress, elapsed_s, target } => {
                let text = self.view.running(&Moment { level, repeat, index, progress, elapsed_s, target });
                match self.last {
                    Some((last, at)) if last == index && elapsed_s - at < EVERY_S => {}
                    _ => {
                        self.last = Some((index, elapsed_s));
                        (self.say)(&text);
                    }
                }
            }
            SweepEvent::LevelEnded { level, repeat, index, progress, elapsed_s } => {
                let moment = Moment { level, repeat, index, progress, elapsed_s, target: None };
                (self.say)(&View::ended(&moment));
            }
            SweepEvent::Finished => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{moment, view};
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn a_line_at_the_start_one_every_ten_seconds_and_one_at_the_end() {
        let say = |text: &str| SAID.with_borrow_mut(|said| said.push(text.to_owned()));
        let mut lines = Lines { view: view(|_| {}), say, last: None };
        for index in [0, 1] {
            for tenth in 0..250 {
                let moment = moment(f64::from(tenth) / 10.0, true, 3, None);
                let Moment { level, repeat, progress, elapsed_s, target, .. } = moment;
                lines.event(SweepEvent::Level { level, repeat, index, progress, elapsed_s, target });
            }
            let progress = moment(0.0, true, 3, None).progress;
            lines.event(SweepEvent::LevelEnded {
                level: 8.into(),
                repeat: 0,
                index,
                progress,
                elapsed_s: 25.0,
            });
        }
        lines.event(SweepEvent::Note("a\u{1b}[2Jb\nc".into()));
        let said = SAID.take();
        assert_eq!(said.len(), 2 * 4 + 1, "{said:#?}");
        assert_eq!(
            said[3],
            "concurrency   8  3 measured of 12  40 tok/s  ttft p50 0.100 s  1 failed  25.0 s"
        );
        assert_eq!(said[8], "note: a [2Jb c");
    }
}
