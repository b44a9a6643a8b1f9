//! The live display on a terminal, and plain lines elsewhere.

mod bars;
mod lines;
mod view;

use plimsoll_sweep::{Observer, Resolved};
use std::io::{IsTerminal, stderr};

/// The display that suits standard error.
pub fn for_stderr(resolved: &Resolved) -> Box<dyn Observer> {
    let view = view::View::new(resolved);
    if stderr().is_terminal() { Box::new(bars::Bars::new(view)) } else { Box::new(lines::Lines::new(view)) }
}
