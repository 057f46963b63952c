"""The standard operators of mutation testing, on syntax trees.

Comparisons at equality and negated, + and -, * and /, and/or, integers one up or down,
floats doubled or halved, `not` and minus removed, conditions negated, early returns
never taken. Text, annotations, defaults and assertions stay as they are.
"""

import ast
from collections.abc import Iterator

# Operators, by their names in `ast`, and what is put in their place.
SWAPS = {
    **{"Lt": "LtE GtE", "LtE": "Lt Gt", "Gt": "GtE LtE", "GtE": "Gt Lt"},
    **{"Eq": "NotEq", "NotEq": "Eq", "Is": "IsNot", "IsNot": "Is", "In": "NotIn"},
    **{"NotIn": "In", "Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult"},
    **{"Pow": "Mult", "FloorDiv": "Div", "Mod": "Mult", "BitAnd": "BitOr"},
    **{"BitOr": "BitAnd", "And": "Or", "Or": "And"},
}


def replacements_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is put in the place of an operator, a number or a negation."""
    for name in SWAPS.get(type(node).__name__, "").split():
        yield getattr(ast, name)()
    match node:
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(float(value)):
            scaled = (2 * value, 0.5 * value) if value else (1.0, -1.0)
            yield from map(ast.Constant, scaled)


def changes_of(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield (node, field, place in the field or None, new value)."""
    is_strict = isinstance(node, ast.keyword) and node.arg == "strict"
    if is_strict or isinstance(node, ast.JoinedStr | ast.Assert | ast.arguments):
        return
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
        yield node, "test", None, ast.Constant(False)
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield node, "test", None, ast.UnaryOp(ast.Not(), node.test)
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for k, child in enumerate(children):
            unchanged = field in ("annotation", "returns", "decorator_list")
            if isinstance(child, ast.AST) and not unchanged:
                for new in replacements_of(child):
                    yield node, field, k if children is value else None, new
                yield from changes_of(child)
