use crate::TransportError;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use plimsoll_record::FailureKind;

/// Output that is given on at once, bytes.
const PIECE: usize = 16 << 10;
/// So much output no body has to account for; beyond it, `RATIO` times the input is the most. Text in JSON shrinks to a
/// tenth, a stream of tokens with its repeated frames to a fiftieth, and a bomb to a thousandth.
const FREE: u64 = 1 << 20;
const RATIO: u64 = 200;

/// Undoes `gzip` (RFC 1952) or `deflate` (RFC 1950, and raw as some servers have it) as the bytes come: what a server
/// has flushed is given on at once.
pub struct Inflate {
    gzip: bool,
    state: State,
    /// Of the gzip member.
    flags: u8,
    data: Box<Decompress>,
    check: Crc,
    read: u64,
    written: u64,
    limit: u64,
    buffer: Box<[u8]>,
}

#[derive(Clone, Copy)]
enum State {
    /// Before the first byte of a deflated body, which tells whether it has a header.
    Start,
    /// In the fixed part of a gzip member's header, so many bytes seen.
    Header(usize),
    ExtraLength(Option<u8>),
    Extra(u16),
    Name,
    Comment,
    HeaderCheck(u8),
    Data,
    /// Checksum and length of a gzip member, so many bytes of them seen.
    Trailer(usize, u64),
    /// After the data: padding, or another gzip member.
    After,
}

/// Takes a piece of output; returns false when it wants no more.
pub type Give<'a> = dyn FnMut(&[u8]) -> Result<bool, TransportError> + 'a;

impl Inflate {
    /// For a value of `Content-Encoding`; `None` when that is not known here. No body may become longer than `limit`.
    pub fn new(encoding: &str, limit: usize) -> Option<Self> {
        let encoding = encoding.trim();
        let gzip = ["gzip", "x-gzip"].iter().any(|name| encoding.eq_ignore_ascii_case(name));
        if !gzip && !encoding.eq_ignore_ascii_case("deflate") {
            return None;
        }
        Some(Self {
            gzip,
            state: if gzip { State::Header(0) } else { State::Start },
            flags: 0,
            data: Box::new(Decompress::new(false)),
            check: Crc::new(),
            read: 0,
            written: 0,
            limit: limit as u64,
            buffer: vec![0; PIECE].into(),
        })
    }

