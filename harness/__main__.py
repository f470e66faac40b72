"""``python -m harness`` is ``isoprobe``."""

from .cli import main

raise SystemExit(main())
