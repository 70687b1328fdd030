#!/usr/bin/env bash
# Builds the documents as a searchable site in target/site, without network: scripts/setup.sh site installs mdBook.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf target/book target/site
mkdir -p target/book
git ls-files -z --cached --others --exclude-standard '*.md' docs deploy record ':!crates' |
    xargs -0 cp --parents --target-directory=target/book
# The chapters are named from docs/ there, from the root here.
sed 's#](#](docs/#; s#](docs/\.\./#](#' docs/SUMMARY.md >target/book/SUMMARY.md
rm target/book/docs/SUMMARY.md
# Each record of what was measured is a chapter.
while IFS= read -r file; do
    printf '  - [%s](%s)\n' "$(sed -n 's/^# //p;T;q' "$file")" "$file"
done < <(git ls-files 'record/*.md' ':!record/README.md') >target/book/records
sed -i -e '/](record\/README.md)/r target/book/records' target/book/SUMMARY.md
rm target/book/records
# mdBook makes a folder's index of its README.
find target/book -name '*.md' ! -name SUMMARY.md -exec sed -i 's#](\([^)]*\)README\.md#](\1index.md#g' {} +
mdbook build
./scripts/site-links.pl target/site