    /// The name of what is undone.
    pub const fn name(&self) -> &'static str {
        if self.gzip { "gzip" } else { "deflate" }
    }

    /// Takes bytes and gives on what they stand for, piece by piece.
    pub fn push(&mut self, mut bytes: &[u8], give: &mut Give<'_>) -> Result<(), TransportError> {
        self.read += bytes.len() as u64;
        loop {
            match (self.state, bytes.split_first()) {
                (State::Data, _) => {
                    if !self.step(&mut bytes, give)? {
                        return Ok(());
                    }
                }
                (_, None) => return Ok(()),
                (State::Start, Some((first, _))) => {
                    // RFC 1950, 2.2: method 8 with a window of up to 32 KiB. Raw data seldom begins so.
                    *self.data = Decompress::new(first & 0x0f == 8 && first >> 4 <= 7);
                    self.state = State::Data;
                }
                (state, Some((byte, rest))) => {
                    self.state = self.frame(state, *byte)?;
                    bytes = rest;
                }
            }
        }
    }

    /// One step through compressed data. Returns false when nothing is left to do now.
    fn step(&mut self, bytes: &mut &[u8], give: &mut Give<'_>) -> Result<bool, TransportError> {
        let before = (self.data.total_in(), self.data.total_out());
        let status = self.data.decompress(bytes, &mut self.buffer, FlushDecompress::None);
        let status = status.map_err(|_| broken("its data is not valid"))?;
        let taken = (self.data.total_in() - before.0) as usize;
        let made = (self.data.total_out() - before.1) as usize;
        *bytes = bytes.get(taken..).unwrap_or_default();
        self.written += made as u64;
        if self.written > self.limit {
            return Err(broken(&format!("it is larger than {} bytes", self.limit)));
        }
        if self.written > FREE + RATIO * self.read {
            return Err(broken(&format!("it grows more than {RATIO}-fold, as no honest answer does")));
        }
        let piece = self.buffer.get(..made).unwrap_or_default();
        self.check.update(piece);
        let more = piece.is_empty() || give(piece)?;
        if status == Status::StreamEnd {
            self.state = if self.gzip { State::Trailer(0, 0) } else { State::After };
            return Ok(more);
        }
        // Without progress there is nothing to wait for here; a full buffer may leave something behind.
        Ok(more && taken + made > 0 && (made == self.buffer.len() || !bytes.is_empty()))
    }

    /// One byte of what frames the data.
    fn frame(&mut self, state: State, byte: u8) -> Result<State, TransportError> {
        const FIXED: [u8; 3] = [0x1f, 0x8b, 8];
        Ok(match state {
            State::Header(at) if FIXED.get(at).is_some_and(|wanted| *wanted != byte) => {
                return Err(broken("it does not begin as gzip"));
            }
            State::Header(3) if byte & 0xe0 != 0 => return Err(broken("its header has unknown flags")),
            State::Header(9) => self.after_header(4),
            State::Header(at) => {
                if at == 3 {
                    self.flags = byte;
                }
                State::Header(at + 1)
            }
            State::ExtraLength(None) => State::ExtraLength(Some(byte)),
            State::ExtraLength(Some(low)) => match u16::from_le_bytes([low, byte]) {
                0 => self.after_header(8),
                length => State::Extra(length),
            },
            State::Extra(left) if left > 1 => State::Extra(left - 1),
            State::Extra(_) => self.after_header(8),
            State::Name if byte == 0 => self.after_header(16),
            State::Comment if byte == 0 => self.after_header(2),
            State::HeaderCheck(0) => State::HeaderCheck(1),
            State::HeaderCheck(_) => State::Data,
            State::Trailer(at, seen) => {
                let seen = seen | u64::from(byte) << (8 * at);
                if at < 7 {
                    return Ok(State::Trailer(at + 1, seen));
                }
                if seen != u64::from(self.check.sum()) | u64::from(self.check.amount()) << 32 {
                    return Err(broken("its checksum is wrong"));
                }
                State::After
            }
            State::After if !self.gzip || byte == 0 => State::After,
            State::After => {
                self.data.reset(false);
                self.check.reset();
                return self.frame(State::Header(0), byte);
            }
            State::Start | State::Data | State::Name | State::Comment => state,
        })
    }

    /// The part of the header that comes next, from that with the flag `from` on: extra field, name, comment, checksum.
    fn after_header(&self, from: u8) -> State {
        let order = [
            (4, State::ExtraLength(None)),
            (8, State::Name),
            (16, State::Comment),
            (2, State::HeaderCheck(0)),
        ];
        let rest = order.into_iter().skip_while(|(flag, _)| *flag != from);
        rest.into_iter().find(|(flag, _)| self.flags & flag != 0).map_or(State::Data, |(_, state)| state)
    }
}

