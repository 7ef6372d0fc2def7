#!/usr/bin/env python3
"""Tests scripts/check_rules.py on small samples, and then checks this checkout with it."""
import pathlib
import sys

sys.dont_write_bytecode = True
import check_rules
from check_rules import Finding

FAILED = []


def expect(name, found, expected):
    if found != expected:
        FAILED.append(name)
        print(f"{name}: found {found}, expected {expected}")


def sizes(source):
    """All sizes of functions and classes, as {name: {rule: size}}."""
    sizes_by_name = {}
    for finding in check_rules.findings_of(source):
        sizes_by_name.setdefault(finding.name, {})[finding.rule] = finding.size
    return sizes_by_name


def test_sizes():
    check_rules.LIMITS.update(lines=0, parameters=0, members=0)
    cases = {
        "int f() { return 1; }": {"f": {"lines": 1}},
        "void A::f(int a, std::map<int, B> b = {1, 2}) const\n{\n}": {"A::f": {"lines": 3, "parameters": 2}},
        "// } {\nint f(int) {\n  g(\"}\", '{', 1'000, '\\'');\n}": {"f": {"lines": 3, "parameters": 1}},
        "const char* text() {\n  return R\"(\n}{\n)\";\n}": {"text": {"lines": 2}},
        "#define M(a) { \\\n  {\nnamespace a::b {\nvoid f(void) {}\n}": {"f": {"lines": 1}},
        "A::A(int x) : a_{x}, b_(x) {\n}": {"A::A": {"lines": 2, "parameters": 1}},
        "A::A() : a_{1} {}": {"A::A": {"lines": 1}},
        "A::~A() {}": {"A::~A": {"lines": 1}},
        "bool operator<(A a, A b) { return a.x < b.x; }": {"operator<": {"lines": 1, "parameters": 2}},
        "bool A::operator==(const A& b) const { return x == b.x; }":
            {"A::operator==": {"lines": 1, "parameters": 1}},
        "A& operator=(A a) { }": {"operator=": {"lines": 1, "parameters": 1}},
        "int operator()(int a) { }": {"operator()": {"lines": 1, "parameters": 1}},
        "template <class T, typename... U>\nauto f(T t, U... u) -> std::pair<T, int> {\n}":
            {"f": {"lines": 3, "parameters": 2}},
        "alignas(64) void f() noexcept(true) { }": {"f": {"lines": 1}},
        "std::function<int(int)> f = [](int a) { return a; };\nint a[] = {1, 2};\nint b{f(3)};": {},
        "enum class E { a, b };\nextern \"C\" {\nint f();\n}": {},
        "struct A;\nstruct A { int a, b = 1; std::function<void(int, int)> c; B d{1, 2}; };":
            {"A": {"members": 4}},
        "class A : public B<int> {\n public:\n  int f() const;\n  A(int a);\n  A(const A&) = delete;\n"
        "  static int a;\n  using X = int;\n  friend class C;\n  enum K { x, y };\n  std::map<int, int> b;\n"
        "  bool operator==(const A&) const = default;\n private:\n  struct B { int a; };\n  B c_;\n  C* d_ = nullptr;\n"
        "  int e_[3] = {1, 2, 3};\n  template <typename T> void g(T t);\n  int h() { return 1; }\n};":
            {"B": {"members": 1}, "h": {"lines": 1}, "A": {"members": 4}},
        "struct { int a; } b;": {"(unnamed)": {"members": 1}},
        "struct A { struct { int a, b; } c; enum { x } d; };": {"(unnamed)": {"members": 2}, "A": {"members": 1}},
        "void f() {\n  struct A { int a; };\n  auto g = [&](int a, int b) {};\n}": {"f": {"lines": 4}},
    }
    for source, expected in cases.items():
        expect(source, sizes(source), expected)


def test_lines():
    check_rules.LIMITS.update(columns=10)
    source = "int a;  // 456789\nR\"(\n0123456789abc)\"\n0123456789\n// ·······789\n// 34567890a\n"
    expect("wide lines", list(check_rules.wide_lines(source)),
           [Finding("columns", "1", 17, 1), Finding("columns", "5", 13, 5), Finding("columns", "6", 12, 6)])


def test_length():
    check_rules.LIMITS.update(length=2)
    expect("length", check_rules.findings_of("\n\n\n"), [Finding("length", "file", 3, 3)])
    expect("short", check_rules.findings_of("\n\n"), [])


def test_exceptions():
    check_rules.LIMITS.update(lines=50)
    found = [("a.cpp", Finding("lines", "f", size, 7)) for size in (60, 70)]
    def told(*entries):
        return check_rules.problems(found, [("lines", "a.cpp", *entry, 3) for entry in entries])
    expect("exact", told(("f", 60), ("f", 70)), [])
    expect("new", told(("f", 60)), ["a.cpp:7: f has 70 lines, more than 50"])
    where = "and scripts/rule_exceptions.txt says"
    expect("grown", told(("f", 60), ("f", 65)), [f"a.cpp:7: f has 70 lines, {where} 65 (make it smaller)"])
    expect("smaller", told(("f", 60), ("f", 75)), [f"a.cpp:7: f has 70 lines, {where} 75 (lower it there)"])
    expect("kept", told(("f", 60), ("f", 70), ("g", 51)),
           ["scripts/rule_exceptions.txt:3: g in a.cpp keeps the rule of lines (remove this entry)"])


usual = dict(check_rules.LIMITS)
for test in (test_sizes, test_lines, test_length, test_exceptions):
    test()
    check_rules.LIMITS.update(usual)
checked = check_rules.main(pathlib.Path(__file__).resolve().parent.parent)
sys.exit(int(bool(FAILED)) or checked)
