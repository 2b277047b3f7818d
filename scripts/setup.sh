#!/usr/bin/env bash
# Prepares this machine for `make demo` and `make test`: real servers to test on,
# in Docker where it is reachable, else as programs. It names what it installs,
# installs as root or with a sudo that asks nothing, and otherwise prints the
# command and goes on with what is there. It always ends with 0, except for a
# wrong option.
set -euo pipefail

cd "$(dirname "$0")/.."

readonly PACKAGES="redis-server redis-sentinel"
readonly DATABASE="postgresql"
readonly MONITORING="prometheus"
readonly SCHEMAS="libxml2-utils"
readonly BROWSER="chromium"
readonly POLICY=/usr/sbin/policy-rc.d

usage() {
  cat <<USAGE
usage: scripts/setup.sh [--all]

  --all  redis-server as a program too, also where Docker has an image,
         PostgreSQL for runs that keep their inventory in it, Prometheus for
         the tests of alert rules and dashboard, xmllint, with which tests check
         reports against their schemas, and Chromium to test HTML reports in
USAGE
}

say() { printf 'setup: %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() { [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; }

# docker_ready succeeds when Docker answers and has, or now gets, an image.
docker_ready() {
  local image
  command -v docker >/dev/null || { say "no docker command"; return 1; }
  timeout 10 docker version >/dev/null 2>&1 || { say "Docker is not reachable"; return 1; }
  for image in oversell/redis:7.0 redis:7.0; do
    docker image inspect "$image" >/dev/null 2>&1 && return
  done
  scripts/images.sh --best-effort 7.0
  for image in oversell/redis:7.0 redis:7.0; do
    docker image inspect "$image" >/dev/null 2>&1 && return
  done
  say "Docker has no image of a server"
  return 1
}

programs_ready() { command -v redis-server >/dev/null && command -v redis-sentinel >/dev/null; }

install_programs() {
  programs_ready || install "redis-server and redis-sentinel" "to test on real servers without Docker" "$PACKAGES"
}

# database_ready succeeds when oversell would find PostgreSQL's programs.
database_ready() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

install_database() {
  database_ready || install "PostgreSQL's programs" "to keep inventories in PostgreSQL" "$DATABASE"
}

monitoring_ready() { command -v prometheus >/dev/null && command -v promtool >/dev/null; }

install_monitoring() {
  monitoring_ready || install "Prometheus and promtool" "to test the alert rules and the dashboard" "$MONITORING"
}

install_schemas() {
  command -v xmllint >/dev/null || install "xmllint" "to check reports against their schemas" "$SCHEMAS"
}

install_browser() {
  command -v chromium >/dev/null || install "the browser Chromium" "to test the HTML reports in" "$BROWSER"
}

# install WHAT PURPOSE PACKAGES installs packages, or says how.
install() {
  if ! command -v apt-get >/dev/null; then
    say "missing, to be installed with your package manager $2: $1"
    return
  fi
  say "to be installed $2: $1 (Debian packages: $3)"
  if ! may_install; then
    say "installing them needs root; the command is:"
    say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $3"
    say "going on without them"
    return
  fi
  say "installing $3"
  # shellcheck disable=SC2086 # a list of packages
  quiet_install $3 || say "they could not be installed; going on without them"
}

# quiet_install PACKAGE... installs without any service being started, now or at
# the next boot. Services that were there before are left as they are.
quiet_install() {
  local fresh=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || fresh+=("$package")
  done
  [ ${#fresh[@]} -gt 0 ] || return 0
  guard
  trap unguard EXIT
  trap 'exit 130' INT TERM
  local rc=0
  apt_install "${fresh[@]}" || rc=$?
  unguard
  trap - EXIT INT TERM
  if [ "$rc" -eq 0 ] && command -v systemctl >/dev/null; then
    as_root systemctl --quiet disable "${fresh[@]/%/.service}" >/dev/null 2>&1 || true
  fi
  return "$rc"
}

apt_install() {
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@")
  as_root "${install[@]}" >/dev/null 2>&1 && return
  as_root apt-get update -qq >/dev/null && as_root "${install[@]}" >/dev/null
}

# While this file answers 101, packages start and stop no services.
guard() {
  if [ -e "$POLICY" ] || [ -L "$POLICY" ]; then as_root mv "$POLICY" "$POLICY.oversell"; fi
  as_root sh -c "printf '#!/bin/sh\nexit 101\n' >'$POLICY' && chmod 755 '$POLICY'"
}

unguard() {
  as_root rm -f "$POLICY"
  if [ -e "$POLICY.oversell" ] || [ -L "$POLICY.oversell" ]; then as_root mv "$POLICY.oversell" "$POLICY"; fi
}

main() {
  local all=false arg
  for arg in "$@"; do
    case $arg in
      --all) all=true ;;
      -h | --help) usage; return 0 ;;
      *) usage >&2; return 2 ;;
    esac
  done
  if ! docker_ready; then
    say "servers will run as programs, where they are installed"
    install_programs
  elif "$all"; then
    install_programs
  fi
  if "$all"; then
    install_database
    install_monitoring
    install_schemas
    install_browser
  fi
}

main "$@"
