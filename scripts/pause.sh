# SPDX-License-Identifier: MIT
# Scripts that poll source pause.sh. A process such as sleep takes long to start on an emulated CPU, and
# takes the CPU from the emulator.

exec {nothing}<> <(:)	# a pipe that nobody writes to

# pause SECONDS: waits without starting a process
pause() {
	read -rt "$1" <&"$nothing" || true
}
