//! Messages of the protocol that are followed, and those that are passed on as they are.

use std::rc::Rc;

use super::super::answers::Answers;
use super::super::packet::{Commands, LONGEST, Trouble, Turn, push_counted};
use super::super::rows::Policy;
use super::super::rows::tests::definition;
use super::{GREETING, OK, Packets, login, stub, text_row};

/// Definitions and rows end without a packet of their own.
const WITHOUT_EOF: u32 = 1 << 24 | 1;

/// One connection, fed piece by piece.
struct Followed {
    turn: Turn,
    commands: Commands,
    answers: Answers,
    /// How many bytes come at a time.
    piece: usize,
}

impl Followed {
    /// A connection that is logged in.
    fn new(can: u32, piece: usize) -> Self {
        let policy = Policy::new(&[
            "customer.c_id".into(),
            "customer.c_last".into(),
            "stock.s_data".into(),
        ]);
        let mut followed = Self {
            turn: Turn::default(),
            commands: Commands::default(),
            answers: Answers::new(Rc::new(policy), stub()),
            piece,
        };
        followed.unchanged(&Packets::new(0).add(GREETING));
        followed.ask(&Packets::new(1).add(&login(can, 0)));
        followed.unchanged(&Packets::new(2).add(OK));
        followed
    }

    fn ask(&mut self, packets: &Packets) {
        self.try_to_ask(packets).unwrap();
    }

    fn try_to_ask(&mut self, packets: &Packets) -> Result<(), Trouble> {
        let mut carried = Vec::new();
        for piece in packets.bytes.chunks(self.piece) {
            carried.extend_from_slice(piece);
            let understood = self.commands.feed(&carried, &mut self.turn)?;
            carried.drain(..understood);
        }
        assert!(carried.is_empty());
        Ok(())
    }

    /// What the client receives of what the server sends.
    fn answer(&mut self, packets: &Packets) -> Result<Vec<u8>, Trouble> {
        let (mut carried, mut made) = (Vec::new(), Vec::new());
        for piece in packets.bytes.chunks(self.piece) {
            carried.extend_from_slice(piece);
            let understood = self.answers.feed(&carried, &mut self.turn, &mut made)?;
            carried.drain(..understood);
        }
        assert!(carried.is_empty());
        Ok(made)
    }

    fn unchanged(&mut self, packets: &Packets) {
        assert_eq!(self.answer(packets).unwrap(), packets.bytes);
    }

    fn changed(&mut self, packets: &Packets, into: &Packets) {
        assert_eq!(self.answer(packets).unwrap(), into.bytes);
    }
}

/// Every way in which bytes may arrive.
fn each(test: impl Fn(usize, u32)) {
    for piece in [1, 2, 3, 5, 7, 64, 1 << 20] {
        for can in [0, WITHOUT_EOF] {
            test(piece, can);
        }
    }
}

fn command(command: u8, payload: &[u8]) -> Packets {
    Packets::new(0).add(&[&[command], payload].concat())
}

/// The end of definitions, for a client that has one.
fn end_of_definitions(packets: Packets, can: u32) -> Packets {
    match can {
        0 => packets.add(&[0xFE, 0, 0, 2, 0]),
        _ => packets,
    }
}

/// The end of rows with this status.
fn end_of_rows(packets: Packets, can: u32, status: u8) -> Packets {
    match can {
        0 => packets.add(&[0xFE, 0, 0, status, 0]),
        _ => packets.add(&[0xFE, 0, 0, status, 0, 0, 0]),
    }
}

/// The definitions of a result of three columns, of which the last two are encrypted.
fn three_columns(sequence: u8, can: u32) -> Packets {
    let packets = Packets::new(sequence)
        .add(&[3])
        .add(&definition("customer", "c_first", 253, false))
        .add(&definition("customer_2", "c_id", 3, false))
        .add(&definition("customer", "c_last", 253, false));
    end_of_definitions(packets, can)
}

