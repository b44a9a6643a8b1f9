use plimsoll_record::Nanos;

/// Values in order, in short runs: with a million of them an insertion into one list would hold up all threads that send.
#[derive(Debug, Default)]
pub struct Sorted {
    /// None is empty; the values of one are not above those of the next.
    runs: Vec<Vec<Nanos>>,
    len: usize,
}

/// Longest run.
const LONGEST: usize = 1024;

impl Sorted {
    pub const fn len(&self) -> usize {
        self.len
    }

    pub fn insert(&mut self, value: Nanos) {
        self.len += 1;
        let fits = |run: &Vec<Nanos>| run.last().is_some_and(|last| *last < value);
        let at = self.runs.partition_point(fits).min(self.runs.len().saturating_sub(1));
        let Some(run) = self.runs.get_mut(at) else { return self.runs.push(vec![value]) };
        run.insert(run.partition_point(|other| *other < value), value);
        if run.len() > LONGEST {
            let upper = run.split_off(LONGEST / 2);
            self.runs.insert(at + 1, upper);
        }
    }

    /// The value of this rank, from 0.
    pub fn get(&self, mut rank: usize) -> Option<Nanos> {
        for run in &self.runs {
            if let Some(value) = run.get(rank) {
                return Some(*value);
            }
            rank -= run.len();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_one_sorted_list() {
        let (mut sorted, mut list) = (Sorted::default(), Vec::new());
        assert_eq!((sorted.len(), sorted.get(0)), (0, None));
        let mut state = 7_u64;
        for _ in 0..5000 {
            // The generator of Numerical Recipes; few different values, so that many are equal.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % (1 << 32);
            sorted.insert(Nanos(state >> 20));
            list.push(Nanos(state >> 20));
        }
        list.sort_unstable();
        assert!(sorted.runs.len() > 5 && sorted.runs.iter().all(|run| (1..=LONGEST).contains(&run.len())));
        assert!((0..5000).all(|rank| sorted.get(rank) == list.get(rank).copied()));
        assert_eq!((sorted.len(), sorted.get(5000)), (5000, None));
    }
}
