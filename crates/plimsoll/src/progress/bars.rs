use super::view::{Moment, View};
use crate::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_sweep::{Observer, SweepEvent};

/// One line that changes while a level runs; it stays when the level has ended. Drawn on the steering thread, a few
/// times a second.
pub struct Bars {
    view: View,
    line: ProgressBar,
}

impl Bars {
    pub fn new(view: View) -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        // The template is a constant without fields that could be unknown.
        let style =
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        line.set_style(style);
        Self { view, line }
    }

    fn keep(&self, text: &str) {
        self.line.suspend(|| terminal::say(text));
    }
}

impl Observer for Bars {
    fn event(&mut self, event: SweepEvent) {
        match event {
            SweepEvent::Preflight(text) => self.line.set_message(terminal::line(&text)),
            SweepEvent::Note(text) => self.keep(&terminal::line(&format!("note: {text}"))),
            SweepEvent::Started { folder, levels, repeats } => {
                self.line.set_message("");
                self.keep(&self.view.started(&folder, &levels, repeats));
            }
            SweepEvent::Level { level, repeat, index, progress, elapsed_s, target } => {
                let text = self.view.running(&Moment { level, repeat, index, progress, elapsed_s, target });
                self.line.set_message(text);
                self.line.tick();
            }
            SweepEvent::LevelEnded { level, repeat, index, progress, elapsed_s } => {
                self.line.set_message("");
                let moment = Moment { level, repeat, index, progress, elapsed_s, target: None };
                self.keep(&View::ended(&moment));
            }
            SweepEvent::Finished => self.line.finish_and_clear(),
        }
    }
}

/// An error in the middle of a sweep must not leave half a line behind.
impl Drop for Bars {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
