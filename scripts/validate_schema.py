#!/usr/bin/env python3
"""Validates JSON files against a JSON Schema with the jsonschema package (Debian: python3-jsonschema).

  scripts/validate_schema.py SCHEMA FILE...

Prints a line a file: `FILE: valid`, or `FILE: POINTER: what is wrong there`, of the deepest mistake. Exits with 0 where
all are valid, with 1 where some are not, and with 3 where the schema itself is none or the package is missing."""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("the Python package jsonschema is missing (Debian: python3-jsonschema)", file=sys.stderr)
    sys.exit(3)


def main():
    with open(sys.argv[1]) as file:
        schema = json.load(file)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        print(f"{sys.argv[1]} is no schema: {error.message}", file=sys.stderr)
        return 3
    validator = jsonschema.Draft202012Validator(schema)
    code = 0
    for name in sys.argv[2:]:
        with open(name) as file:
            instance = json.load(file)
        errors = sorted(validator.iter_errors(instance), key=lambda error: -len(error.absolute_path))
        if errors:
            code = 1
            pointer = "".join(f"/{part}" for part in errors[0].absolute_path)
            print(f"{name}: {pointer}: {errors[0].message[:300]}")
        else:
            print(f"{name}: valid")
    return code


if __name__ == "__main__":
    sys.exit(main())
