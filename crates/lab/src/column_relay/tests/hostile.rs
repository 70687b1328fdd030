//! Ends that do not speak the protocol.

use std::rc::Rc;

use rand::{RngExt, SeedableRng};

use super::super::answers::Answers;
use super::super::packet::{Commands, LONGEST, Question, Trouble, Turn};
use super::super::rows::Policy;
use super::super::rows::tests::definition;
use super::{OK, Packets, login, stub, text_row};

fn answers() -> Answers {
    Answers::new(Rc::new(Policy::new(&["customer.c_id".into()])), stub())
}

/// A client with these capabilities has logged in.
fn logged_in(capabilities: u32) -> (Answers, Turn) {
    let (mut answers, mut turn) = (answers(), Turn::default());
    Commands::default()
        .feed(&Packets::new(1).add(&login(capabilities, 0)).bytes, &mut turn)
        .unwrap();
    answers
        .feed(&Packets::new(2).add(OK).bytes, &mut turn, &mut Vec::new())
        .unwrap();
    (answers, turn)
}

/// What becomes of an answer to a question of a client that is logged in.
fn answered(question: Question, packets: &[u8]) -> Result<usize, Trouble> {
    let (mut answers, mut turn) = logged_in(1 << 24);
    turn.ask(question).unwrap();
    answers.feed(packets, &mut turn, &mut Vec::new())
}

fn one_column(kind: u8) -> Packets {
    Packets::new(1)
        .add(&[1])
        .add(&definition("customer", "c_id", kind, false))
}

#[test]
fn a_server_that_breaks_the_protocol_ends_the_connection_with_a_word_about_it() {
    use Question::{Binary, Prepare, Text};
    let text = |packet: &[u8]| Packets::new(1).add(packet);
    let cases: [(Question, Packets, &str); 13] = [
        (Text, text(b""), "empty packet"),
        (Text, text(&[0]), "an OK that cannot be read"),
        (Text, text(&[0xFC, 1]), "number of columns"),
        (Text, text(&[0xFC, 1, 0x10]), "number of columns"),
        (Text, text(&[1, 1]), "number of columns"),
        (Text, text(&[0xFE]), "number of columns"),
        (Text, text(&vec![3; 2 << 20]), "too long"),
        (Text, text(&[1]).add(b"def"), "definition"),
        (Prepare, text(&[0, 1]), "preparation"),
        (Text, one_column(3).add(&[9, 1]), "not of its columns"),
        (Text, one_column(3).add(&[1, 1, 1]), "not of its columns"),
        (Binary, one_column(3).add(&[0, 0, 1, 2, 3]), "not of its columns"),
        (Binary, one_column(99).add(&[0, 0, 1, 2, 3]), "type of column"),
    ];
    for (question, packets, says) in cases {
        let trouble = answered(question, &packets.bytes).unwrap_err();
        assert!(trouble.to_string().contains(says), "{trouble}; expected {says}");
    }
    let mut turn = Turn::default();
    let greeting = Packets::new(0).add(OK).bytes;
    let trouble = answers().feed(&greeting, &mut turn, &mut Vec::new()).unwrap_err();
    let words = "welcome before the login";
    assert!(trouble.to_string().contains(words), "{trouble}");
}

#[test]
fn an_answer_that_nobody_asked_for_is_not_passed_on() {
    let (mut answers, mut turn) = logged_in(0);
    let mut made = Vec::new();
    let rows = one_column(3).add(&text_row(&[Some("17")]));
    assert!(answers.feed(&rows.bytes, &mut turn, &mut made).is_err());
    assert_eq!(made, b"");
}

#[test]
fn a_row_without_end_is_refused_before_it_fills_the_memory() {
    let (mut answers, mut turn) = logged_in(1 << 24);
    turn.ask(Question::Text).unwrap();
    let mut made = Vec::new();
    answers
        .feed(&one_column(253).bytes, &mut turn, &mut made)
        .unwrap();
    let part = Packets::new(3).add(&vec![b'x'; LONGEST]).bytes;
    let part = &part[..4 + LONGEST];
    let parts = (0..10)
        .take_while(|_| answers.feed(part, &mut turn, &mut made).is_ok())
        .count();
    assert_eq!(parts, 4);
    assert!(made.len() < 1000);
}

#[test]
fn a_cell_that_cannot_be_made_ends_the_connection_at_the_end_of_a_row() {
    let (mut answers, mut turn) = logged_in(1 << 24);
    turn.ask(Question::Text).unwrap();
    let mut made = Vec::new();
    let head = one_column(253).add(&text_row(&[Some("x")]));
    let packets = head.add(&text_row(&[Some("impossible")]));
    let trouble = answers.feed(&packets.bytes, &mut turn, &mut made).unwrap_err();
    let words = "column 1 of a row cannot";
    assert!(trouble.to_string().contains(words), "{trouble}");
    let whole = one_column(253).add(&text_row(&[Some("<253:x>")]));
    assert_eq!(made, whole.bytes);
    assert_eq!(answers.own_sequence(), Some(4));
}

#[test]
fn clients_that_do_not_wait_or_begin_in_the_middle_are_refused() {
    let mut turn = Turn::default();
    turn.is_logged_in = true;
    let ping = Packets::new(0).add(&[0x0E]).bytes;
    let trouble = (0..1000)
        .find_map(|_| Commands::default().feed(&ping, &mut turn).err())
        .unwrap();
    assert!(trouble.to_string().contains("without waiting"), "{trouble}");
    for packets in [Packets::new(1).add(&[0x0E]), Packets::new(0).add(b"")] {
        let trouble = Commands::default().feed(&packets.bytes, &mut turn).unwrap_err();
        assert!(trouble.to_string().contains("begins no command"), "{trouble}");
    }
    let short = Packets::new(1).add(&[0; 31]).bytes;
    let trouble = Commands::default()
        .feed(&short, &mut Turn::default())
        .unwrap_err();
    assert!(trouble.to_string().contains("too short"), "{trouble}");
}

/// Bytes of any kind, and packets in which single bytes are others: nothing panics, and what is made stays bounded.
#[test]
fn whatever_arrives_nothing_panics() {
    let mut random = rand::rngs::StdRng::seed_from_u64(15);
    let rows = one_column(3)
        .add(&text_row(&[Some("17")]))
        .add(&[0xFE, 0, 0, 2, 0, 0, 0])
        .bytes;
    for round in 0..30_000 {
        let mut bytes = rows.clone();
        if round % 2 == 0 {
            bytes = (0..random.random_range(0..80))
                .map(|_| random.random_range(0..=255))
                .collect();
        }
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.random_range(0..=255);
            }
        }
        for question in [Question::Text, Question::Binary, Question::Prepare, Question::One] {
            let _ = answered(question, &bytes);
        }
        let mut turn = Turn::default();
        let mut commands = Commands::default();
        let _ = commands.feed(&bytes, &mut turn);
        turn.is_logged_in = true;
        let _ = Commands::default().feed(&bytes, &mut turn);
    }
}
