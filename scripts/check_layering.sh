#!/usr/bin/env bash
# Checks every include of the source against scripts/rooms.txt: cmd -> {formats, runtime} -> core, the rooms
# within each module, and who may use which library.
#   scripts/check_layering.sh [FOLDER]      FOLDER: another checkout, for the test of this script
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

find core formats runtime cmd -name '*.h' -o -name '*.cpp' | sort |
  xargs grep -nE '^ *# *include *[<"]' |
  awk '
    function fail(text) { print text; failed = 1 }
    function reaches(module, other) { return module == other || ((module, other) in sees) }
    FILENAME == "scripts/rooms.txt" {
      if (/^#/ || NF == 0) next
      room = $1
      if (room !~ /:$/) {
        for (i = 2; i <= NF; i++) sees[room, $i] = 1
        next
      }
      sub(/:$/, "", room)
      if (room ~ /^</) {
        libraries[room] = 1
        for (i = 2; i <= NF; i++) users[room, i - 1] = $i
        next
      }
      for (i = 2; i <= NF; i++) {
        if (!($i in rooms)) fail(FILENAME ":" FNR ": " room " may not include " $i ", which has no row above it")
        allowed[room, $i] = 1
      }
      rooms[room] = NF > 1 ? substr($0, length($1) + 2) : "no other room of its module"
      next
    }
    {
      match($0, /^[^:]*:[0-9]*:/)
      place = substr($0, 1, RLENGTH - 1)
      file = place
      sub(/:[0-9]*$/, "", file)
      folder = file
      sub(/\/[^\/]*$/, "", folder)
      module = file
      sub(/\/.*/, "", module)
      included = $0
      sub(/^[^<"]*/, "", included)
      is_test = file ~ /_test\.cpp$/ || file ~ /\/(tests|testing|benchmarks)\//

      for (library in libraries) {
        if (is_test || index(included, library) != 1) continue
        found = 0
        for (i = 1; (library, i) in users; i++)
          if (index(file, users[library, i]) == 1) found = 1
        if (!found) fail(place ": only " users_of(library) " may include " library)
      }
      if (included !~ /^"(core|formats|runtime|cmd)\//) next
      gsub(/"/, "", included)
      sub(/[ \t].*/, "", included)
      other_module = included
      sub(/\/.*/, "", other_module)
      if (!reaches(module, other_module)) fail(place ": " module "/ may not include " included)
      if (is_test) next
      if (included ~ /\/(tests|testing|benchmarks)\//) fail(place ": the program may not include test code, " included)
      if (!(folder in rooms)) { if (!told[folder]++) fail(place ": " folder "/ has no row in scripts/rooms.txt"); next }
      if (module != other_module) next
      other = included
      sub(/\/[^\/]*$/, "", other)
      if (other != folder && !((folder, other) in allowed))
        fail(place ": " folder "/ may not include " included " (scripts/rooms.txt allows it " rooms[folder] ")")
    }
    function users_of(library,   text, i) {
      for (i = 1; (library, i) in users; i++) text = text (i > 1 ? " and " : "") users[library, i]
      return text
    }
    END { exit failed }
  ' scripts/rooms.txt -
echo "layering holds"
