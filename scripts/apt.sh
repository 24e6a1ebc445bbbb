# SPDX-License-Identifier: MIT
# Downloading packages of Debian 12 with apt, under a configuration of its own in the cache:
# the machine's apt and packages stay as they are. Sourced after common.sh, never run.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
export APT_CONFIG=$cache/apt/apt.conf

# mirror FRAGMENT: the first address in the machine's apt sources that ends so
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed 's/#.*//' |
		grep -oE "https?://[^] ]*/$1/?( |\$)" | head -n 1 | tr -d ' '
}

write_apt_config() {
	local main security suite

	main=$(mirror debian) || main=http://deb.debian.org/debian
	security=$(mirror debian-security) || security=http://deb.debian.org/debian-security
	mkdir -p "$cache"/apt/{lists/partial,archives/partial,state}
	touch "$cache/apt/state/status"
	for suite in "$main bookworm" "$main bookworm-backports" "$security bookworm-security"; do
		echo "deb [arch=amd64 signed-by=$keyring] $suite main"
	done >"$cache/apt/sources.list"
	cat >"$cache/apt/apt.conf" <<-EOT
		Dir::State "$cache/apt/state";
		Dir::State::status "$cache/apt/state/status";
		Dir::State::lists "$cache/apt/lists";
		Dir::Cache "$cache/apt";
		Dir::Etc::sourcelist "$cache/apt/sources.list";
		Dir::Etc::sourceparts "-";
		APT::Architecture "amd64";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Retries "3";
	EOT
}

apt_update() {
	[ -z "${updated-}" ] || return 0
	write_apt_config
	say "reading the package lists of bookworm, its updates and its backports"
	apt-get -qq update >&2 || die "cannot read the package lists from $(cat "$APT_CONFIG")"
	updated=1
}
