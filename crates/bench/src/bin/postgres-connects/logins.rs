//! A login by SCRAM beside what it cannot do without: the derivation of its keys, and a connection.

use std::time::Duration;

use ciphertax_bench::{PostgresqlGround, Repeats, Result, Slice, Table, derivation};
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, TlsLibrary, Transport};
use ciphertax_stats::BalancedOrder;

use crate::{ITERATIONS, SECONDS, arm, engine};

/// Connections being opened at a time. With more, derivations would take the CPU's shared parts from each other and from the
/// server, which they would be billed for.
const AT_A_TIME: u32 = 1;
/// The most client CPU for a login, over that of the bare derivation and of a connection that is trusted.
const BAR: f64 = 1.2;

/// The bar, and the client CPU of one bare derivation in microseconds.
pub(crate) fn table(ground: &mut PostgresqlGround, repeats: u32) -> Result<(Table, Repeats)> {
    let transports = [Transport::Plain, Transport::Tls13];
    let arms: Vec<Arm> = transports.into_iter().flat_map(arms_over).collect();
    let mut engine = engine(ground, &arms, AT_A_TIME)?;
    let duration = Duration::from_secs(SECONDS.into());
    let mut derivation_us = Repeats::default();
    let mut client_us: Vec<Repeats> = arms.iter().map(|_| Repeats::default()).collect();
    let orders = BalancedOrder::new(arms.len() + 1, 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let Some(client_us) = client_us.get_mut(index) else {
                derivation_us.push(derivation::measure_us(ITERATIONS, duration)?);
                continue;
            };
            let before = ground.sessions()?;
            let slice = Slice::without_server(&mut engine, index, duration)?;
            ground.check_sessions_since(before, slice.operations)?;
            client_us.push(slice.client_us);
        }
        eprintln!(
            "logins: repeat {} of {repeats}: client µs: derivation {:.0}; {}",
            repeat + 1,
            derivation_us.median(),
            client_us
                .iter()
                .map(|us| format!("{:.0}", us.median()))
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    let mut table = Table::new(&[
        "transport",
        "client CPU, login / (derivation + connection)",
        "bar",
        "met",
        "login µs, derived",
        "login µs, kept",
        "derivation µs",
        "connection µs, trust",
    ]);
    for (transport, of) in transports.into_iter().zip(client_us.chunks(ARMS)) {
        let [trust, derived, kept] = of else {
            return Err("a transport has three arms".into());
        };
        let ratio = derived.over(&trust.plus(&derivation_us));
        table.row([
            transport.to_string(),
            format!("{ratio:.2}"),
            format!("≤ {BAR:.1}"),
            if ratio.median() <= BAR { "yes" } else { "**no**" }.to_owned(),
            format!("{derived:.0}"),
            format!("{kept:.0}"),
            format!("{derivation_us:.0}"),
            format!("{trust:.0}"),
        ]);
    }
    Ok((table, derivation_us))
}

const ARMS: usize = 3;

/// Trusted, with derived keys, and with kept ones.
fn arms_over(transport: Transport) -> [Arm; ARMS] {
    let of = |method, cache| arm(transport, TlsLibrary::OpenSsl, method, cache);
    // The default account's; in plaintext there is nothing that a login could be tied to.
    let scram = match transport.is_encrypted() {
        true => AuthenticationMethod::ScramSha256Plus,
        false => AuthenticationMethod::ScramSha256,
    };
    [
        of(AuthenticationMethod::Trust, PasswordCache::Cold),
        of(scram, PasswordCache::Cold),
        of(scram, PasswordCache::Warm),
    ]
}