fn broken(reason: &str) -> TransportError {
    TransportError::new(FailureKind::BadPayload, format!("the compressed body cannot be undone: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{
        Compression, GzBuilder,
        write::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };
    use proptest::prelude::*;
    use std::io::Write;

    fn undone(encoding: &str, limit: usize, parts: &[&[u8]]) -> Result<Vec<u8>, String> {
        let mut inflate = Inflate::new(encoding, limit).unwrap();
        let mut kept = Vec::new();
        for part in parts {
            let mut give = |piece: &[u8]| {
                kept.extend_from_slice(piece);
                Ok(true)
            };
            inflate.push(part, &mut give).map_err(|error| error.to_string())?;
        }
        Ok(kept)
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn bodies_of_another_hand_are_read() {
        // Python: gzip.compress(b"hello hello hello", mtime=0), zlib.compress(..), the same without header and checksum.
        let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\x00\x80\x88\xf9\xe5\x11\x00\x00\x00";
        let zlib = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\x00\x3a\x2e\x06\x7d";
        assert_eq!(undone("GZIP", 99, &[gzip]).unwrap(), b"hello hello hello");
        assert_eq!(undone("x-gzip", 99, &[gzip, gzip]).unwrap(), b"hello hello hellohello hello hello");
        assert_eq!(undone("deflate", 99, &[zlib]).unwrap(), b"hello hello hello");
        assert_eq!(undone("deflate", 99, &[&zlib[2..12]]).unwrap(), b"hello hello hello");
        for unknown in ["br", "zstd", "gzip, br", "compress", ""] {
            assert!(Inflate::new(unknown, 9).is_none(), "{unknown}");
        }
    }

    #[test]
    fn what_is_broken_says_so() {
        let good = gzip(b"hello");
        let (mut checksum, mut start) = (good.clone(), good.clone());
        let end = checksum.len() - 6;
        checksum[end] ^= 1;
        start[1] = 0;
        assert!(undone("gzip", 99, &[&checksum]).unwrap_err().contains("checksum"));
        assert!(undone("gzip", 99, &[&start]).unwrap_err().contains("begin"));
        assert!(undone("gzip", 99, &[b"data: plain\n\n"]).unwrap_err().contains("begin"));
        assert!(undone("gzip", 99, &[&good, b"x"]).unwrap_err().contains("begin"));
        assert!(undone("gzip", 99, &[&good[..10], b"\xff\xff\xff"]).unwrap_err().contains("valid"));
        assert!(undone("gzip", 4, &[&good]).unwrap_err().contains("larger than 4 bytes"));
        assert_eq!(undone("gzip", 99, &[&good, b"\0\0"]).unwrap(), b"hello");
    }

    #[test]
    fn a_bomb_ends_early() {
        let bomb = gzip(&vec![b'\n'; 50 << 20]);
        let mut inflate = Inflate::new("gzip", usize::MAX).unwrap();
        let mut given = 0;
        let mut give = |piece: &[u8]| {
            assert!(piece.len() <= PIECE);
            given += piece.len() as u64;
            Ok(true)
        };
        let ended = bomb.chunks(1000).find_map(|part| inflate.push(part, &mut give).err());
        assert!(ended.unwrap().to_string().contains("200-fold"));
        assert!(given <= FREE + RATIO * bomb.len() as u64 && given < 4 << 20, "{given}");
    }

    #[test]
    fn who_wants_no_more_gets_no_more() {
        let body = gzip(&vec![b'x'; 100_000]);
        let mut pieces = 0;
        let mut give = |_: &[u8]| {
            pieces += 1;
            Ok(false)
        };
        Inflate::new("gzip", 1 << 20).unwrap().push(&body, &mut give).unwrap();
        assert_eq!(pieces, 1);
    }

    /// Compresses each text and flushes it: where in the output each one ends, and the output.
    fn flushed<W: Write>(mut encoder: W, length: impl Fn(&W) -> usize, texts: &[String]) -> (Vec<usize>, W) {
        let mut ends = Vec::new();
        for text in texts {
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.flush().unwrap();
            ends.push(length(&encoder));
        }
        (ends, encoder)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_flush_is_seen_at_once_whatever_the_split(
            texts in prop::collection::vec("[a-z{}\":,\n]{1,80}", 1..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            coding in 0..3,
            header in any::<bool>(),
        ) {
            let level = Compression::default();
            let (ends, bytes) = match coding {
                0 => {
                    let builder = GzBuilder::new();
                    let builder = if header { builder.extra(&b"xyz"[..]).filename("n").comment("c") } else { builder };
                    let (ends, encoder) = flushed(builder.write(Vec::new(), level), |e| e.get_ref().len(), &texts);
                    (ends, encoder.finish().unwrap())
                }
                1 => {
                    let (ends, encoder) = flushed(ZlibEncoder::new(Vec::new(), level), |e| e.get_ref().len(), &texts);
                    (ends, encoder.finish().unwrap())
                }
                _ => {
                    let (ends, encoder) = flushed(DeflateEncoder::new(Vec::new(), level), |e| e.get_ref().len(), &texts);
                    (ends, encoder.finish().unwrap())
                }
            };
            let mut edges: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len())).chain(ends.clone()).collect();
            edges.extend([0, bytes.len()]);
            edges.sort_unstable();
            let mut inflate = Inflate::new(if coding == 0 { "gzip" } else { "deflate" }, 1 << 20).unwrap();
            let mut kept = String::new();
            for edge in edges.windows(2) {
                let mut give = |piece: &[u8]| {
                    kept.push_str(std::str::from_utf8(piece).unwrap());
                    Ok(true)
                };
                inflate.push(&bytes[edge[0]..edge[1]], &mut give).unwrap();
                if let Some(n) = ends.iter().position(|end| *end == edge[1]) {
                    prop_assert_eq!(&kept, &texts[..=n].concat());
                }
            }
            prop_assert_eq!(kept, texts.concat());
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), start in 0..3_usize) {
            let start: &[u8] = [&b"\x1f\x8b\x08\x1f......"[..], b"\x78\x9c", b""][start];
            for encoding in ["gzip", "deflate"] {
                let _ = undone(encoding, 1 << 20, &[start, &bytes]);
            }
        }
    }
}
