//! Packets of MySQL's protocol: a length of three bytes, a sequence number, a payload.

/// Bytes before a payload.
pub(super) const HEADER: usize = 4;

/// A payload of this length goes on in the next packet.
pub(super) const LONGEST: usize = 0xFF_FFFF;

/// What stands before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the payload.
    pub(super) length: usize,
    pub(super) sequence: u8,
}

impl Header {
    /// That which the bytes begin with; `None` while it is not whole.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let &[low, middle, high, sequence, ..] = bytes else {
            return None;
        };
        Some(Self {
            length: u32::from_le_bytes([low, middle, high, 0]) as usize,
            sequence,
        })
    }

    fn bytes(self) -> [u8; HEADER] {
        let [low, middle, high, _] = (self.length as u32).to_le_bytes();
        [low, middle, high, self.sequence]
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }
}

/// Makes one or more packets of the payload that stands in `out` after room for a header at `begin`; returns how many.
pub(super) fn finish(out: &mut Vec<u8>, begin: usize, first_sequence: u8) -> u8 {
    let length = out.len() - begin - HEADER;
    let whole = length.min(LONGEST);
    let header = Header {
        length: whole,
        sequence: first_sequence,
    };
    out[begin..begin + HEADER].copy_from_slice(&header.bytes());
    if length < LONGEST {
        return 1;
    }
    let rest = out.split_off(begin + HEADER + whole);
    let mut sequence = first_sequence;
    let mut packets = 1_u8;
    // What is a whole number of longest packets is ended by an empty one.
    let mut left = rest.as_slice();
    loop {
        let (part, others) = left.split_at(left.len().min(LONGEST));
        sequence = sequence.wrapping_add(1);
        packets = packets.wrapping_add(1);
        let header = Header {
            length: part.len(),
            sequence,
        };
        header.write(out);
        out.extend_from_slice(part);
        if part.len() < LONGEST {
            return packets;
        }
        left = others;
    }
}

/// A number in front of other bytes, and these; `None` where there is none.
pub(super) fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let width = match first {
        0..=0xFA => return Some((first.into(), rest)),
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return None,
    };
    let (low, rest) = rest.split_at_checked(width)?;
    let mut number = [0; 8];
    number[..width].copy_from_slice(low);
    Some((u64::from_le_bytes(number), rest))
}

/// Bytes with their length before them, and what follows; `None` where there are none.
pub(super) fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// Appends bytes with their length before them.
pub(super) fn push_counted(bytes: &[u8], out: &mut Vec<u8>) {
    let length = bytes.len();
    match length {
        0..=0xFA => out.push(length as u8),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_are_read_as_they_were_written() {
        for length in [0, 1, 250, 251, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000] {
            let bytes = vec![7; length];
            let mut out = Vec::new();
            push_counted(&bytes, &mut out);
            out.push(9);
            assert_eq!(counted(&out), Some((bytes.as_slice(), &[9][..])));
            assert_eq!(counted(&out[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_payload_is_cut_into_packets_whose_last_is_not_the_longest() {
        for (length, lengths) in [
            (0, vec![0]),
            (LONGEST - 1, vec![LONGEST - 1]),
            (LONGEST, vec![LONGEST, 0]),
            (2 * LONGEST + 5, vec![LONGEST, LONGEST, 5]),
        ] {
            let mut out = vec![1, 2, 0, 0, 0, 0];
            out.resize(6 + length, 3);
            assert_eq!(finish(&mut out, 2, 254), lengths.len() as u8);
            let mut rest = &out[2..];
            let mut sequence = 254_u8;
            for length in lengths {
                let header = Header::read(rest).unwrap();
                assert_eq!(header, Header { length, sequence });
                rest = &rest[HEADER + length..];
                sequence = sequence.wrapping_add(1);
            }
            assert_eq!((rest, &out[..2]), (&[][..], &[1, 2][..]));
        }
    }
}
