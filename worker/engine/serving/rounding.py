"""Matrix products on a CPU with results that do not depend on the batch size.

On x86, torch multiplies with oneMKL, which picks a kernel by the number of rows. On some processors, kernels for up to
eight rows add in another order than the others. This was measured on one with AVX-512 and AMX. Scores of a request
then depend on the batch, and rarely a code differs.

The strict mode of oneMKL keeps one order. It slows the small voice by a tenth when one request runs. From sixteen rows
on it costs nothing. Source: "Conditional Numerical Reproducibility" in the developer guide of oneMKL. Other libraries
ignore the variable; there, only the padding to four rows helps (`cpu/runner.py`).
"""

from __future__ import annotations

import os

_MODE = "MKL_CBWR"


def round_rows_alike() -> None:
    """Set the strict mode for this process and its children, unless the operator set one.

    Call it before the first product, because the library reads the mode once.
    """
    os.environ.setdefault(_MODE, "AUTO,STRICT")