#[test]
fn values_of_named_columns_become_cells_and_nothing_else_changes() {
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        followed.ask(&command(3, b"SELECT"));
        let sent = |rows: [&[Option<&str>]; 3]| {
            let packets = rows
                .iter()
                .fold(three_columns(1, can), |packets, row| packets.add(&text_row(row)));
            end_of_rows(packets, can, 2)
        };
        followed.changed(
            &sent([
                &[Some("Ada"), Some("17"), Some("BARBAR")],
                &[None, None, None],
                &[Some("c_id"), Some(""), Some("x")],
            ]),
            &sent([
                &[Some("Ada"), Some("<3:17>"), Some("<253:BARBAR>")],
                &[None, None, None],
                &[Some("c_id"), Some("<3:>"), Some("<253:x>")],
            ]),
        );
        assert_eq!(followed.answers.encryptor.count, 4);
        followed.ask(&command(0x0E, b""));
        followed.unchanged(&Packets::new(1).add(OK));
    });
}

#[test]
fn values_of_binary_rows_become_cells_whatever_their_type() {
    // Type, value as it stands in a row, and as it is encrypted.
    let types: [(u8, &[u8], &[u8]); 8] = [
        (1, b"\x05", b"\x05"),
        (2, b"\x01\x02", b"\x01\x02"),
        (3, b"\x01\x02\x03\x04", b"\x01\x02\x03\x04"),
        (
            8,
            b"\x01\x02\x03\x04\x05\x06\x07\x08",
            b"\x01\x02\x03\x04\x05\x06\x07\x08",
        ),
        (12, b"\x04\xe7\x07\x0b\x16", b"\xe7\x07\x0b\x16"),
        (7, b"\x00", b""),
        (246, b"\x0512.50", b"12.50"),
        (254, b"\x03abc", b"abc"),
    ];
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        followed.ask(&command(0x17, &[1, 0, 0, 0, 0, 1, 0, 0, 0]));
        // Each type twice: first as a column that is not named, and once with NULL behind it.
        let mut head = Packets::new(1).add(&[24]);
        let (mut plain, mut cells) = (vec![0; 5], vec![0; 5]);
        for (index, (kind, value, plaintext)) in types.iter().enumerate() {
            for name in ["c_first", "c_id", "c_last"] {
                head = head.add(&definition("customer", name, *kind, false));
            }
            plain.extend_from_slice(value);
            plain.extend_from_slice(value);
            cells.extend_from_slice(value);
            let mut cell = format!("<{kind}:").into_bytes();
            cell.extend_from_slice(plaintext);
            cell.push(b'>');
            push_counted(&cell, &mut cells);
            let null = index * 3 + 2 + 2;
            for row in [&mut plain, &mut cells] {
                row[1 + null / 8] |= 1 << (null % 8);
            }
        }
        let head = end_of_definitions(head, can);
        followed.changed(
            &end_of_rows(head.clone().add(&plain).add(&plain), can, 2),
            &end_of_rows(head.add(&cells).add(&cells), can, 2),
        );
        assert_eq!(followed.answers.encryptor.count, 16);
    });
}

#[test]
fn results_without_named_columns_are_passed_on_as_they_are() {
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        followed.ask(&command(3, b"SELECT"));
        let head = Packets::new(1)
            .add(&[2])
            .add(&definition("", "c_id", 8, false))
            .add(&definition("stock", "c_last", 253, false));
        let rows = end_of_definitions(head, can)
            .add(&text_row(&[Some("17"), None]))
            .add(&text_row(&[None, Some(&"x".repeat(70_000))]));
        followed.unchanged(&end_of_rows(rows, can, 2));
        assert_eq!(followed.answers.encryptor.count, 0);
    });
}

