//! Reads of a TCP socket with the kernel's own stamp of when their bytes had arrived, below TLS. A client that is late
//! to read is seen by nothing else: its own stamps are as late as its reads.
//!
//! Linux gives the stamp beside the bytes (`SO_TIMESTAMPING`, `SOF_TIMESTAMPING_RX_SOFTWARE`), of the last segment that a
//! read took bytes from. Elsewhere there is none.

#[cfg(target_os = "linux")]
pub use linux::{ask, poll_read};
#[cfg(not(target_os = "linux"))]
pub use portable::{ask, poll_read};

#[cfg(not(target_os = "linux"))]
mod portable {
    use plimsoll_record::Nanos;
    use std::{
        io,
        pin::Pin,
        task::{Context, Poll},
    };
    use tokio::{
        io::{AsyncRead, ReadBuf},
        net::TcpStream,
    };

    pub fn ask(_socket: &TcpStream) {}

    pub fn poll_read(
        socket: &mut TcpStream,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        _fresh: bool,
    ) -> Poll<io::Result<Option<Nanos>>> {
        Pin::new(socket).poll_read(cx, buf).map_ok(|()| None)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use nix::{
        cmsg_space,
        sys::{
            socket::{
                ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recvmsg, setsockopt, sockopt,
            },
            time::TimeSpec,
        },
    };
    use plimsoll_record::Nanos;
    use std::{
        cell::{Cell, RefCell},
        io::{self, IoSliceMut},
        os::fd::AsRawFd,
        pin::Pin,
        task::{Context, Poll, ready},
        time::Duration,
    };
    use tokio::{
        io::{AsyncRead, Interest, ReadBuf},
        net::TcpStream,
        time::Instant,
    };

    /// Time for which one stamp holds.
    const NEAR: Nanos = Nanos(100_000);
    /// Reads of a late thread for which one stamp holds.
    const FEW: u8 = 3;

    /// Most bytes of one read.
    const LARGEST: usize = 64 << 10;

    /// What all sockets of a thread read into. hyper's own buffers come without contents, and to fill them with zeros before
    /// each read costs more than to copy the few hundred bytes that a token takes.
    struct Scratch {
        bytes: Vec<u8>,
        control: Vec<u8>,
    }

    thread_local! {
        static SCRATCH: RefCell<Scratch> =
            RefCell::new(Scratch { bytes: vec![0; LARGEST], control: cmsg_space!(Timestamps) });
    }

    /// Asks the kernel to stamp what it receives on this socket. One that cannot leaves reads without a stamp.
    pub fn ask(socket: &TcpStream) {
        let wanted =
            TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
        let _ = setsockopt(socket, sockopt::Timestamping, &wanted);
    }

    /// What a stamp says of the reads right after it.
    #[derive(Clone, Copy)]
    struct Looked {
        at: Instant,
        waited: Option<Nanos>,
        /// Reads since.
        reads: u8,
    }

    impl Looked {
        /// True when the next read, so long after, needs no stamp of its own.
        fn holds_after(self, time: Duration) -> bool {
            let on_time = self.waited.is_none_or(|waited| waited < NEAR);
            (on_time || self.reads < FEW) && time.as_nanos() < NEAR.0.into()
        }
    }

    thread_local! {
        static LOOKED: Cell<Option<Looked>> = const { Cell::new(None) };
    }

    /// One read, and how long its bytes had waited for it. `fresh` asks for a stamp of its own: the first read of an answer
    /// has one.
    ///
    /// A stamp costs a third of a read more. Sockets are read in the order in which their bytes came, so that a thread is at
    /// most so much later with the next read as time has passed since the last. A stamp holds for what the thread reads
    /// within [`NEAR`] of it if it shows no more delay than that; of a thread that is late, for the next [`FEW`] reads,
    /// whose bytes came hardly later.
    pub fn poll_read(
        socket: &mut TcpStream,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        fresh: bool,
    ) -> Poll<io::Result<Option<Nanos>>> {
        if !fresh
            && let Some(looked) = LOOKED.get()
            && looked.holds_after(looked.at.elapsed())
        {
            ready!(Pin::new(socket).poll_read(cx, buf))?;
            LOOKED.set(Some(Looked { reads: looked.reads.saturating_add(1), ..looked }));
            return Poll::Ready(Ok(looked.waited));
        }
        let waited = ready!(poll_stamped(socket, cx, buf))?;
        LOOKED.set(Some(Looked { at: Instant::now(), waited, reads: 0 }));
        Poll::Ready(Ok(waited))
    }

    fn poll_stamped(
        socket: &TcpStream,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<Option<Nanos>>> {
        loop {
            ready!(socket.poll_read_ready(cx))?;
            let mut read = None;
            let asked = buf.remaining().min(LARGEST);
            let result = socket.try_io(Interest::READABLE, || {
                let (count, stamp) = receive(socket, asked, buf)?;
                read = Some(stamp);
                // A read that was not filled has emptied the socket (edge-triggered readiness, as in tokio's own reads): to say
                // so here saves the system call that would find it out. The end of the stream is a readiness of its own, which
                // this does not clear.
                if 0 < count && count < asked { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            match (read, result) {
                (Some(stamp), _) => return Poll::Ready(Ok(stamp.and_then(waited))),
                (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                (None, _) => {}
            }
        }
    }

    /// Bytes and the stamp of the last of them.
    fn receive(
        socket: &TcpStream,
        asked: usize,
        buf: &mut ReadBuf<'_>,
    ) -> io::Result<(usize, Option<TimeSpec>)> {
        SCRATCH.with_borrow_mut(|Scratch { bytes, control }| {
            let room = bytes.get_mut(..asked).unwrap_or_default();
            let mut parts = [IoSliceMut::new(room)];
            let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(control), MsgFlags::empty())?;
            let stamp = message.cmsgs().ok().and_then(|mut messages| {
                messages.find_map(|message| match message {
                    ControlMessageOwned::ScmTimestampsns(stamps) => Some(stamps.system),
                    _ => None,
                })
            });
            let count = message.bytes;
            buf.put_slice(bytes.get(..count).unwrap_or_default());
            Ok((count, stamp))
        })
    }

    /// From the stamp to now, both on the wall clock, which the kernel stamps with. None when the clock was set back in
    /// between; what else is implausible is for the caller to tell.
    fn waited(stamp: TimeSpec) -> Option<Nanos> {
        let stamp = Duration::from(stamp);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now = Duration::new(now.tv_sec.try_into().ok()?, now.tv_nsec.try_into().ok()?);
        let waited = now.checked_sub(stamp).filter(|_| !stamp.is_zero())?;
        Some(Nanos(u64::try_from(waited.as_nanos()).ok()?))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_stamp_holds_for_a_moment_and_of_a_late_thread_for_few_reads() {
            let holds = |waited: Option<u64>, reads, micros| {
                let looked = Looked { at: Instant::now(), waited: waited.map(|it| Nanos(1000 * it)), reads };
                looked.holds_after(Duration::from_micros(micros))
            };
            for waited in [None, Some(0), Some(99)] {
                assert!(holds(waited, 200, 99), "{waited:?}: on time, so is what follows");
                assert!(!holds(waited, 0, 100), "{waited:?}: the thread may have been late since");
            }
            assert!(holds(Some(100), 2, 99) && !holds(Some(100), 3, 0), "every fourth");
        }
    }
}
