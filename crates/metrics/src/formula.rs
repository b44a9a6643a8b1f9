//! Every formula by its id.

/// A formula that a [`crate::Number`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The id in [`crate::Number::formula`].
    pub id: &'static str,
    /// The formula.
    pub text: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

const FORMULAS: &[Formula] = &[];

/// All formulas, by id.
pub fn all() -> &'static [Formula] {
    FORMULAS
}

/// The formula of this id.
pub fn get(id: &str) -> Option<&'static Formula> {
    all().iter().find(|formula| formula.id == id)
}