#[test]
fn further_results_of_a_question_are_followed_too() {
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        followed.ask(&command(3, b"SELECT; SELECT; UPDATE; SELEC"));
        let sent = |value| {
            let row = text_row(&[None, Some(value), None]);
            let first = end_of_rows(three_columns(1, can).add(&row), can, 2 | 8);
            let second = end_of_rows(three_columns(first.sequence, can).add(&row), can, 2 | 8);
            let rest = Packets::new(second.sequence)
                .add(&[0, 1, 0, 2 | 8, 0, 0, 0])
                .add(b"\xff\x28\x04#42000syntax");
            first.and(second).and(rest)
        };
        followed.changed(&sent("17"), &sent("<3:17>"));
        followed.ask(&command(0x0E, b""));
        followed.unchanged(&Packets::new(1).add(OK));
    });
}

#[test]
fn preparing_a_statement_changes_nothing() {
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        for (columns, parameters) in [(0_u8, 0_u8), (2, 0), (0, 2), (1, 1)] {
            followed.ask(&command(0x16, b"SELECT"));
            let mut packets = Packets::new(1).add(&[0, 7, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0]);
            for count in [parameters, columns] {
                for _ in 0..count {
                    packets = packets.add(&definition("customer", "c_id", 3, false));
                }
                if count > 0 {
                    packets = end_of_definitions(packets, can);
                }
            }
            followed.unchanged(&packets);
        }
        followed.ask(&command(0x16, b"SELEC"));
        followed.unchanged(&Packets::new(1).add(b"\xff\x28\x04#42000syntax"));
        followed.ask(
            &command(0x18, b"long data")
                .and(command(0x19, b"\x07\0\0\0"))
                .and(command(0x0E, b"")),
        );
        followed.unchanged(&Packets::new(1).add(OK));
    });
}

#[test]
fn commands_that_do_not_wait_for_their_answers_are_told_apart() {
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        followed.ask(&command(0x0E, b"").and(command(3, b"SELECT")).and(command(9, b"")));
        let row = |value| {
            end_of_rows(
                three_columns(1, can).add(&text_row(&[None, Some(value), None])),
                can,
                2,
            )
        };
        let sent = |value| {
            let ping = Packets::new(1).add(OK);
            ping.and(row(value))
                .and(Packets::new(1).add(b"\x03 looks like three columns"))
        };
        followed.changed(&sent("17"), &sent("<3:17>"));
    });
}

#[test]
fn a_file_that_the_server_asks_for_is_no_command() {
    each(|piece, can| {
        let mut followed = Followed::new(can, piece);
        followed.ask(&command(3, b"LOAD DATA LOCAL"));
        followed.unchanged(&Packets::new(1).add(b"\xfbfile"));
        // After 256 packets their numbers look like those of commands.
        let file = (0..300).fold(Packets::new(2), |packets, _| packets.add(b"\x01,2\n"));
        followed.ask(&file.add(b""));
        followed.unchanged(&Packets::new(47).add(OK));
        followed.ask(&command(0x0E, b""));
        followed.unchanged(&Packets::new(1).add(OK));
    });
}

#[test]
fn a_row_that_grows_beyond_a_packet_gets_another_and_what_follows_its_numbers() {
    let mut followed = Followed::new(WITHOUT_EOF, 1 << 16);
    followed.ask(&command(3, b"SELECT"));
    let rows = |values: [&str; 4]| {
        let packets = values
            .iter()
            .fold(three_columns(1, WITHOUT_EOF), |packets, value| {
                packets.add(&text_row(&[None, None, Some(value)]))
            });
        end_of_rows(packets, WITHOUT_EOF, 2)
    };
    let cell = |value: &str| format!("<253:{value}>");
    // One that still fits, one that just does not, one that takes two packets before and after, and a short one.
    let values = [LONGEST - 30, LONGEST - 7, LONGEST + 9, 1].map(|length| "x".repeat(length));
    let values = values.each_ref().map(String::as_str);
    let cells = values.map(cell);
    followed.changed(&rows(values), &rows(cells.each_ref().map(String::as_str)));
    // The next answer begins anew.
    followed.ask(&command(0x0E, b""));
    followed.unchanged(&Packets::new(1).add(OK));
    assert_eq!(followed.answers.own_sequence(), Some(2));
}

