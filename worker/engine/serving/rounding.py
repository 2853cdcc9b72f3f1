"""Matrix products on a CPU whose rows do not depend on how many there are.

The library behind torch's products on x86 (oneMKL) picks a kernel by the number of rows. On some processors (seen on
one with AVX-512 and AMX) those for up to eight rows add in another order than those for more: a request then has other
scores alone than in company, and once in a while another code. Its strict mode keeps one order for any number of rows;
there the small voice alone pays a tenth of its speed, and from sixteen rows on a product costs what it did.
Source: "Conditional Numerical Reproducibility" in the developer guide of oneMKL. Where torch has another library the
name is not read, and the engine's padding to four rows has to do (`cpu/runner.py`).
"""

from __future__ import annotations

import os

_MODE = "MKL_CBWR"


def round_rows_alike() -> None:
    """For this process and those it starts. Before its first product: the library reads the mode once.

    A mode that the operator has set stays.
    """
    os.environ.setdefault(_MODE, "AUTO,STRICT")
