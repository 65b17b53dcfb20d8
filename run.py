"""One entry: sets NanoClaw up on first use, then serves, tests, chats (see `python3 run.py --help`)."""

import sys

if sys.version_info < (3, 11):  # said in words that every old Python can read
    sys.stderr.write(
        "NanoClaw needs Python 3.11 or newer; this is Python %d.%d.\n"
        "Install a newer one (https://www.python.org/downloads/, or `apt install python3` on a current Debian)\n"
        "and start again with it, for example: python3.12 run.py\n" % sys.version_info[:2]
    )
    sys.exit(1)

from backend.bootstrap.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