#[test]
fn a_row_of_several_packets_without_cells_is_passed_on() {
    let mut followed = Followed::new(WITHOUT_EOF, 1 << 16);
    followed.ask(&command(3, b"SELECT"));
    let head = Packets::new(1)
        .add(&[1])
        .add(&definition("stock", "s_dist", 252, false));
    // Its second packet begins as an end of rows does.
    let long = "\u{fe}".repeat(LONGEST);
    let rows = head.add(&text_row(&[Some(&long)])).add(&text_row(&[Some("x")]));
    followed.unchanged(&end_of_rows(rows, WITHOUT_EOF, 2));
}

#[test]
fn a_command_of_several_packets_is_one() {
    let mut followed = Followed::new(WITHOUT_EOF, 1 << 16);
    followed.ask(&command(3, &vec![0x0E; 2 * LONGEST]).and(command(0x0E, b"")));
    followed.unchanged(&Packets::new(3).add(OK).and(Packets::new(1).add(OK)));
}

#[test]
fn a_server_that_hangs_up_may_say_why() {
    let mut followed = Followed::new(0, 1);
    followed.unchanged(&Packets::new(0).add(b"\xff\xd0\x0f#08S01idle for too long"));
}

#[test]
fn what_would_hide_cells_is_refused_by_its_name() {
    for (can, extended, name) in [
        (1 << 11, 0, "TLS"),
        (1 << 5, 0, "compression"),
        (1 << 26, 0, "compression"),
        (1 << 25, 0, "CLIENT_OPTIONAL_RESULTSET_METADATA"),
        (0, 1 << 4, "MARIADB_CLIENT_CACHE_METADATA"),
    ] {
        let mut turn = Turn::default();
        let packet = Packets::new(1).add(&login(can, extended));
        let trouble = Commands::default().feed(&packet.bytes, &mut turn).unwrap_err();
        assert!(trouble.to_string().contains(name), "{trouble}");
    }
    // To MySQL's own clients the last bytes mean nothing.
    let packet = Packets::new(1).add(&login(1, 1 << 4));
    assert!(
        Commands::default()
            .feed(&packet.bytes, &mut Turn::default())
            .is_ok()
    );
    for (packet, name) in [
        (command(0x17, &[1, 0, 0, 0, 1, 1, 0, 0, 0]), "cursors"),
        (command(0x1C, &[1, 0, 0, 0, 1, 0, 0, 0]), "COM_STMT_FETCH"),
        (command(0x11, b"root\0"), "COM_CHANGE_USER"),
        (command(0x04, b"customer\0"), "COM_FIELD_LIST"),
        (command(0xFA, b""), "no workload"),
    ] {
        for piece in [1, 1 << 10] {
            let trouble = Followed::new(0, piece).try_to_ask(&packet).unwrap_err();
            assert!(trouble.to_string().contains(name), "{trouble}");
        }
    }
}

#[test]
fn definitions_that_say_more_about_types_are_read() {
    let policy = Policy::new(&["customer.c_id".into()]);
    let (mut turn, mut made) = (Turn::default(), Vec::new());
    let mut answers = Answers::new(Rc::new(policy), stub());
    let mut commands = Commands::default();
    let both = |packets: Packets| packets.bytes;
    commands
        .feed(&both(Packets::new(1).add(&login(1 << 24, 1 << 3))), &mut turn)
        .unwrap();
    answers
        .feed(&both(Packets::new(2).add(OK)), &mut turn, &mut made)
        .unwrap();
    commands.feed(&both(command(3, b"SELECT")), &mut turn).unwrap();
    made.clear();
    let sent = |value| {
        let head = Packets::new(1)
            .add(&[1])
            .add(&definition("customer", "c_id", 3, true));
        end_of_rows(head.add(&text_row(&[Some(value)])), 1, 2).bytes
    };
    answers.feed(&sent("17"), &mut turn, &mut made).unwrap();
    assert_eq!(made, sent("<3:17>"));
}
