# SPDX-License-Identifier: MIT
# Sourced by every shell script, at its start. For -h and --help it prints the comment at the script's head.
# If the first argument is an option that this comment does not name, it says so, and ends the script
# with exit status 2. An option --NAME=VALUE becomes two words. A script whose comment has the word
# OPTION gets its options unchanged.

# usage: prints the comment block at the head of the calling script, without its first two lines
usage() {
	sed -n '3,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' "$0"
}

# usage_names WORD: whether that comment has the word
usage_names() {
	usage | tr -c 'A-Za-z0-9-' '\n' | grep -xF -e "$1" >/dev/null
}

case ${1-} in
-h | --help)
	usage | cat || exit 1	# busybox sed ignores write errors
	exit 0 ;;
-*)
	if ! usage_names OPTION; then
		usage_names "${1%%=*}" || { echo "${0##*/}: unknown option $1; see $0 --help" >&2; exit 2; }
		case $1 in
		--*=*)
			option=$1
			shift
			set -- "${option%%=*}" "${option#*=}" "$@" ;;
		esac
	fi ;;
esac
