//! Requests and answers of all sockets of a ring.

use std::io;
use std::mem;
use std::time::{Duration, Instant};

use rustix::net::{self, Shutdown};

use super::batch::Batch;
use super::pool::Pool;
use super::request::{self, Kind};
use super::ring::{Answer, Enter, Ring};
use super::slot::{Inbox, Slot};

/// How often the kernel is entered for requests that it does not take before they are left for the next time.
const TRIES: u32 = 16;

/// A ring, its sockets, and the memory that its requests use.
pub(super) struct State {
    pub(super) ring: Ring,
    pub(super) slots: Vec<Slot>,
    free: Vec<u32>,
    pub(super) pool: Pool,
    pub(super) batch: Batch,
    /// When the first of the batch was sent.
    pub(super) batch_began: Option<Instant>,
    /// Receives under way.
    pub(super) receives: u32,
    /// Tasks to poll.
    woken: Vec<u32>,
    answers: Vec<Answer>,
}

impl State {
    pub(super) fn new() -> io::Result<Self> {
        let (ring, pool) = (Ring::new()?, Pool::new()?);
        // SAFETY: the pool is dropped after the requests have been answered, or not at all.
        unsafe { pool.register(ring.inner())? };
        Ok(Self {
            ring,
            slots: Vec::new(),
            free: Vec::new(),
            pool,
            batch: Batch::new(),
            batch_began: None,
            receives: 0,
            woken: Vec::new(),
            answers: Vec::new(),
        })
    }

    pub(super) fn slot(&mut self, token: u32) -> &mut Slot {
        &mut self.slots[token as usize]
    }

    pub(super) fn add(&mut self, slot: Slot) -> u32 {
        if let Some(token) = self.free.pop() {
            *self.slot(token) = slot;
            return token;
        }
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }

    /// Has the kernel tell of that kind of event, unless it is to do so already.
    pub(super) fn ask(&mut self, token: u32, kind: Kind) -> io::Result<()> {
        let slot = &mut self.slots[token as usize];
        if slot.under_way.has(kind) {
            return Ok(());
        }
        let request = match kind {
            Kind::Receive => request::receive(token, slot.raw()),
            Kind::Writable => request::writable(token, slot.raw()),
            Kind::HangUp => request::hang_up(token, slot.raw()),
            Kind::Send | Kind::Cancel => return Ok(()),
        };
        // SAFETY: these point to no memory; what a receive writes to is the pool's.
        unsafe { self.ring.push(&request)? };
        slot.under_way.began(kind);
        self.receives += u32::from(kind == Kind::Receive);
        Ok(())
    }

    /// Hands over what was sent.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self.batch_began {
            Some(_) => self.enter(Enter::Now),
            None => Ok(()),
        }
    }

    pub(super) fn wait(&mut self, left: Duration, delay: u32, ready: &mut Vec<u32>) -> io::Result<()> {
        let many = self.receives;
        match self.woken.is_empty() {
            true => self.enter(Enter::Wait { left, delay, many })?,
            // Some were woken while tasks ran.
            false => self.enter(Enter::Now)?,
        }
        ready.append(&mut self.woken);
        Ok(())
    }

    /// Enters the kernel, and notes what it answers.
    pub(super) fn enter(&mut self, mut why: Enter) -> io::Result<()> {
        for _ in 0..TRIES {
            self.ring.enter(why)?;
            let has_taken_all = self.ring.has_taken_all();
            let mut answers = mem::take(&mut self.answers);
            self.ring.take(&mut answers);
            for answer in answers.drain(..) {
                self.answered(answer);
            }
            self.answers = answers;
            if has_taken_all {
                self.clear_batch();
                break;
            }
            why = Enter::Now;
        }
        Ok(())
    }

    /// The kernel has read all of the batch, and told what of it failed.
    fn clear_batch(&mut self) {
        self.batch_began = None;
        while let Some(token) = self.batch.pop() {
            self.slot(token).under_way.ended(Kind::Send);
            self.free_if_over(token);
        }
    }

    fn answered(&mut self, answer: Answer) {
        let (token, kind) = Kind::of(answer.data);
        if kind == Kind::Cancel {
            return;
        }
        if kind != Kind::Send {
            self.slot(token).under_way.ended(kind);
        }
        match kind {
            Kind::Receive => self.received(token, answer),
            Kind::Send => self.not_sent(token, answer.result),
            Kind::Writable => self.send_rest(token),
            Kind::HangUp | Kind::Cancel => self.slot(token).has_hung_up = true,
        }
        if let Some(task) = self.slot(token).waiting.take() {
            self.woken.push(task);
        }
        self.free_if_over(token);
    }

    /// Closes a socket. The peer is told at once, also if the kernel is not entered again for long: while a request is
    /// under way the kernel holds the socket too, so each is given up first. What the peer had no room for is lost.
    pub(super) fn remove(&mut self, token: u32) {
        let slot = &mut self.slots[token as usize];
        slot.is_closed = true;
        slot.waiting = None;
        if let Inbox::Bytes(id, ..) = mem::take(&mut slot.inbox) {
            self.pool.give(id);
        }
        let waiting = [Kind::Receive, Kind::Writable, Kind::HangUp];
        for kind in waiting.into_iter().filter(|kind| slot.under_way.has(*kind)) {
            // SAFETY: to give up points to no memory.
            let _ = unsafe { self.ring.push(&request::cancel(token, kind)) };
        }
        for _ in 0..TRIES {
            if self.free_if_over(token) || self.enter(Enter::Now).is_err() {
                break;
            }
        }
        let slot = self.slot(token);
        if slot.is_closed {
            // The kernel did not give up a request. It will soon, and the slot is free then.
            let _ = net::shutdown(slot.socket(), Shutdown::Both);
        }
    }

    /// Closes a socket that was given up when nothing is under way for it any more. True if its slot is free.
    fn free_if_over(&mut self, token: u32) -> bool {
        let slot = self.slot(token);
        if slot.is_over() {
            *slot = Slot::default();
            self.free.push(token);
        }
        !self.slot(token).is_closed
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Of sockets that were closed while the kernel did not give up their requests.
        // SAFETY: to give up points to no memory.
        if self.receives > 0 && unsafe { self.ring.push(&request::cancel_all()) }.is_ok() {
            let _ = self.enter(Enter::Now);
        }
        if self.receives > 0 {
            self.pool.leak();
        }
    }
}
