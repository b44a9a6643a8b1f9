//! Distribution functions and tests of two samples, without tables or approximations of limited range.

mod beta;
pub mod binomial;
pub mod permutation;
pub mod ranks;
pub mod ratio;
pub mod student;

pub use beta::regularized_beta;
