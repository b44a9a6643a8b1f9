use crate::{Stream, Workload};
use plimsoll_record::Level;
use xxhash_rust::xxh3::Xxh3;

/// A hash of the first `n` requests of both streams of each level and repeat: 16 hexadecimal digits.
///
/// Two workloads of the same fingerprint send the same. Committed fingerprints hold the promise that a plan and a seed
/// mean the same requests in every release: one may only change together with a line in the changelog that says why,
/// since results from before and after it are of different prompts.
pub fn fingerprint(workload: &Workload, levels: &[Level], n: u64) -> String {
    let mut hash = Xxh3::new();
    for level in levels {
        for repeat in 0..workload.repeats() {
            for stream in [Stream::Warmup, Stream::Load] {
                for k in 0..n {
                    let request = workload.request(*level, repeat, stream, k);
                    // A request is strings and numbers, which always serialise; a failure would show as a changed hash.
                    hash.update(&serde_json::to_vec(&request).unwrap_or_default());
                    hash.update(b"\n");
                }
            }
        }
    }
    format!("{:016x}", hash.digest())
}
