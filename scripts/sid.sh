# SPDX-License-Identifier: MIT
# Unpacks packages of the Debian release $suite (default sid) with all dependencies, libc included,
# to a folder of the cache. The unpacked folder is a root file system, whose programs run with the
# folder's own loader and libraries. Scripts source sid.sh after common.sh and apt.sh, and do not
# run sid.sh as a program.

suite=sid

# write_sid_config FOLDER: writes a configuration of apt for the suite, in which no package is
# installed
write_sid_config() {
	local main

	main=$(mirror debian) || main=http://deb.debian.org/debian
	mkdir -p "$1"/{lists/partial,archives/partial,state}
	: >"$1/state/status"
	echo "deb [arch=$machine_arch signed-by=$keyring] $main $suite main" >"$1/sources.list"
	write_apt_conf "$1"
}

# on_sid FOLDER COMMAND...: runs a command of apt with the configuration and the package lists in
# FOLDER
on_sid() {
	local config=$1/apt.conf

	shift
	APT_CONFIG=$config "$@"
}

# open_sid FOLDER: downloads the suite's package lists to FOLDER
open_sid() {
	write_sid_config "$1"
	on_sid "$1" apt-get -qq update >&2 || die "cannot read the package lists of $suite"
}

# open_new FOLDER: makes a folder FOLDER.new that has only the package lists of the suite
open_new() {
	rm -rf "$1.new"
	open_sid "$1.new/apt"
}

# close_new FOLDER: unpacks the downloaded packages in FOLDER.new, and renames FOLDER.new to FOLDER
close_new() {
	local deb

	for deb in "$1.new"/apt/archives/*.deb; do
		dpkg-deb -x "$deb" "$1.new"
	done
	rm -r "$1.new/apt"
	rm -rf "$1"
	mv "$1.new" "$1"
}

# fetch_sid FOLDER PACKAGE...: downloads the packages and their dependencies, and unpacks them to
# FOLDER
fetch_sid() {
	local final=$1

	shift
	open_new "$final"
	say "downloading $* of $suite"
	on_sid "$final.new/apt" apt-get -qq -y --download-only --no-install-recommends \
		install "$@" libc6 >&2 || die "cannot download $*"
	close_new "$final"
}

# fetch_sid_only FOLDER PACKAGE...: downloads the packages without dependencies, and unpacks them to
# FOLDER
fetch_sid_only() {
	local final=$1

	shift
	open_new "$final"
	say "downloading $* of $suite"
	(cd "$final.new/apt/archives" && on_sid "$final.new/apt" apt-get -qq download "$@" >&2) || die "cannot download $*"
	close_new "$final"
}
