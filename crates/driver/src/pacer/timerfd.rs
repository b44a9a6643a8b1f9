use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::{io, os::fd::OwnedFd, time::Duration};
use tokio::{io::unix::AsyncFd, time::Instant};

/// A timer of the kernel that is set to absolute times, so that nothing that happens between the reading of the clock
/// and the setting of the timer makes it late.
#[derive(Debug)]
pub struct TimerFd {
    fd: AsyncFd<OwnedFd>,
    anchor: Anchor,
}

/// The same moment on both clocks. On Linux `Instant` is `CLOCK_MONOTONIC`, but does not tell its value.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    instant: Instant,
    monotonic: Duration,
}

impl Anchor {
    /// The closest of a few pairs. The monotonic clock is read second, so that the anchor is a few tens of nanoseconds
    /// late, and the timer never early.
    fn new() -> Self {
        let pair = || {
            let instant = Instant::now();
            let now = clock_gettime(ClockId::Monotonic);
            let monotonic = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32);
            (instant.elapsed(), Self { instant, monotonic })
        };
        let mut best = pair();
        for _ in 0..8 {
            let next = pair();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    fn monotonic(&self, instant: Instant) -> Timespec {
        let since = instant.saturating_duration_since(self.instant);
        let before = self.instant.saturating_duration_since(instant);
        let at = (self.monotonic + since).saturating_sub(before);
        Timespec {
            tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at.subsec_nanos()),
        }
    }
}

impl TimerFd {
    pub fn new() -> io::Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        #[expect(
            deprecated,
            reason = "its replacement is unsafe for types whose descriptor may change; an OwnedFd's cannot"
        )]
        let fd = AsyncFd::new(fd)?;
        Ok(Self { fd, anchor: Anchor::new() })
    }

    pub async fn sleep_until(&self, instant: Instant) -> io::Result<()> {
        if instant <= Instant::now() {
            return Ok(());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec { it_interval: zero, it_value: self.anchor.monotonic(instant) };
        // A time that has passed meanwhile fires at once; setting forgets an expiration that nobody read.
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &value)?;
        loop {
            let mut guard = self.fd.readable().await?;
            let mut expirations = [0_u8; 8];
            match guard.try_io(|inner| Ok(rustix::io::read(inner, &mut expirations)?)) {
                Ok(result) => return result.map(|_| ()),
                Err(_would_block) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_its_place_on_the_monotonic_clock() {
        let anchor = Anchor::new();
        let at = |timespec: Timespec| Duration::new(timespec.tv_sec as u64, timespec.tv_nsec as u32);
        let now = clock_gettime(ClockId::Monotonic);
        let (before, after) = (at(now), at(anchor.monotonic(Instant::now())));
        assert!(after + Duration::from_micros(1) >= before, "{after:?} is no earlier than {before:?}");
        let hour = Duration::from_hours(1);
        assert_eq!(at(anchor.monotonic(anchor.instant + hour)), anchor.monotonic + hour);
        let sooner = Anchor { instant: anchor.instant + hour, monotonic: anchor.monotonic + hour };
        assert_eq!(at(sooner.monotonic(anchor.instant)), anchor.monotonic, "also before the anchor");
    }

    #[tokio::test]
    async fn an_abandoned_wait_does_not_wake_the_next() {
        let timer = TimerFd::new().unwrap();
        let begun = Instant::now();
        let short = timer.sleep_until(begun + Duration::from_millis(2));
        tokio::select! {
            biased;
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
            _ = short => {}
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        let target = Instant::now() + Duration::from_millis(5);
        timer.sleep_until(target).await.unwrap();
        assert!(Instant::now() >= target);
    }
}
