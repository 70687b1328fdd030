//! The colours of phases and arms are told apart by everyone: with normal sight, with each kind of colour blindness, in
//! grey, and against the page, light and dark.

const STYLE: &str = include_str!("../assets/report.css");

/// Pairs of phases that stand side by side in a bar, also where those between them took no time.
const NEIGHBOURS: [(usize, usize); 12] = [
    (0, 1),
    (1, 2),
    (2, 3),
    (2, 4),
    (3, 4),
    (4, 5),
    (4, 6),
    (5, 6),
    (6, 7),
    (2, 6),
    (8, 4),
    (8, 5),
];

#[test]
fn neighbouring_phases_differ_for_everyone_and_in_grey() {
    for theme in [Theme::light(), Theme::dark()] {
        for (one, other) in NEIGHBOURS {
            let pair = [one, other].map(|phase| theme.colour(&format!("phase-{phase}")));
            let [one_grey, other_grey] = pair.map(|colour| lab(colour)[0]);
            assert!((one_grey - other_grey).abs() >= 10.0, "{one} and {other} in grey");
            assert_told_apart(pair, 15.0, &format!("phases {one} and {other}"));
        }
    }
}

#[test]
fn text_in_a_phase_is_read() {
    // WCAG 2.2, 1.4.3.
    for theme in [Theme::light(), Theme::dark()] {
        for phase in 0..9 {
            let text = if [6, 8].contains(&phase) {
                [1.0; 3]
            } else {
                linear("#111111")
            };
            let contrast = contrast(theme.colour(&format!("phase-{phase}")), text);
            assert!(contrast >= 4.5, "phase {phase}: {contrast}");
        }
    }
    assert!(
        STYLE.contains(".piece.phase-6, .piece.phase-8 { color: #fff; }") && STYLE.contains("color: #111")
    );
}

#[test]
fn arms_differ_for_everyone_and_stand_out_from_the_page() {
    for theme in [Theme::light(), Theme::dark()] {
        let arms: Vec<[f64; 3]> = (2..8).map(|arm| theme.colour(&format!("arm-{arm}"))).collect();
        for (i, one) in arms.iter().enumerate() {
            // WCAG 2.2, 1.4.11.
            let contrast = contrast(*one, theme.colour("surface"));
            assert!(contrast >= 3.0, "arm {i}: {contrast}");
            for other in &arms[..i] {
                assert_told_apart([*one, *other], 15.0, "two arms");
            }
        }
    }
}

#[test]
fn words_stand_out_from_what_is_behind_them() {
    for theme in [Theme::light(), Theme::dark()] {
        for (text, behind) in [
            ("text", "page"),
            ("muted", "page"),
            ("muted", "surface"),
            ("faint", "surface"),
            ("accent", "page"),
            ("costs", "costs-tint"),
            ("no-cost", "no-cost-tint"),
            ("cannot-tell", "cannot-tell-tint"),
            ("gains", "gains-tint"),
        ] {
            let contrast = contrast(theme.colour(text), theme.colour(behind));
            assert!(contrast >= 4.5, "{text} on {behind}: {contrast}");
        }
    }
}

/// The colours of one theme; the dark one changes some of the light one's.
struct Theme(&'static str);

impl Theme {
    fn light() -> Self {
        Self(
            STYLE
                .split("@media screen and (prefers-color-scheme: dark)")
                .next()
                .expect("a text has a first part"),
        )
    }

    fn dark() -> Self {
        Self(
            STYLE
                .split("@media screen and (prefers-color-scheme: dark)")
                .nth(1)
                .expect("there is a dark theme"),
        )
    }

    /// Linear red, green and blue.
    fn colour(&self, name: &str) -> [f64; 3] {
        let of = |css: &str| {
            let (_, value) = css.split_once(&format!("--{name}: "))?;
            value
                .split(';')
                .next()
                .filter(|value| value.starts_with('#'))
                .map(linear)
        };
        of(self.0)
            .or_else(|| of(STYLE))
            .unwrap_or_else(|| panic!("no colour {name}"))
    }
}

fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let level =
            f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("colours are hexadecimal")) / 255.0;
        if level <= 0.04045 {
            level / 12.92
        } else {
            ((level + 0.055) / 1.055).powf(2.4)
        }
    })
}

/// With full protanopia, deuteranopia and tritanopia: Machado, Oliveira and Fernandes 2009, severity 1.
const SIGHTS: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

/// Differences of CIE 1976 in CIELAB: about 2 is just seen, 15 is seen at a glance.
fn assert_told_apart(pair: [[f64; 3]; 2], least: f64, what: &str) {
    for sight in SIGHTS {
        let [one, other] = pair.map(|colour| {
            lab(sight.map(|row| {
                row.iter()
                    .zip(colour)
                    .map(|(a, b)| a * b)
                    .sum::<f64>()
                    .clamp(0.0, 1.0)
            }))
        });
        let difference = one
            .iter()
            .zip(other)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>()
            .sqrt();
        assert!(difference >= least, "{what}: {difference}");
    }
}

fn lab([red, green, blue]: [f64; 3]) -> [f64; 3] {
    let bent = |t: f64| {
        if t > 0.008856 {
            t.cbrt()
        } else {
            7.787 * t + 16.0 / 116.0
        }
    };
    let x = bent((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505);
    let y = bent(luminance([red, green, blue]));
    let z = bent((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn luminance([red, green, blue]: [f64; 3]) -> f64 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}
