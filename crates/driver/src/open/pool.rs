use crate::{DriverError, Supply, user::User};
use std::collections::VecDeque;

/// The connections of one worker that carry no request. The one that was used last is used first, so that the others
/// are at rest, and their number tells how many are needed.
pub struct Pool<S, F> {
    idle: VecDeque<User<S>>,
    make: F,
    /// Number of the next one made.
    next: u32,
    /// Numbers lie this far apart.
    step: u32,
}

impl<S: Supply, F: Fn(u32) -> Result<User<S>, DriverError>> Pool<S, F> {
    /// `idle` are those of the numbers `first`, `first + step` and so on.
    pub fn new(idle: Vec<User<S>>, first: u32, step: u32, make: F) -> Self {
        let next = first + step * u32::try_from(idle.len()).unwrap_or(u32::MAX);
        // The lowest number is used first.
        Self { idle: idle.into_iter().rev().collect(), make, next, step }
    }

    /// One that is idle, or a new one, whose request then has to wait for its connection.
    pub fn take(&mut self) -> Result<User<S>, DriverError> {
        if let Some(user) = self.idle.pop_back() {
            return Ok(user);
        }
        let number = self.next;
        self.next = self.next.saturating_add(self.step);
        (self.make)(number)
    }

    /// One whose request has ended. Without a connection it is the last to be used again.
    pub fn give(&mut self, user: User<S>) {
        if user.is_open() {
            self.idle.push_back(user);
        } else {
            self.idle.push_front(user);
        }
    }
}
