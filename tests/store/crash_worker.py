"""A process that forks children, each of which works on a collection until it is killed.

It reads lines of a number of operations that are done, and forks. The child tells what it
begins and what is done. So everything is imported once, not once a kill.
"""

import os
import sys
import tempfile
import traceback
from pathlib import Path

from plan import Plan, perform

import omhash
from things import create


def tell(text):
    os.write(1, f"{text}\n".encode())


def work(folder, n_done):
    plan = Plan()
    for _ in range(n_done):
        plan.next()
    with omhash.open(folder / "things") as things:
        while True:
            operation = plan.next()
            tell(f"begin {operation['number']}")
            perform(things, operation, folder)
            tell(f"done {operation['number']}")


def warm_up():
    """Load every kernel, which else each child would do for itself."""
    with tempfile.TemporaryDirectory() as folder, create(Path(folder) / "things") as things:
        plan = Plan()
        for _ in range(10):
            perform(things, plan.next(), Path(folder))


def main():
    folder = Path(sys.argv[1])
    warm_up()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                work(folder, int(line))
            except BaseException:
                tell("failed " + repr(traceback.format_exc()))
            finally:
                os._exit(1)
        tell(f"child {child}")
        os.waitpid(child, 0)
        tell("dead")


if __name__ == "__main__":
    main()
