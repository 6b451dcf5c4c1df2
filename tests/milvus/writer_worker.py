"""A process that ingests rounds one after the other, until it is killed."""

import os
import sys

import omhash
from things import ingest


def main():
    with omhash.open(sys.argv[1], patience=30) as things:
        for number in range(int(sys.argv[2]), 1000):
            os.write(1, f"begin {number}\n".encode())
            ingest(things, number, 30, round_id=f"round {number}")
            os.write(1, f"done {number}\n".encode())


if __name__ == "__main__":
    main()
