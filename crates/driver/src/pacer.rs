use std::io;
use tokio::time::Instant;

/// Waits until an instant. tokio's timer rounds up to whole milliseconds, 1 to 2 ms late at every send; a timerfd is
/// late by tens of microseconds.
#[derive(Debug)]
pub enum Pacer {
    /// Linux, real time.
    #[cfg(target_os = "linux")]
    TimerFd(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
    /// Elsewhere, and under paused time.
    Tokio,
}

impl Pacer {
    /// The most exact pacer of this system, for real time. Must be called within a runtime.
    pub fn exact() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
            let fd =
                timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            #[expect(
                deprecated,
                reason = "its replacement is unsafe for types whose descriptor may change; an OwnedFd's cannot"
            )]
            let fd = tokio::io::unix::AsyncFd::new(fd)?;
            Ok(Self::TimerFd(fd))
        }
        #[cfg(not(target_os = "linux"))]
        Ok(Self::Tokio)
    }

    /// Returns at `instant`, or at once when it has passed.
    pub async fn sleep_until(&mut self, instant: Instant) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::TimerFd(fd) => sleep_on(fd, instant).await,
            Self::Tokio => {
                tokio::time::sleep_until(instant).await;
                Ok(())
            }
        }
    }
}

#[cfg(target_os = "linux")]
async fn sleep_on(fd: &tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>, instant: Instant) -> io::Result<()> {
    use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
    let wait = instant.saturating_duration_since(Instant::now());
    if wait.is_zero() {
        return Ok(());
    }
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let value = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    timerfd_settime(fd, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: zero, it_value: value })?;
    loop {
        let mut guard = fd.readable().await?;
        let mut expirations = [0_u8; 8];
        match guard.try_io(|inner| Ok(rustix::io::read(inner, &mut expirations)?)) {
            Ok(result) => return result.map(|_| ()),
            Err(_would_block) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn never_early_and_at_once_for_the_past() {
        let mut pacer = Pacer::exact().unwrap();
        let target = Instant::now() + Duration::from_millis(5);
        pacer.sleep_until(target).await.unwrap();
        assert!(Instant::now() >= target);
        pacer.sleep_until(target).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn paused_time_is_exact() {
        let begun = Instant::now();
        Pacer::Tokio.sleep_until(begun + Duration::from_millis(7)).await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_millis(7));
    }
}
