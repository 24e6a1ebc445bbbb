# SPDX-License-Identifier: MIT
# Scripts that wait in a loop source this file for pause(), which starts no process. Starting a
# process such as sleep takes long on an emulated CPU, and takes CPU time from the emulator.

exec {nothing}<> <(:)	# a pipe that nobody writes to

# pause SECONDS: waits without starting a process
pause() {
	read -rt "$1" <&"$nothing" || true
}
