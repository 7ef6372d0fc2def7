#!/usr/bin/env python3
"""Checks the sizes that core/README.md allows in the program's source.

  scripts/check_rules.py [FOLDER]      FOLDER: another checkout, for the test of this script

Functions have at most 50 lines and 5 parameters, classes 15 data members, lines of code and comments 120 columns,
files 600 lines. The lines of raw strings in functions are texts rather than code, and not counted. Tests are free. scripts/rule_exceptions.txt lists what
was larger when the rule came, with its size. Each entry must be exactly as large as the source: what grows fails, and
what shrinks must be lowered in the list or leave it.
"""
import pathlib
import re
import sys
from collections import namedtuple

LIMITS = {"lines": 50, "parameters": 5, "members": 15, "columns": 120, "length": 600}
FOLDERS = ("core", "formats", "runtime", "cmd")
EXCEPTIONS = "scripts/rule_exceptions.txt"

Token = namedtuple("Token", "text line")
# `name` is the function, the class or, of lines that are too wide, the number of the line.
Finding = namedtuple("Finding", "rule name size line")

LITERAL = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>\bR"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")'
    r'|(?P<text>"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\')'
    r'|(?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)',
    re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d(?:[\w.']|[eEpP][+-])*|::|->|\.\.\.|[^\s\w]")
OPENING, CLOSING = {"(": ")", "{": "}", "[": "]"}, {")", "}", "]"}
NO_NAMES = {"alignas", "decltype", "noexcept", "requires", "explicit", "__attribute__", "__declspec", "throw"}
NO_MEMBERS = {"using", "typedef", "friend", "static", "static_assert", "template", "enum", "extern"}


def without_literals(source):
    """Comments and directives become empty, texts `""`; all newlines stay."""
    def kept(match):
        newlines = "\n" * match.group(0).count("\n")
        return ('""' if match.group("raw") or match.group("text") else " ") + newlines
    return LITERAL.sub(kept, source)


def tokens_of(source):
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(without_literals(source)):
        line += match.string.count("\n", at, match.start())
        at = match.start()
        found.append(Token(match.group(0), line))
    return found


def closing(tokens, start):
    """The position of the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i].text in OPENING) - (tokens[i].text in CLOSING)
        if depth == 0:
            return i
    return len(tokens) - 1


def outside(tokens):
    """The positions of the tokens in a declaration that no bracket encloses, not even one of templates."""
    found, angles, i = [], 0, 0
    while i < len(tokens):
        text, before = tokens[i].text, tokens[i - 1].text if i else ""
        if text == "<" and before != "operator" and before != "<" and re.match(r"[A-Za-z_]", before):
            angles += 1
        elif text == ">" and angles:
            angles -= 1
        else:
            if not angles:
                found.append(i)
            if text in OPENING:
                i = closing(tokens, i)
                if not angles:
                    found.append(i)
        i += 1
    return found


def commas(tokens):
    return sum(tokens[i].text == "," for i in outside(tokens))


def parameter_list(head):
    """The positions of the brackets of a function's parameters, or nothing if `head` declares no function."""
    places = outside(head)
    for n, i in enumerate(places):
        text, before = head[i].text, head[i - 1].text if i else ""
        if text == "=" and before != "operator" and (i < 2 or head[i - 2].text != "operator"):
            return None
        if text != "(" or before in NO_NAMES:
            continue
        if before == "operator":  # operator()
            continue
        named = re.match(r"[A-Za-z_]", before) or before == ">"
        if named or any(token.text == "operator" for token in head[max(0, i - 4):i]):
            return i, closing(head, i)
    return None


def name_of(head, bracket):
    first = bracket - 1
    if any(token.text == "operator" for token in head[max(0, bracket - 4):bracket]):
        while head[first].text != "operator":
            first -= 1
    if first and head[first - 1].text == "~":
        first -= 1
    while first >= 2 and head[first - 1].text == "::" and re.match(r"\w", head[first - 2].text):
        first -= 2
    return "".join(token.text for token in head[first:bracket])


def class_name(head):
    """The name of the class whose body follows `head`, or nothing."""
    words = [head[i].text for i in outside(head)]
    for keyword in ("struct", "class", "union"):
        if keyword in words and "enum" not in words and parameter_list(head) is None and "=" not in words:
            rest = [word for word in words[words.index(keyword) + 1:] if re.match(r"[A-Za-z_]", word)]
            return next((word for word in rest if word not in NO_NAMES), "(unnamed)")
    return None


class Checker:
    def __init__(self, source):
        self.tokens, self.texts, self.findings = tokens_of(source), raw_lines(source), []
        self.scope(0, len(self.tokens))

    def add(self, rule, name, size, line):
        if size > LIMITS[rule]:
            self.findings.append(Finding(rule, name, size, line))

    def scope(self, start, end):
        """Looks at the declarations of a namespace or class; returns the number of data members."""
        members, first, i = 0, start, start
        while i < end:
            text = self.tokens[i].text
            head = self.tokens[first:i]
            if text in ("(", "["):
                i = closing(self.tokens, i)
            elif text == ";":
                members += self.members(head)
                first = i + 1
            elif text == ":" and len(head) == 1 and head[0].text in ("public", "private", "protected"):
                first = i + 1
            elif text == "{":
                last = closing(self.tokens, i)
                if self.braces(head, i, last):
                    first = last + 1
                i = last
            i += 1
        return members

    def braces(self, head, start, last):
        """Looks at braces after `head`; returns whether a declaration ends with them."""
        words = {token.text for token in head}
        if words & {"namespace", "extern"} and "(" not in words and "=" not in words:
            self.scope(start + 1, last)
            return True
        brackets = parameter_list(head)
        if brackets:
            after = [token.text for token in head[brackets[1] + 1:]]
            if ":" in after and re.match(r"[A-Za-z_>]", after[-1]):
                return False  # the initial value of a member, in front of a constructor's body
            self.function(head, brackets, last)
            return True
        name = class_name(head)
        if name:
            self.add("members", name, self.scope(start + 1, last), head[0].line)
        return False  # a class or an initial value ends with a semicolon

    def function(self, head, brackets, last):
        name = name_of(head, brackets[0])
        lines = set(range(head[0].line, self.tokens[last].line + 1)) - self.texts
        self.add("lines", name, len(lines), head[0].line)
        inside = head[brackets[0] + 1:brackets[1]]
        if inside and [token.text for token in inside] != ["void"]:
            self.add("parameters", name, commas(inside) + 1, head[0].line)

    def members(self, head):
        """The number of data members that a declaration has."""
        words = [head[i].text for i in outside(head)]
        if not words or words[0] in NO_MEMBERS or "static" in words or parameter_list(head):
            return 0
        is_type = class_name(head) is not None
        if is_type and "{" not in words:
            return int(len(words) > 2)  # `struct Name;` or `struct Name member;`
        if is_type:
            return int(words[-1] != "}")
        return commas(head) + 1


def raw_lines(source):
    """The numbers of the lines that raw strings touch."""
    found = set()
    for match in LITERAL.finditer(source):
        if match.group("raw"):
            first = source.count("\n", 0, match.start()) + 1
            found.update(range(first, first + match.group(0).count("\n") + 1))
    return found


def wide_lines(source):
    texts = raw_lines(source)
    for number, line in enumerate(source.split("\n"), 1):
        if len(line) > LIMITS["columns"] and number not in texts:
            yield Finding("columns", str(number), len(line), number)


def findings_of(source):
    findings = Checker(source).findings + list(wide_lines(source))
    length = source.count("\n")
    return findings + ([Finding("length", "file", length, length)] if length > LIMITS["length"] else [])


def production_files(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if path.suffix in (".cpp", ".h") and not path.name.endswith("_test.cpp") \
                    and not {"tests", "testing", "benchmarks"} & set(parts):
                yield path


def read_exceptions(path):
    """The entries `RULE FILE NAME SIZE` with the numbers of their lines."""
    entries = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line and not line.startswith("#"):
            rule, file, name, size = line.split(" ")
            entries.append((rule, file, name, int(size), number))
    return entries


def problems(found, entries):
    """What is wrong with the findings, a list of (file, Finding), given the exceptions."""
    texts, left = [], list(entries)
    for file, finding in found:
        same = [entry for entry in left if entry[:3] == (finding.rule, file, finding.name)]
        exact = [entry for entry in same if entry[3] == finding.size]
        what = {"columns": "the line", "length": "the file"}.get(finding.rule, finding.name)
        told = f"{file}:{finding.line}: {what} has {finding.size} {finding.rule.replace('length', 'lines')}"
        if exact:
            left.remove(exact[0])
        elif same:
            left.remove(same[0])
            advice = "lower it there" if finding.size < same[0][3] else "make it smaller"
            texts.append(f"{told}, and {EXCEPTIONS} says {same[0][3]} ({advice})")
        else:
            texts.append(f"{told}, more than {LIMITS[finding.rule]}")
    for rule, file, name, _, number in left:
        texts.append(f"{EXCEPTIONS}:{number}: {name} in {file} keeps the rule of {rule} (remove this entry)")
    return texts


def main(root):
    found = [(path.relative_to(root).as_posix(), finding)
             for path in production_files(root) for finding in findings_of(path.read_text())]
    texts = problems(found, read_exceptions(root / EXCEPTIONS))
    print("\n".join(texts) or "sizes hold")
    return int(bool(texts))


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()))
