"""Declarations of C++ as far as the style tests need them: functions with their lines, types with their data members.

No parser: the input is laid out by clang-format, and comments and literals are blank (style_test.strip_comments). What a macro
expands to is not seen.
"""
import re

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
ANNOTATION = re.compile(r"\bABSL_\w+\((?:[^()]|\([^()]*\))*\)|\bABSL_\w+|\[\[[^\]]*\]\]|\b(?:alignas|decltype)\s*\([^()]*\)")
ARGUMENTS = re.compile(r"(?<!operator)<[^<>;{}]*>")
LABELS = re.compile(r"\s*(?:(?:public|protected|private)\s*:(?!:)\s*)*")
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|[^\s\w(]+)")
POINTER_TO_FUNCTION = re.compile(r"\(\s*\*\s*(?:const\s+)?(\w+)\s*\)\s*\(")
SCOPE = re.compile(r"(?:inline\s+)?namespace\b|extern\s*$")
TYPE = re.compile(r"(?:template\s+)?(?:typedef\s+)?(?:class|struct|union|enum)\b[^()]*$")
ANONYMOUS = re.compile(r"(?:class|struct|union)")
INITIALIZERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
NO_MEMBER = re.compile(r"(?:using|friend|static_assert|typedef|template|enum)\b|(?:static|inline|constexpr)\s.*\bconst(?:expr)?\b|"
                       r"(?:class|struct|union)\s+\w+\s*$")


class Declaration:
    """`head`: its text without annotations, template arguments, initialisers and bodies. `body`: where it is, or None."""

    def __init__(self, kind, head, begin, end, body):
        self.kind, self.head, self.begin, self.end, self.body = kind, head, begin, end, body


def code_of(lines):
    """One text without directives; line numbers stay."""
    return DIRECTIVE.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), "\n".join(lines))


def counterpart(text, begin):
    """Where the brace at `begin` is closed."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def plain(head):
    head = ANNOTATION.sub("", head)
    before = None
    while before != head:
        before, head = head, ARGUMENTS.sub("", head)
    return LABELS.sub("", head, count=1).strip()


def is_function(head):
    return "(" in OPERATOR.sub("operator", head).split("=")[0] and not POINTER_TO_FUNCTION.search(head)


def declarations(text, begin, end):
    """Those between the two places, in order. Nested ones are in the body of a scope or type."""
    start = at = begin
    head, body, parentheses = "", None, 0
    while at < end:
        c = text[at]
        parentheses += {"(": 1, ")": -1}.get(c, 0)
        if c == "{":
            close, now = counterpart(text, at), plain(head)
            kind = None
            if parentheses == 0 and SCOPE.match(now):
                kind = "scope"
            elif parentheses == 0 and TYPE.match(now) and "=" not in now:
                head, body = "T", (now, at + 1, close)  # the names of members of that type may follow
            elif is_function(now) and parentheses == 0 and not (INITIALIZERS.search(now) and re.search(r"[\w>]$", now)):
                kind = "function"
            elif is_function(now):
                head += "()"  # an initialiser
            if kind is not None:
                yield Declaration(kind, now, start, close, (at + 1, close))
                head, start = "", close + 1
            at = close
        elif c == ";" and parentheses == 0:
            now = plain(head)
            if body is not None:
                yield Declaration("type", body[0], start, at, body[1:])
            if body is None or now != "T":
                yield Declaration("function" if is_function(now) else "data", now, start, at, None)
            head, body, start = "", None, at + 1
        elif head or not c.isspace():
            head += c
        else:
            start = at + 1
        at += 1


def functions(text, begin=0, end=None):
    """The functions that have a body, of classes as well."""
    for found in declarations(text, begin, len(text) if end is None else end):
        if found.kind == "function" and found.body is not None:
            yield found
        elif found.kind == "scope" or found.kind == "type" and not found.head.startswith("enum"):
            yield from functions(text, *found.body)


def members(text, body):
    """Names of the data members that the declarations of a type's body make. The members of an anonymous struct or union count
    in place of its own name: they are the type's."""
    names, anonymous = [], None
    for found in body:
        if found.kind == "type" and ANONYMOUS.fullmatch(found.head):
            names += members(text, declarations(text, *found.body))
            anonymous = found.begin
        if found.kind != "data" or NO_MEMBER.match(found.head) or found.begin == anonymous:
            continue
        pointer = POINTER_TO_FUNCTION.search(found.head)
        if pointer:
            names.append(pointer.group(1))
            continue
        for number, declarator in enumerate(re.sub(r"\[[^\]]*\]", "", found.head).split(",")):
            words = re.findall(r"\w+", re.split(r"=|(?<!:):(?!:)", declarator)[0])
            if len(words) > (number == 0):  # the type comes first
                names.append(words[-1])
    return names


def has_behaviour(name, body):
    """Whether a function of the type changes it."""
    unchanging = re.compile(rf"\)\s*const\b|\b(?:static|friend|operator)\b|=\s*(?:default|delete)\s*$|(?<!\w){name}\s*\(")
    return any(found.kind == "function" and not unchanging.search(found.head) for found in body)
