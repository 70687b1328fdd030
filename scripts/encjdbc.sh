#!/usr/bin/env bash
# Our cells of EncDB before EncJDBC, the driver of the format's vendor. Half a minute; keeps the answer in record/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/keep.sh encjdbc.md cargo test --locked -p ciphertax-columns --test encjdbc -- --ignored --nocapture
