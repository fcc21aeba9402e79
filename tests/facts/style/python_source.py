"""Python sources as far as the style tests need them: the names that they define, and functions with their lines.

A name is defined by a function, class, parameter, assignment, loop, `with`, `as` or handler of an exception. A module that is
only imported and the attributes that are only read belong to others.
"""
import ast
import re

PROGRAM = re.compile(r"#!.*\bpython3?\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_python(path, lines):
    """Whether the file is Python, by the interpreter in its first line where the name has no extension."""
    return path.endswith(".py") or "." not in path.split("/")[-1] and PROGRAM.match(lines[0]) is not None


def name_of(node):
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler)):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.alias):
        return node.asname
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        return node.id if isinstance(node, ast.Name) else node.attr
    return None


def names(lines):
    """(line, name, whether it is that of a function), in the order of the lines."""
    found = [(node.lineno, name_of(node), isinstance(node, FUNCTIONS)) for node in ast.walk(ast.parse("\n".join(lines))) if name_of(node)]
    return sorted(found)


def functions(lines):
    """(first line, number of lines) of each, with its decorators."""
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, FUNCTIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, node.end_lineno - first + 1
