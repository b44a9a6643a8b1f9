use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The KV cache: a number of blocks, some of which hold the start of a prompt and can be shared.
///
/// A full block of a prompt is known by the hash of its tokens and of all blocks before it. A block that nobody
/// uses keeps its content until its space is needed; the one unused longest goes first, and of one prompt the
/// last block first. Blocks with generated tokens are private and forgotten at once.
#[derive(Debug)]
pub(super) struct BlockPool {
    capacity: u32,
    private: u32,
    cached: BTreeMap<u64, Cached>,
    /// Unused blocks in the order in which they are given up.
    idle: BTreeMap<u64, u64>,
    clock: u64,
}

#[derive(Debug)]
struct Cached {
    users: u32,
    /// Key in `idle` while `users` is 0.
    idle_key: u64,
}

/// The blocks of one request.
#[derive(Debug, Default)]
pub(super) struct Holding {
    shared: Vec<u64>,
    private: u32,
}

impl Holding {
    pub(super) fn len(&self) -> u32 {
        self.private + self.shared.len() as u32
    }
}

/// Hashes of the full blocks of a prompt, chained.
pub(super) fn block_hashes(prompt: &[u32], block_size: u32) -> Vec<u64> {
    let mut seed = 0;
    let mut bytes = Vec::new();
    prompt
        .chunks_exact(block_size as usize)
        .map(|block| {
            bytes.clear();
            bytes.extend(block.iter().flat_map(|token| token.to_le_bytes()));
            seed = xxh3_64_with_seed(&bytes, seed);
            seed
        })
        .collect()
}

impl BlockPool {
    pub(super) fn new(capacity: u32) -> Self {
        Self { capacity, private: 0, cached: BTreeMap::new(), idle: BTreeMap::new(), clock: 0 }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Blocks that some request holds.
    pub(super) fn in_use(&self) -> u32 {
        self.private + (self.cached.len() - self.idle.len()) as u32
    }

    /// Leading blocks that are in the cache.
    pub(super) fn hits(&self, hashes: &[u64]) -> u32 {
        hashes.iter().take_while(|hash| self.cached.contains_key(hash)).count() as u32
    }

    /// Takes the prompt's full blocks and `private` others, or nothing when there is not enough space.
    pub(super) fn take(&mut self, hashes: &[u64], private: u32) -> Option<Holding> {
        let fresh = hashes.iter().filter(|hash| !self.is_used(**hash)).count() as u32;
        if u64::from(self.in_use()) + u64::from(fresh) + u64::from(private) > u64::from(self.capacity) {
            return None;
        }
        for hash in hashes {
            let entry = self.cached.entry(*hash).or_insert(Cached { users: 0, idle_key: 0 });
            if entry.users == 0 {
                self.idle.remove(&entry.idle_key);
            }
            entry.users += 1;
        }
        self.private += private;
        self.evict();
        Some(Holding { shared: hashes.to_vec(), private })
    }

    /// One more private block for a request that grew; false when there is no space.
    pub(super) fn grow(&mut self, holding: &mut Holding) -> bool {
        if self.in_use() >= self.capacity {
            return false;
        }
        self.private += 1;
        holding.private += 1;
        self.evict();
        true
    }

    pub(super) fn give_back(&mut self, holding: Holding) {
        self.private -= holding.private;
        for hash in holding.shared.into_iter().rev() {
            if let Some(entry) = self.cached.get_mut(&hash) {
                entry.users -= 1;
                if entry.users == 0 {
                    self.clock += 1;
                    entry.idle_key = self.clock;
                    self.idle.insert(self.clock, hash);
                }
            }
        }
    }

    fn is_used(&self, hash: u64) -> bool {
        self.cached.get(&hash).is_some_and(|entry| entry.users > 0)
    }

    /// Gives up unused blocks until everything fits.
    fn evict(&mut self) {
        while self.private as usize + self.cached.len() > self.capacity as usize {
            let Some((_, hash)) = self.idle.pop_first() else { break };
            self.cached.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_of_full_blocks_and_chained() {
        let a = block_hashes(&[1, 2, 3, 4, 5], 2);
        let b = block_hashes(&[9, 2, 3, 4], 2);
        assert_eq!(a.len(), 2);
        assert_ne!(a[0], b[0]);
        assert_ne!(a[1], b[1], "an equal block after an unequal one is another block");
        assert_eq!(block_hashes(&[1, 2, 3, 4], 2), a);
    }

    #[test]
    fn unused_blocks_stay_until_their_space_is_needed() {
        let mut pool = BlockPool::new(4);
        let held = pool.take(&[1, 2], 1).unwrap();
        assert_eq!((pool.in_use(), held.len()), (3, 3));
        assert!(pool.take(&[3, 4], 0).is_none());
        pool.give_back(held);
        assert_eq!((pool.in_use(), pool.hits(&[1, 2])), (0, 2));
        let held = pool.take(&[3], 2).unwrap();
        assert_eq!(pool.hits(&[1, 2]), 1, "the last block of a prompt goes first");
        pool.give_back(held);
        assert_eq!(pool.hits(&[3]), 1);
    }

    #[test]
    fn shared_blocks_count_once() {
        let mut pool = BlockPool::new(3);
        let a = pool.take(&[1, 2], 0).unwrap();
        let b = pool.take(&[1, 2], 1).unwrap();
        assert_eq!(pool.in_use(), 3);
        pool.give_back(a);
        assert_eq!(pool.in_use(), 3);
        pool.give_back(b);
        assert_eq!(pool.in_use(), 0);
    }
}
