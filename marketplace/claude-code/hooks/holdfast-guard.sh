# Made by `holdfast install`; `holdfast uninstall` takes it out again.
#
# Runs its arguments before Claude Code compacts, for at most 55 seconds. Exit 0 lets Claude Code compact; every failure
# becomes exit 2, which blocks on every version. Claude Code 2.1.197 compacts when its own time-out ends a hook.
# holdfast exits with status 10 to allow a compaction. Status 0 comes from another program, or from an early exit.
without='run `claude plugin uninstall holdfast`'
repair="Install it with \`pip install holdfast-memory\`"
if found=$(command -v holdfast-memory) && [ "$found" != "$1" ] && [ "$1" != holdfast-memory ]; then
    repair="$found is still here: run \`$found install claude-code --scope user\`"
fi
if ! command -v "$1" >/dev/null 2>&1; then
    echo "holdfast keeps the context: the program '$1' is not installed here, or not on Claude Code's PATH. $repair, then compact again. To work without holdfast, $without." >&2
    exit 2
fi
if command -v timeout >/dev/null 2>&1; then
    set -- timeout -s KILL 55 "$@"
elif command -v perl >/dev/null 2>&1; then
    set -- perl -e 'alarm 55; exec @ARGV; exit 127' "$@" # macOS has no timeout
fi
"$@" --allow 10
status=$?
case $status in
10) exit 0 ;;
2 | 3) ;; # holdfast has said why
1) echo "holdfast keeps the context: it ended with status 1, so it may be gone from its Python. $repair, or reinstall it with \`pip uninstall holdfast && pip install --force-reinstall holdfast-memory\`. Then compact again." >&2 ;;
0) echo "holdfast keeps the context: the program ended without an answer. Run \`holdfast-memory doctor\`, then compact again." >&2 ;;
124 | 137 | 142) echo "holdfast keeps the context: it gave no answer in 55 seconds. Run \`holdfast-memory doctor\`, then compact again." >&2 ;;
*) echo "holdfast keeps the context: it ended with status $status. Run \`holdfast-memory doctor\`. If that fails, reinstall it with \`pip uninstall holdfast && pip install --force-reinstall holdfast-memory\`. Then compact again." >&2 ;;
esac
exit 2
