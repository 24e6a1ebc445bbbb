# SPDX-License-Identifier: MIT
"""The help of scripts in Python."""

import os
import sys


def show(text, is_wanted=True):
    """Prints the help and ends the script. Exit status: 0; 1 if it could not be written; 2 if a wrong
    command line is the reason, and the help goes to standard error."""
    try:
        print(text.strip(), file=sys.stdout if is_wanted else sys.stderr, flush=True)
    except OSError as error:
        # Redirect standard output to /dev/null, because at exit Python flushes it again and would
        # change the exit status to 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f'{os.path.basename(sys.argv[0])}: the help could not be written: {error.strerror}')
    sys.exit(0 if is_wanted else 2)
