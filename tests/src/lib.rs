//! Whole-program tests; see `tests/`.
