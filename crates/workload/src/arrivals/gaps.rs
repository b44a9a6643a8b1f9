use crate::draw::Draw;

/// Independent gaps of one law and a given mean, nanoseconds.
#[derive(Clone, Debug)]
pub struct Gaps {
    law: Law,
    /// Factor of a draw of the law.
    scale: f64,
}

#[derive(Clone, Debug)]
enum Law {
    Exponential,
    /// Of this shape.
    Gamma(f64),
    /// Of the shape with this inverse.
    Weibull(f64),
}

impl Gaps {
    pub const fn exponential(mean: f64) -> Self {
        Self { law: Law::Exponential, scale: mean }
    }

    /// Gamma of shape `b` and mean `b` times the scale: the coefficient of variation is 1/√b.
    pub fn gamma(mean: f64, shape: f64) -> Self {
        Self { law: Law::Gamma(shape), scale: mean / shape }
    }

    /// Weibull of shape `k`, whose mean is Γ(1 + 1/k) times the scale.
    pub fn weibull(mean: f64, shape: f64) -> Self {
        Self { law: Law::Weibull(1.0 / shape), scale: mean / libm::tgamma(1.0 + 1.0 / shape) }
    }

    pub fn next(&self, draw: &mut Draw) -> f64 {
        self.scale
            * match self.law {
                Law::Exponential => draw.exponential(),
                Law::Gamma(shape) => draw.gamma(shape),
                Law::Weibull(inverse) => libm::pow(draw.exponential(), inverse),
            }
    }
}
