#!/usr/bin/env bash
# Makes images of real Redis and Valkey servers available to Docker: a local
# image is used as it is, else the official one is pulled, else one is built
# from the packages of Debian.
set -euo pipefail

readonly VERSIONS="7.0 6.0 8.0 8.6 valkey-8.1 valkey-9.1"
readonly PULL_SECONDS=180

usage() {
  cat <<USAGE
usage: scripts/images.sh [--best-effort] [VERSION...]

Makes sure that Docker has a server image of each VERSION (default 7.0; "all"
for every one): uses a local image, else pulls the official one, else builds
oversell/NAME:VERSION from Debian's packages.

  VERSION        $VERSIONS
  --best-effort  end with 0 even when a version could not be had

environment:
  OVERSELL_DEBIAN_MIRROR  mirror to build from; the default is the one in this
                          machine's own apt configuration
USAGE
}

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }

# as_root runs a command as root, and fails with 77 where nothing may be asked.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"
  else return 77
  fi
}

# recipe VERSION sets: server, name (of the image, and of the official one),
# and ways: one "suite|packages" a line, the first that works counts.
recipe() {
  case $1 in
    6.0) server=redis-server name=oversell/redis:6.0 official=redis:6.0
         ways='bullseye|redis-server,redis-tools,redis-sentinel' ;;
    7.0) server=redis-server name=oversell/redis:7.0 official=redis:7.0
         ways='bookworm|redis-server,redis-tools,redis-sentinel' ;;
    8.0) server=redis-server name=oversell/redis:8.0 official=redis:8.0
         ways='trixie|base-files,redis-server,redis-tools,redis-sentinel' ;;
    8.6) server=redis-server name=oversell/redis:8.6 official=redis:8.6
         ways='experimental|base-files,redis-server/experimental,redis-tools/experimental
sid|base-files,redis-server,redis-tools' ;;
    valkey-8.1) server=valkey-server name=oversell/valkey:8.1 official=valkey/valkey:8.1
         ways='trixie|base-files,valkey-server,valkey-tools' ;;
    valkey-9.1) server=valkey-server name=oversell/valkey:9.1 official=valkey/valkey:9.1
         ways='sid|base-files,valkey-server,valkey-tools' ;;
    *) return 1 ;;
  esac
  if [ -n "${TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX:-}" ]; then
    official="${TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX%/}/$official"
  fi
}

present() { docker image inspect "$1" >/dev/null 2>&1; }

# mirror prints the base address of the Debian archive that this machine uses.
mirror() {
  if [ -n "${OVERSELL_DEBIAN_MIRROR:-}" ]; then printf '%s\n' "$OVERSELL_DEBIAN_MIRROR"; return; fi
  local codename uri
  # shellcheck disable=SC1091 # a file of the system
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-sid}")
  # shellcheck disable=SC2016 # apt fills in the $(...), not the shell
  uri=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v suites=" $codename stable testing unstable sid oldstable " \
      '$2 == "main" && index(suites, " " $1 " ") { print $3; exit }')
  case $uri in
    mirror+file:*) # a list of mirrors in a file: the first one
      uri=$(awk '/^[a-z+]+:/ { print $1; exit }' "/${uri#mirror+file:*([/])}" 2>/dev/null || true) ;;
  esac
  [ -n "$uri" ] && printf '%s\n' "${uri%/}"
}

# builder makes sure that images can be built here, or says why not.
builder() {
  local id
  # shellcheck disable=SC1091 # a file of the system
  id=$(. /etc/os-release 2>/dev/null && printf '%s' "${ID:-}") || true
  if [ "$id" != debian ] && [ -z "${OVERSELL_DEBIAN_MIRROR:-}" ]; then
    warn "  cannot build: images are built from Debian's packages, and this is not Debian (set OVERSELL_DEBIAN_MIRROR to build anyway)"
    return 1
  fi
  command -v mmdebstrap >/dev/null && return
  if ! command -v apt-get >/dev/null; then
    warn "  cannot build: mmdebstrap is needed; install it and run this again"
    return 1
  fi
  say "  installing mmdebstrap"
  local rc=0
  install_mmdebstrap || rc=$?
  [ "$rc" -eq 0 ] && return
  [ "$rc" -eq 77 ] && warn "  mmdebstrap is needed, and installing it needs root:"
  [ "$rc" -ne 77 ] && warn "  mmdebstrap could not be installed; to try by hand:"
  warn "    sudo apt-get update && sudo apt-get install -y mmdebstrap"
  return 1
}

install_mmdebstrap() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null 2>&1 && return
  as_root true || return 77
  as_root apt-get update -qq >/dev/null &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
}

