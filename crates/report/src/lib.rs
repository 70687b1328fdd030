//! One run as terminal text, HTML and JSON.
