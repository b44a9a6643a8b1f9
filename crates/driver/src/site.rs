use crate::{DriverError, Event, Marks, Supply, Target, Worker, brake::Brake, user::User};
use plimsoll_transport::Slot;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// What the users of one worker share.
pub struct Site<S> {
    pub worker: Worker,
    pub supply: RefCell<S>,
    pub brake: Brake,
    /// Connections opened so far.
    pub connects: Cell<u32>,
}

impl<S: Supply> Site<S> {
    pub fn new(worker: Worker, supply: S) -> Rc<Self> {
        let (brake, connects) = (Brake::default(), Cell::new(0));
        Rc::new(Self { worker, supply: RefCell::new(supply), brake, connects })
    }

    /// A virtual user that is not connected yet.
    pub fn user(self: &Rc<Self>, number: u32) -> Result<User<S>, DriverError> {
        let slot = |target: &Target| {
            let Target { dial, head, path, limits } = target;
            Slot::new(dial.clone(), head.clone(), path, *limits)
                .map_err(|error| DriverError::new(error.to_string()))
        };
        let slots: Vec<Slot> = self.worker.targets.iter().map(slot).collect::<Result<_, _>>()?;
        if slots.is_empty() {
            return Err(DriverError::new("a worker has no target to send its requests to"));
        }
        Ok(User { number, slots, site: Rc::clone(self) })
    }

    /// Writes marks down.
    pub fn tell(&self, marks: Marks) {
        for mark in marks {
            (self.worker.sink)(Event::Mark(mark));
        }
    }

    pub fn connected(&self) {
        self.connects.set(self.connects.get() + 1);
    }
}
