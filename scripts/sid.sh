# SPDX-License-Identifier: MIT
# Unpacking packages of Debian sid, with all that they need, libc too, to a folder of the cache:
# a file system whose programs and libraries its own loader runs. Sourced after common.sh and
# apt.sh, never run.

# write_sid_config FOLDER: apt's configuration for sid, for a machine that has no package
write_sid_config() {
	local main

	main=$(mirror debian) || main=http://deb.debian.org/debian
	mkdir -p "$1"/{lists/partial,archives/partial,state}
	: >"$1/state/status"
	echo "deb [arch=amd64 signed-by=$keyring] $main sid main" >"$1/sources.list"
	write_apt_conf "$1"
}

# fetch_sid FOLDER PACKAGE...: unpacks the packages and what they depend on to FOLDER
fetch_sid() {
	local final=$1 new=$1.new deb

	shift
	rm -rf "$new"
	write_sid_config "$new/apt"
	say "downloading $* of sid"
	APT_CONFIG=$new/apt/apt.conf apt-get -qq update >&2 || die "cannot read sid's package lists"
	APT_CONFIG=$new/apt/apt.conf apt-get -qq -y --download-only --no-install-recommends \
		install "$@" libc6 >&2 || die "cannot download $*"
	for deb in "$new"/apt/archives/*.deb; do
		dpkg-deb -x "$deb" "$new"
	done
	rm -r "$new/apt"
	rm -rf "$final"
	mv "$new" "$final"
}
