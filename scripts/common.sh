# SPDX-License-Identifier: MIT
# Common functions and variables of the scripts: messages, the source folder, and the cache outside
# the clone. Bash scripts source common.sh, and never run common.sh.

top=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
. "$top/scripts/help.sh"

# shellcheck disable=SC2034 # read by the scripts that source this file
cache=${NNACCEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nnaccel}
# Make the path absolute, because apt and other scripts use it from other folders.
[[ $cache == /* ]] || cache=$PWD/$cache
export NNACCEL_CACHE=$cache
me=${0##*/}

# The PATH of an ordinary user of Debian lacks the folders of modprobe and of other system programs.
PATH=$PATH:/usr/sbin:/sbin

# Debian's names of this machine's architecture and of the target architecture; the variable ARCH
# may be Debian's or Linux's name of the target architecture
case $HOSTTYPE in
aarch64) machine_arch=arm64 ;;
*) machine_arch=amd64 ;;
esac
case ${ARCH:-$machine_arch} in
amd64 | x86_64) arch=amd64 ;;
arm64 | aarch64) arch=arm64 ;;
*) echo "${0##*/}: ARCH is amd64 or arm64, not $ARCH" >&2; exit 1 ;;
esac
# Unset ARCH, because the makefiles of Linux read ARCH and use other names of architectures than
# Debian.
unset ARCH

# Drop the flags and variables of a make that called the script, because that make's CC is not a
# compiler for kernels.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

# Patterns of error reports that a kernel's log must not have after a test.
# shellcheck disable=SC2034 # read by the scripts that source this file
reports='KASAN:|UBSAN:|\bBUG:|WARNING:|Oops|general protection fault|Kernel panic'
reports+='|possible (circular|recursive)|possible irq lock|INFO: (task|rcu|lockdep|trying|Object)'
reports+='|suspicious RCU usage|rcu: .*detected.*stall|blocked for more than|soft lockup|hard LOCKUP'
reports+='|suspected memory leak|DMA-API: |refcount_t:|list_(add|del) corruption|ODEBUG:'
reports+='|held lock freed|bad unlock balance|sleeping function called|unable to handle'

say() {
	printf '%s: %s\n' "$me" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# misuse TEXT: reports wrong arguments, and ends the script with status 2
misuse() {
	say "$*"
	exit 2
}

# only_cached ARGUMENT...: rejects arguments other than a single --cached
only_cached() {
	[[ $* =~ ^(--cached)?$ ]] || misuse "unknown arguments $*; see scripts/$me --help"
}

# lock NAME: waits for the lock $cache/NAME.lock, and holds the lock until the script ends
lock() {
	mkdir -p "$cache"
	exec {lock_fd}>"$cache/$1.lock"
	flock -n "$lock_fd" && return
	say "waiting for another run that holds $cache/$1.lock"
	flock "$lock_fd"
}
