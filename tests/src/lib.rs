//! What the whole-program tests share: the program as a child process ([`Program`]), folders that vanish
//! ([`TempDir`]), the workspace's files ([`workspace`]) and schemas ([`schema`]).
//!
//! ```no_run
//! use plimsoll_tests::{Program, TempDir};
//! let out = TempDir::new("example");
//! let ended = Program::new(&["sweep", "--concurrency", "1", "--out", out.str()]).run();
//! assert_eq!(ended.code, Some(0));
//! ```

mod nginx;
mod program;
pub mod schema;
mod temp;
pub mod workspace;

pub use nginx::Nginx;
pub use program::{Ended, Program, Started};
pub use temp::TempDir;
