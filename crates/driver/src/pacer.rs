#[cfg(target_os = "linux")]
mod timerfd;

use std::io;
#[cfg(target_os = "linux")]
pub use timerfd::TimerFd;
use tokio::time::Instant;

/// Waits until an instant. tokio's timer rounds up to whole milliseconds, 1 to 2 ms late at every send; a timerfd is
/// late by tens of microseconds.
#[derive(Debug)]
pub enum Pacer {
    /// Linux, real time.
    #[cfg(target_os = "linux")]
    TimerFd(TimerFd),
    /// Elsewhere, and under paused time.
    Tokio,
}

impl Pacer {
    /// The most exact pacer of this system, for real time. Must be called within a runtime.
    pub fn exact() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            TimerFd::new().map(Self::TimerFd)
        }
        #[cfg(not(target_os = "linux"))]
        Ok(Self::Tokio)
    }

    /// Returns at `instant`, or at once when it has passed.
    pub async fn sleep_until(&mut self, instant: Instant) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::TimerFd(timer) => timer.sleep_until(instant).await,
            Self::Tokio => {
                tokio::time::sleep_until(instant).await;
                Ok(())
            }
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
