use crate::{
    Stream,
    draw::{Key, Purpose},
};
use plimsoll_record::Level;

/// In which order a file's prompts are used: shuffled once by the seed, then dealt to the levels and repeats in
/// sections of equal size. A level that sends no more than its section repeats no prompt of another level. Load goes
/// forward from the section's begin, warm-up backward from its end; both wrap around.
#[derive(Clone, Debug)]
pub struct Order {
    shuffled: Vec<usize>,
    levels: Vec<Level>,
    repeats: u64,
}

impl Order {
    pub fn new(prompts: usize, levels: &[Level], repeats: u32, seed: u64) -> Self {
        let mut shuffled: Vec<usize> = (0..prompts).collect();
        Key::of_run(seed).draw(Purpose::FileOrder).shuffle(&mut shuffled);
        let mut levels = levels.to_vec();
        levels.sort_unstable();
        levels.dedup();
        Self { shuffled, levels, repeats: u64::from(repeats.max(1)) }
    }

    /// Which prompt request `k` uses.
    pub fn position(&self, level: Level, repeat: u32, stream: Stream, k: u64) -> usize {
        let n = self.shuffled.len().max(1) as u64;
        let sections = self.levels.len().max(1) as u64 * self.repeats;
        // A level that is not in the plan takes the section after the next lower one's.
        let level = self.levels.partition_point(|known| *known < level) as u64;
        let section = (level * self.repeats + u64::from(repeat)) % sections;
        let begin = |section: u64| (u128::from(section) * u128::from(n) / u128::from(sections)) as u64;
        let offset = match stream {
            Stream::Load => begin(section) + k % n,
            Stream::Warmup => begin(section + 1) + n - 1 - k % n,
        };
        self.shuffled.get((offset % n) as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn each_round_uses_each_prompt_once(n in 1_usize..60, level in 1_u32..9, repeat in 0_u32..3, seed: u64) {
            let order = Order::new(n, &[1, 2, 4, 8].map(Level::Concurrency), 3, seed);
            for stream in [Stream::Load, Stream::Warmup] {
                for round in 0..2 {
                    let first = round * n as u64;
                    let used: BTreeSet<usize> =
                        (first..first + n as u64).map(|k| order.position(Level::Concurrency(level), repeat, stream, k)).collect();
                    prop_assert_eq!(used.len(), n);
                }
            }
        }
    }

    #[test]
    fn sections_share_no_prompt_and_warm_up_meets_load_last() {
        let order = Order::new(60, &[1, 2, 4].map(Level::Concurrency), 2, 9);
        let mut used = BTreeSet::new();
        for level in [1, 2, 4].map(Level::Concurrency) {
            for repeat in 0..2 {
                used.extend((0..7).map(|k| order.position(level, repeat, Stream::Load, k)));
                used.extend((0..3).map(|k| order.position(level, repeat, Stream::Warmup, k)));
            }
        }
        assert_eq!(used.len(), 60);
    }

    #[test]
    fn the_seed_changes_the_order() {
        let first = |seed| {
            let order = Order::new(100, &[1.into()], 1, seed);
            (0..100).map(|k| order.position(1.into(), 0, Stream::Load, k)).collect::<Vec<_>>()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
