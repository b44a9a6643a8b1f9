use crate::Stream;
use plimsoll_record::Level;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// What a draw is for. Each purpose has a stream of its own, so that a change of one leaves the others as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    InputLength,
    OutputLength,
    PromptWords,
    Nonce,
    FileOrder,
    Arrivals,
}

/// Names one request of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub seed: u64,
    pub level: Level,
    pub repeat: u32,
    pub stream: Stream,
    pub k: u64,
}

impl Key {
    /// A key for what is drawn once a run.
    pub const fn of_run(seed: u64) -> Self {
        Self { seed, level: Level::Concurrency(0), repeat: 0, stream: Stream::Load, k: 0 }
    }

    /// 64 bits that no other key or purpose shares, but for a chance of 2^-64.
    pub fn hash(self, purpose: Purpose) -> u64 {
        xxh3_64_with_seed(&self.bytes(purpose), self.seed)
    }

    /// Random numbers of this key and purpose: `ChaCha8`, whose output is the same on every platform and release.
    pub fn draw(self, purpose: Purpose) -> Draw {
        let bytes = self.bytes(purpose);
        let mut seed = [0; 32];
        let (low, high) = seed.split_at_mut(16);
        low.copy_from_slice(&xxh3_128_with_seed(&bytes, self.seed).to_le_bytes());
        high.copy_from_slice(&xxh3_128_with_seed(&bytes, !self.seed).to_le_bytes());
        Draw { rng: ChaCha8Rng::from_seed(seed) }
    }

    fn bytes(self, purpose: Purpose) -> Vec<u8> {
        // Names and not ordinals: a new purpose must not move the old ones.
        let purpose: &[u8] = match purpose {
            Purpose::InputLength => b"input length",
            Purpose::OutputLength => b"output length",
            Purpose::PromptWords => b"prompt words",
            Purpose::Nonce => b"nonce",
            Purpose::FileOrder => b"file order",
            Purpose::Arrivals => b"arrivals",
        };
        let stream = match self.stream {
            Stream::Warmup => 1_u8,
            Stream::Load => 2,
        };
        let mut bytes = Vec::with_capacity(48);
        // Of different lengths, so that no rate is taken for a concurrency.
        match self.level {
            Level::Concurrency(slots) => bytes.extend_from_slice(&slots.to_le_bytes()),
            Level::Rate(_) => bytes.extend_from_slice(&self.level.number().to_le_bytes()),
        }
        bytes.extend_from_slice(&self.repeat.to_le_bytes());
        bytes.push(stream);
        bytes.extend_from_slice(&self.k.to_le_bytes());
        bytes.extend_from_slice(purpose);
        bytes
    }
}

/// A source of random numbers.
#[derive(Clone, Debug)]
pub struct Draw {
    rng: ChaCha8Rng,
}

impl Draw {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `0..n`, unbiased (Lemire 2019, by rejection); 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// Standard normal (Box and Muller 1958). `libm` gives the same bits on every platform.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Standard exponential, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Gamma of this shape and scale 1 (Marsaglia and Tsang 2000); below 1 from the shape above it, by their remark on
    /// U^(1/shape).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let above = self.gamma(shape + 1.0);
            return above * libm::pow(1.0 - self.unit(), 1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let normal = self.normal();
            let root = 1.0 + c * normal;
            if root <= 0.0 {
                continue;
            }
            let cube = root * root * root;
            let unit = 1.0 - self.unit();
            if libm::log(unit) < 0.5 * normal * normal + d * (1.0 - cube + libm::log(cube)) {
                return d * cube;
            }
        }
    }

    /// Puts a slice in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::Rate;

    const KEY: Key = Key { seed: 1, level: Level::Concurrency(2), repeat: 3, stream: Stream::Load, k: 4 };

    #[test]
    fn each_part_of_a_key_and_the_purpose_change_the_draw() {
        let others = [
            Key { seed: 2, ..KEY },
            Key { level: Level::Concurrency(3), ..KEY },
            Key { level: Level::Rate(Rate::new(2.0).unwrap()), ..KEY },
            Key { repeat: 2, ..KEY },
            Key { stream: Stream::Warmup, ..KEY },
            Key { k: 5, ..KEY },
        ];
        let first = KEY.draw(Purpose::PromptWords).bits();
        assert_eq!(first, KEY.draw(Purpose::PromptWords).bits());
        assert_ne!(first, KEY.draw(Purpose::InputLength).bits());
        for other in others {
            assert_ne!(first, other.draw(Purpose::PromptWords).bits(), "{other:?}");
            assert_ne!(KEY.hash(Purpose::Nonce), other.hash(Purpose::Nonce), "{other:?}");
        }
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        let mut draw = KEY.draw(Purpose::FileOrder);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[draw.below(6) as usize] += 1;
        }
        // 5 standard deviations of a binomial(60000, 1/6).
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 457), "{counts:?}");
        assert_eq!(draw.below(0), 0);
    }

    #[test]
    fn normal_and_exponential_have_their_moments() {
        let mut draw = KEY.draw(Purpose::FileOrder);
        let n = 40_000_u32;
        let normals: Vec<f64> = (0..n).map(|_| draw.normal()).collect();
        let exponentials: Vec<f64> = (0..n).map(|_| draw.exponential()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / f64::from(n);
        let square = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>() / f64::from(n);
        assert!(mean(&normals).abs() < 0.025);
        assert!((square(&normals) - 1.0).abs() < 0.036);
        assert!((mean(&exponentials) - 1.0).abs() < 0.025);
        assert!((square(&exponentials) - 2.0).abs() < 0.12);
    }
}
