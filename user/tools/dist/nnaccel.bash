# SPDX-License-Identifier: MIT
# Completes commands and options of nnaccel and nnacceld in bash, from the text of their --help.

# Reads a help text, and prints the options in it, as a user types them.
_nnaccel_options() {
	sed -nE 's/^  ((--[a-z-]+(, )?)+).*/\1/p' | sed 's/, / /g'
}

_nnaccel_help() {
	local commands

	commands=$("$1" --help 2>/dev/null | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p')
	if [ "$COMP_CWORD" -eq 1 ]; then
		echo "$commands" --help --version
	elif grep -qx -- "${COMP_WORDS[1]}" <<<"$commands"; then
		"$1" "${COMP_WORDS[1]}" --help 2>/dev/null | _nnaccel_options
		"$1" "${COMP_WORDS[1]}" --help 2>/dev/null |
			sed -nE '1s/.*\[([a-z]+\|[a-z|]+)\].*/\1/p' | tr '|' ' '
	fi
}

_nnaccel() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}

	case $before in
	--device | --state | --png | --video | --runtime | --plot | --in-process | --save | --run) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$(_nnaccel_help "$1")" -- "$word") ;;
	esac
	# The arguments of `run`, `explain` and `bench` are a model's file, or a program and its arguments.
	case ${COMP_WORDS[1]} in
	run | explain | bench) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word") ;;
	esac
}

_nnacceld() {
	mapfile -t COMPREPLY < <(compgen -W "$("$1" --help 2>/dev/null | _nnaccel_options)" \
		-- "${COMP_WORDS[COMP_CWORD]}")
}

complete -F _nnaccel nnaccel
complete -F _nnacceld nnacceld
