#!/bin/sh
# Run by scripts/package.sh as root in a new root file system, which has the packages in /tmp: the tarball's program starts with
# nothing installed, and the Debian package is installed, measures, and is removed without a trace. The tarball's program then
# measures too, with the server that the package has brought.
set -eu

measure="--time 20 --quiet --profile=off"
# That of a new system, not that of who tries it.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

say() {
    printf '  %s\n' "$*"
}

# No file of this name may be missing.
there() {
    for file in "$@"; do
        [ -e "$file" ] || {
            say "$file is missing"
            exit 1
        }
    done
}

# Where a run may leave something: private folders, and what it has fetched. System tables that the next server begins with are
# meant to stay.
kept() {
    find /tmp /var/tmp /root/.cache /home/*/.cache 2>/dev/null |
        grep -v -e '/\.cache$' -e '/\.cache/ciphertax$' -e '/\.cache/ciphertax/templates' | sort
}

# Nothing may be there but what was there before.
nothing_new() {
    kept >/opt/kept-after
    comm -13 /opt/kept-before /opt/kept-after >/opt/kept-new
    [ ! -s /opt/kept-new ] || {
        say "$1 leaves: $(head -n 20 /opt/kept-new)"
        exit 1
    }
}

cd /tmp
mkdir /opt/ciphertax
# xz is what apt itself unpacks by, and tar need not have it; users are added by passwd.
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes xz-utils passwd >/dev/null
tar -C /opt/ciphertax --strip-components=1 -xf ciphertax-*.tar.xz
/opt/ciphertax/bin/ciphertax --version
/opt/ciphertax/bin/ciphertax studies >/dev/null
there /opt/ciphertax/share/man/man1/ciphertax-run.1 /opt/ciphertax/share/doc/ciphertax/third-party-licences.txt \
    /opt/ciphertax/share/doc/ciphertax/docs/run.schema.json
say "the tarball's program starts"

# With what it recommends, as Debian does unless it is told otherwise.
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --install-recommends ./ciphertax_*.deb >/dev/null
cd /root
ciphertax --version
there /usr/share/bash-completion/completions/ciphertax /usr/share/zsh/vendor-completions/_ciphertax \
    /usr/share/fish/vendor_completions.d/ciphertax.fish /usr/share/ciphertax/studies/quick.toml \
    /usr/share/man/man1/ciphertax.1.gz /usr/share/man/man1/ciphertax-run.1.gz \
    /usr/share/doc/ciphertax/copyright /usr/share/doc/ciphertax/third-party-licences.txt \
    /usr/share/doc/ciphertax/docs/run.schema.json
grep -q "sqlcipher/LICENSE" /usr/share/doc/ciphertax/third-party-licences.txt
say "installed"

useradd --create-home user
kept >/opt/kept-before
# shellcheck disable=SC2086
ciphertax quick $measure --out as-root --export estimates.csv
there as-root/report.html estimates.csv
# shellcheck disable=SC2086
su user -c "cd && ciphertax quick $measure --out as-user && ciphertax report as-user --quiet"
nothing_new "measuring"
say "measured, as root and as an ordinary user"

apt-get -qq purge --yes ciphertax >/dev/null
left="$(find / -xdev -iname '*ciphertax*' -not -path '/proc/*' -not -path '/tmp/*' -not -path '/opt/ciphertax*' \
    -not -path '/var/log/*' -not -path '/root/*' -not -path '/home/*')"
[ -z "$left" ] || {
    say "removing the package leaves: $left"
    exit 1
}
say "removed without a trace"

kept >/opt/kept-before
# shellcheck disable=SC2086
/opt/ciphertax/bin/ciphertax quick $measure --out from-tarball
there from-tarball/report.html
nothing_new "the tarball's program"
say "the tarball's program measures"
