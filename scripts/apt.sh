# SPDX-License-Identifier: MIT
# Downloads packages of Debian 12 with apt, whose separate configuration is in the cache. The
# machine's own apt and packages do not change. Scripts source apt.sh after common.sh, and never run
# apt.sh.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
export APT_CONFIG

# for_arch ARCHITECTURE: makes later downloads get packages of ARCHITECTURE
for_arch() {
	apt_arch=$1 updated=''
	apt_folder=$cache/apt
	[ "$1" = "$machine_arch" ] || apt_folder=$cache/apt-$1
	APT_CONFIG=$apt_folder/apt.conf
}

for_arch "$machine_arch"

# mirror FRAGMENT: prints the first address in the machine's apt sources that ends with FRAGMENT
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed 's/#.*//' |
		grep -oE "https?://[^] ]*/$1/?( |\$)" | head -n 1 | tr -d ' '
}

# write_apt_conf FOLDER [ARCHITECTURE]: writes a configuration of apt that keeps apt's state in
# FOLDER
write_apt_conf() {
	cat >"$1/apt.conf" <<-EOT
		Dir::State "$1/state";
		Dir::State::status "$1/state/status";
		Dir::State::lists "$1/lists";
		Dir::Cache "$1";
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "-";
		APT::Architecture "${2:-$machine_arch}";
		APT::Architectures { "${2:-$machine_arch}"; };
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Retries "3";
	EOT
}

write_apt_config() {
	local main security suite

	main=$(mirror debian) || main=http://deb.debian.org/debian
	security=$(mirror debian-security) || security=http://deb.debian.org/debian-security
	mkdir -p "$apt_folder"/{lists/partial,archives/partial,state}
	touch "$apt_folder/state/status"
	for suite in "$main bookworm" "$main bookworm-backports" "$security bookworm-security"; do
		echo "deb [arch=$apt_arch signed-by=$keyring] $suite main"
	done >"$apt_folder/sources.list"
	write_apt_conf "$apt_folder" "$apt_arch"
}

apt_update() {
	[ -z "${updated-}" ] || return 0
	write_apt_config
	say "reading the package lists of bookworm, its updates and its backports"
	apt-get -qq update >&2 || die "cannot read the package lists from $(cat "$APT_CONFIG")"
	updated=1
}
