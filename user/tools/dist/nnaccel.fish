# SPDX-License-Identifier: MIT
# Completes commands and options in fish, from the text of the commands' --help.

function __nnaccel_commands
    nnaccel --help 2>/dev/null | string replace -rf '^  ([a-z][a-z-]*) +(.*)$' '$1\t$2'
end

function __nnaccel_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    contains -- $words[2] (__nnaccel_commands | string split -f 1 \t); or return
    nnaccel $words[2] --help 2>/dev/null | string replace -rf '^  (--[a-z-]+)(?: [A-Zx]+)? +(.*)$' '$1\t$2'
end

complete -c nnaccel -f
complete -c nnaccel -n 'test (count (commandline -opc)) -eq 1' -a '(__nnaccel_commands)'
complete -c nnaccel -n 'test (count (commandline -opc)) -eq 1' -a '--help --version'
complete -c nnaccel -n 'test (count (commandline -opc)) -ge 2' -a '(__nnaccel_options)'
complete -c nnaccel -n 'string match -qr -- "--(device|state|png|video|runtime|plot|in-process|save|run)" (commandline -opc)[-1]' -F
complete -c nnaccel -n 'string match -qr "^(run|explain|bench)\$" -- (commandline -opc)[2]' -F
