# SPDX-License-Identifier: MIT
# Every shell script sources help.sh at its start. If the argument is -h or --help, help.sh prints
# the comment at the script's head. If the first argument is an option that the head comment does
# not name, help.sh reports the option and ends the script with exit status 2. The file help.sh
# splits an option --NAME=VALUE into two words. A script whose head comment has the word OPTION
# parses all options itself: help.sh neither checks nor splits them.

# usage: prints the comment block at the head of the calling script, without its first two lines
usage() {
	local line count=0

	while IFS= read -r line; do
		count=$((count + 1))
		[ $count -gt 2 ] || continue
		case $line in
		'# '*) printf '%s\n' "${line#\# }" || return ;;
		'#'*) printf '%s\n' "${line#\#}" || return ;;
		*) return 0 ;;
		esac
	done <"$0"
}

# usage_names WORD: succeeds if the script's head comment has WORD
usage_names() {
	case " $(usage) " in
	*[!A-Za-z0-9-]"$1"[!A-Za-z0-9-]*) return 0 ;;
	esac
	return 1
}

case ${1-} in
-h | --help)
	usage || { echo "${0##*/}: the help could not be written" >&2; exit 1; }
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
