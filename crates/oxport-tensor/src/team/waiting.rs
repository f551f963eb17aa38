//! [`Waiting`]: the helpers of a pool between two calls.
//!
//! A helper whose call is over waits for the next one, awake for a little while, as it does between the jobs of a call:
//! to wake a thread costs more than the first steps of a small network.
//!
//! Law: every team that is lent is taken, by a helper that waits or by one that is started for it.

use super::Team;
use super::sync::{AWAKE, AtomicUsize, Mutex, pause, zero};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, PoisonError};

/// The helpers of a pool that have nothing to do, and the teams that nobody helps yet.
pub(crate) struct Waiting {
    /// How many teams there are, to be looked at without the lock.
    lent: AtomicUsize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    teams: VecDeque<Arc<Team>>,
    helpers: usize,
}

impl Waiting {
    pub(crate) fn new() -> Waiting {
        Waiting { lent: zero(), queue: Mutex::new(Queue::default()) }
    }

    /// Lends a team a helper; whether one has to be started, since too few are waiting.
    pub(crate) fn lend(&self, team: Arc<Team>) -> bool {
        self.locked(|queue| {
            queue.teams.push_back(team);
            queue.teams.len() > queue.helpers
        })
    }

    /// Helps the team that was lent first, and those that are lent soon after it is done.
    pub(crate) fn help(&self) {
        let mut team = self.locked(|queue| queue.teams.pop_front());
        while let Some(present) = team.take() {
            present.help();
            // The team's memory is not kept while there is nothing to do.
            drop(present);
            team = self.next();
        }
    }

    /// The next team, if it comes soon.
    fn next(&self) -> Option<Arc<Team>> {
        self.locked(|queue| queue.helpers += 1);
        let mut turns = 0;
        while turns < AWAKE && self.lent.load(Relaxed) == 0 {
            pause(&mut turns);
        }
        // One that another helper has taken meanwhile is not waited for any longer.
        self.locked(|queue| {
            queue.helpers -= 1;
            queue.teams.pop_front()
        })
    }

    fn locked<R>(&self, f: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let result = f(&mut queue);
        self.lent.store(queue.teams.len(), Relaxed);
        result
    }
}
