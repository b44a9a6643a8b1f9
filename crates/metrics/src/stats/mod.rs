//! Distribution functions, without tables or approximations of limited range.

mod beta;
pub mod binomial;
pub mod student;

pub use beta::regularized_beta;