# proxies prints the apt options that carry this machine's proxy settings on.
proxies() {
  command -v apt-config >/dev/null || return 0
  apt-config dump --format '%f "%v"%n' Acquire::http::Proxy Acquire::https::Proxy 2>/dev/null |
    awk '$2 != "\"\"" { print "--aptopt=" $0 }'
}

# rootfs SUITE PACKAGES FILE writes a tarball with a server in it.
rootfs() {
  local suite=$1 packages=$2 file=$3 uri
  uri=$(mirror) || { warn "  cannot build: no Debian mirror in this machine's apt configuration"; return 1; }
  # A suite whose release file has aged is still the right one: snapshots and
  # mirrors that lag are common where no registry can be reached.
  local args=(--variant=extract '--aptopt=Acquire::Check-Valid-Until "false"' --quiet)
  # Newer suites expect /lib64 to be a link into /usr.
  local hooks=/usr/share/mmdebstrap/hooks/merged-usr
  [ -d "$hooks" ] && args+=("--hook-dir=$hooks")
  local option
  while IFS= read -r option; do [ -n "$option" ] && args+=("$option"); done < <(proxies)
  args+=("--include=$packages")
  if [ "$suite" = experimental ]; then
    args+=(sid "$file" "deb $uri sid main" "deb $uri experimental main")
  else
    args+=("$suite" "$file" "deb $uri $suite main")
  fi
  if as_root true; then as_root mmdebstrap "${args[@]}"
  else mmdebstrap "${args[@]}" # in a user namespace, where the system allows it
  fi
}

# answers IMAGE VERSION checks that the image runs, and what it runs.
answers() {
  local found
  found=$(docker run --rm --network none --entrypoint "$server" "$1" --version 2>&1) || { warn "  $1 does not start: $found"; return 1; }
  case $found in
    *"v=${2#valkey-}."*) found=${found#*v=}; say "  $1 runs ${found%% *}" ;;
    *) warn "  $1 is not ${2}: $found"; return 1 ;;
  esac
}

build() {
  local version=$1 way log="$work/build.log"
  builder || return 1
  while IFS= read -r way; do
    say "  building $name from Debian's packages (${way%%|*})"
    if rootfs "${way%%|*}" "${way#*|}" "$work/rootfs.tar" >"$log" 2>&1 &&
      docker import --change "ENTRYPOINT [\"$server\"]" --change 'EXPOSE 6379' --change 'EXPOSE 26379' \
        "$work/rootfs.tar" "$work_tag" >>"$log" 2>&1 &&
      answers "$work_tag" "$version"; then
      docker tag "$work_tag" "$name" && docker rmi "$work_tag" >/dev/null
      rm -f "$work/rootfs.tar"
      return
    fi
    tail -n 5 "$log" | sed 's/^/    /' >&2
    docker rmi "$work_tag" >/dev/null 2>&1 || true
  done <<<"$ways"
  return 1
}

# provide VERSION makes one version available.
provide() {
  local version=$1 image
  recipe "$version"
  for image in "$name" "$official"; do
    if present "$image"; then say "$version: $image is here"; return; fi
  done
  say "$version: no local image"
  say "  pulling $official"
  local output
  if output=$(timeout "$PULL_SECONDS" docker pull --quiet "$official" 2>&1) && present "$official"; then
    answers "$official" "$version" && return
  else
    say "  not pulled: $(tail -n 1 <<<"${output:-no answer within $PULL_SECONDS s}")"
  fi
  build "$version" && say "$version: $name is here"
}

main() {
  local best_effort=false wanted=() arg
  for arg in "$@"; do
    case $arg in
      -h | --help) usage; return 0 ;;
      --best-effort) best_effort=true ;;
      all) read -r -a wanted <<<"$VERSIONS" ;;
      -*) warn "unknown option $arg"; usage >&2; return 2 ;;
      *) recipe "$arg" || { warn "unknown version $arg; known: $VERSIONS"; return 2; }
         wanted+=("$arg") ;;
    esac
  done
  [ ${#wanted[@]} -gt 0 ] || wanted=(7.0)

  local missing=() version
  if ! command -v docker >/dev/null; then
    warn "the docker command is not installed"; missing=("${wanted[@]}")
  elif ! timeout 10 docker version >/dev/null 2>&1; then
    warn "Docker does not answer: $(timeout 10 docker version 2>&1 | tail -n 1)"; missing=("${wanted[@]}")
  else
    work=$(mktemp -d)
    work_tag="oversell/build:$$"
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work" # mmdebstrap's own user must get in
    for version in "${wanted[@]}"; do provide "$version" || missing+=("$version"); done
  fi
  [ ${#missing[@]} -eq 0 ] && return 0
  warn "not available: ${missing[*]}"
  "$best_effort"
}

shopt -s extglob
main "$@"
