#!/usr/bin/env bash
# keep.sh FILE COMMAND…: runs a test and keeps the document that it prints as record/FILE, if it succeeds.
set -euo pipefail
file=$1
shift
mkdir -p record
"$@" | tee -a /dev/stderr | sed -n '/^# /,/^test result/p' | grep -v -e '^test ' -e '^ok$' > "record/.$file.new"
mv "record/.$file.new" "record/$file"
