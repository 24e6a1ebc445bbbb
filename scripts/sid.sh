# SPDX-License-Identifier: MIT
# Unpacking packages of another Debian, sid where $suite names none, with all that they need, libc
# too, to a folder of the cache: a file system whose programs and libraries its own loader runs.
# Sourced after common.sh and apt.sh, never run.

suite=sid

# write_sid_config FOLDER: apt's configuration for the suite, for a machine that has no package
write_sid_config() {
	local main

	main=$(mirror debian) || main=http://deb.debian.org/debian
	mkdir -p "$1"/{lists/partial,archives/partial,state}
	: >"$1/state/status"
	echo "deb [arch=$machine_arch signed-by=$keyring] $main $suite main" >"$1/sources.list"
	write_apt_conf "$1"
}

# on_sid FOLDER COMMAND...: apt with the configuration and the lists that are in the folder
on_sid() {
	local config=$1/apt.conf

	shift
	APT_CONFIG=$config "$@"
}

# open_sid FOLDER: reads the suite's package lists to it
open_sid() {
	write_sid_config "$1"
	on_sid "$1" apt-get -qq update >&2 || die "cannot read the package lists of $suite"
}

# fetch_sid FOLDER PACKAGE...: unpacks the packages and what they depend on to FOLDER
fetch_sid() {
	local final=$1 new=$1.new deb

	shift
	rm -rf "$new"
	open_sid "$new/apt"
	say "downloading $* of $suite"
	on_sid "$new/apt" apt-get -qq -y --download-only --no-install-recommends \
		install "$@" libc6 >&2 || die "cannot download $*"
	for deb in "$new"/apt/archives/*.deb; do
		dpkg-deb -x "$deb" "$new"
	done
	rm -r "$new/apt"
	rm -rf "$final"
	mv "$new" "$final"
}
