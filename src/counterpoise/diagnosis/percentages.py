"""Shares as percentages, and large numbers, without powers of ten."""

# Less than this away from nothing or from all is rounding.
_ROUNDING = 1e-9


def percentage(share: float) -> str:
    """Return a share as a percentage, in two or three figures and never as a power.

    What is not all, or not nothing, does not look like it; what rounding leaves of
    either does.

    Examples
    --------
    >>> percentage(0.1234), percentage(0.0001), percentage(0.9999), percentage(12.0)
    ('12.3 %', '< 0.1 %', '> 99.9 %', '1,200 %')
    >>> percentage(-2.2e-16), percentage(1 + 2.2e-16), percentage(-0.04)
    ('0 %', '100 %', '-4 %')
    """
    size = abs(share)
    if size < _ROUNDING:
        return "0 %"
    if abs(size - 1) < _ROUNDING:
        return "100 %" if share > 0 else "-100 %"
    if size < 0.001:
        return "< 0.1 %" if share > 0 else "> -0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    if size >= 9.995:
        return f"{100 * share:,.0f} %"
    return f"{100 * share:.3g} %" if size >= 0.1 else f"{100 * share:.2g} %"


def in_figures(value: float, digits: int) -> str:
    """Return a number in so many figures, whole and never as a power where it is large.

    Examples
    --------
    >>> in_figures(391.2, 2), in_figures(0.01234, 2), in_figures(12345.6, 4)
    ('391', '0.012', '12,346')
    """
    if 10 ** (digits - 1) <= abs(value) < 1e9:
        return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return f"{value:.{digits}g}"


def points(share: float) -> str:
    """Return a difference of shares in points, with its sign and one decimal.

    Examples
    --------
    >>> points(0.1234), points(-1e-17), points(1.0)
    ('+12.3', '0', '+100')
    """
    said = f"{100 * share:+.1f}".removesuffix(".0")
    return "0" if said in ("+0", "-0") else said
