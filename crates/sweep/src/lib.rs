//! A whole sweep: the plan completed and checked, the server looked at, the levels run, the evidence kept, the report
//! made.
//!
//! ```text
//! read_plan / Plan -> resolve -> sweep -> RunFolder -> render
//! ```
//!
//! [`sweep`] runs in real time over sockets, or, over in-memory pipes within one paused runtime ([`Link::Memory`]),
//! in virtual time: then the same plan and seed give the same run folder byte for byte.
//! [`render`] makes the report of a folder, now or later, from the folder alone.

mod bounded;
mod check;
mod error;
mod events;
mod folder;
mod header;
mod host;
mod open_loop;
mod plan;
mod preflight;
mod render;
mod run;
mod selftest;
mod supply;
mod template;
mod together;
mod wall;
mod watch;
mod whole;
mod writer;

pub use bounded::{SMALL, read_text};
pub use check::{
    CheckLoad, CheckOptions, CheckReport, CheckRow, CheckSpread, CheckState, CheckTokens, check,
};
pub use error::{ErrorKind, SweepError};
pub use events::{Observer, Silent, SweepEvent};
pub use folder::RunFolder;
pub use header::{Header, read_headers};
pub use plan::{Resolved, check_target, demo_plan, read_plan, resolve};
pub use plimsoll_driver::{Progress, Stop};
pub use plimsoll_transport::{MemoryDial, Secret};
pub use preflight::open_files;
pub use render::{Rendered, render};
pub use run::Ending;
pub use selftest::{
    CeilingStore, FILES_NEEDED, SPARE_FILES, Selftest, SelftestOptions, SelftestRow, Serve, selftest,
};
pub use wall::WallStamp;
pub use whole::{Done, Link, Setup, sweep};
