#!/usr/bin/env bash
# Makes the packages, and tries them where nothing else is.
#
#   scripts/package.sh build    dist/ciphertax_VERSION_ARCH.deb and dist/ciphertax-VERSION-ARCH-linux.tar.xz
#   scripts/package.sh test     installs both on new root file systems of Debian 12 and 13, measures there, and removes them;
#                               leaves nothing. As root, or as a user who may make namespaces.
#   scripts/package.sh          both
#   scripts/package.sh install  the third way to have it: by cargo, into a folder of its own, where it must start
#
# BINARY names a release binary that is built already. `test` fetches some 150 MB of Debian packages for each release of
# Debian: DEBIAN_MIRROR says from where, if not from where mmdebstrap takes them, DEBIAN_SUITES for which.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest C library that a binary may need: that of Debian 12.
newest_glibc=2.36
# All that is not in the binary itself. The second is a part of the compiler that the C library's own package depends on.
libraries=(libc.so.6 libgcc_s.so.1 libm.so.6 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1)

staging="target/package"
version="$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)"
architecture="$(dpkg --print-architecture)"
tree="ciphertax-$version-$architecture-linux"
deb="dist/ciphertax_${version}_$architecture.deb"
tarball="dist/$tree.tar.xz"

main() {
    case "${1:-all}" in
        build) build ;;
        test) try_packages ;;
        install) try_cargo_install ;;
        all)
            build
            try_packages
            ;;
        *) fail "usage: scripts/package.sh [build|test|install]" ;;
    esac
}

build() {
    if [[ -z ${BINARY:-} ]]; then
        say "building the binary"
        cargo build --release --locked -p ciphertax
    fi
    rm -rf "$staging"
    mkdir -p "$staging/cargo/release" "$staging/completions" "$staging/schemas" dist
    local binary="$staging/cargo/release/ciphertax"
    # Names of functions stay: a run says by them where the client's CPU time goes.
    strip --strip-debug -o "$binary" "${BINARY:-${CARGO_TARGET_DIR:-target}/release/ciphertax}"
    check_needs "$binary"
    "$binary" man --out "$staging/man"
    "$binary" completions bash >"$staging/completions/ciphertax"
    "$binary" completions zsh >"$staging/completions/_ciphertax"
    "$binary" completions fish >"$staging/completions/ciphertax.fish"
    "$binary" schema | while read -r name _; do
        "$binary" schema "$name" >"$staging/schemas/$name.schema.json"
    done
    licences >"$staging/third-party-licences.txt"
    # Where the stripped binary is taken for the one that was built.
    CARGO_TARGET_DIR="$PWD/$staging/cargo" cargo deb --quiet --no-build --no-strip --deb-revision "" -p ciphertax --output "$deb"
    make_tarball "$binary"
    say "made $deb ($(size "$deb")) and $tarball ($(size "$tarball"))"
}

# A binary that needs more would start on the machine that built it alone.
check_needs() {
    local needed newest
    for needed in $(objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }'); do
        [[ " ${libraries[*]} " == *" $needed "* ]] || fail "the binary needs $needed"
    done
    newest="$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -Vu | tail -n 1)"
    [[ $(printf '%s\n' "$newest" "$newest_glibc" | sort -V | tail -n 1) == "$newest_glibc" ]] ||
        fail "the binary needs version $newest of the C library, and Debian 12 has $newest_glibc: build it on Debian 12"
}

# Of the crates, and of the libraries in C that some of them hold, whose licences are not those of the crates.
licences() {
    same_licences
    cargo about generate --locked --fail --manifest-path crates/cli/Cargo.toml --config packaging/about.toml packaging/licences.hbs
    local crate file
    while read -r crate file; do
        printf '\n%s\n%s\n%s\n\n' "$(line =)" "$crate: $file" "$(line -)"
        cat "$(crate_folder "$crate")/$file"
    done <<'LIST'
openssl-src openssl/LICENSE.txt
libsqlite3-sys sqlcipher/LICENSE
aws-lc-sys aws-lc/LICENSE
LIST
}

# A licence that a dependency may have is one that the packages may come with, and no other.
same_licences() {
    python3 - <<'PYTHON' || fail "packaging/about.toml accepts other licences than deny.toml"
import tomllib
read = lambda file: tomllib.load(open(file, "rb"))
raise SystemExit(set(read("packaging/about.toml")["accepted"]) != set(read("deny.toml")["licenses"]["allow"]))
PYTHON
}

crate_folder() {
    local manifest
    manifest="$(cargo metadata --locked --format-version 1 |
        python3 -c 'import json, sys
print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == sys.argv[1]))' "$1")"
    dirname "$manifest"
}

line() {
    printf "%.0s$1" {1..80}
}

# To be unpacked anywhere, as into /usr/local with --strip-components=1.
make_tarball() {
    local root="$staging/$tree"
    install -D -m 755 "$1" "$root/bin/ciphertax"
    install -D -m 644 -t "$root/share/man/man1" "$staging"/man/*
    install -D -m 644 "$staging/completions/ciphertax" "$root/share/bash-completion/completions/ciphertax"
    install -D -m 644 "$staging/completions/_ciphertax" "$root/share/zsh/site-functions/_ciphertax"
    install -D -m 644 "$staging/completions/ciphertax.fish" "$root/share/fish/vendor_completions.d/ciphertax.fish"
    install -D -m 644 -t "$root/share/ciphertax/studies" crates/cli/studies/*.toml
    install -D -m 644 -t "$root/share/doc/ciphertax" LICENSE README.md CHANGELOG.md METHODOLOGY.md SECURITY.md \
        "$staging/third-party-licences.txt"
    # As the README links to them.
    install -D -m 644 -t "$root/share/doc/ciphertax/docs" docs/*.md docs/*.svg docs/*.html \
        "$staging"/schemas/*
    # The same sources make the same archive.
    tar --create --directory "$staging" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" "$tree" | xz -T0 >"$tarball"
}

# A root file system of its own for each release, made by mmdebstrap and gone when the script in it has ended.
try_packages() {
    local suite
    [[ -f $deb && -f $tarball ]] || fail "there are no packages of version $version: scripts/package.sh build makes them"
    for suite in ${DEBIAN_SUITES:-bookworm trixie}; do
        say "trying the packages on $suite"
        mmdebstrap --quiet --variant=apt \
            --customize-hook="copy-in $deb $tarball scripts/try-package.sh /tmp" \
            --customize-hook='chroot "$1" sh /tmp/try-package.sh' \
            "$suite" /dev/null ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} ||
            fail "the packages do not work on $suite"
    done
    say "both packages work on ${DEBIAN_SUITES:-bookworm trixie}"
}

# What is built already is not built again: cargo builds a folder's program where it builds all else.
try_cargo_install() {
    local root="$staging/installed"
    cargo install --quiet --locked --force --path crates/cli --root "$root"
    "$root/bin/ciphertax" --version
    "$root/bin/ciphertax" studies >/dev/null
    rm -r "$root"
    say "cargo install works"
}

size() {
    du -h --apparent-size "$1" | cut -f1
}

say() {
    printf 'package: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

main "$@"
