"""Sessions written for this benchmark, with what a reader of each would want to find again.

They have the habits of real sessions: text that clients put around requests, thanks, side questions, long answers,
checks that fail and are repaired, sessions cut in the middle of work.
"""

# ruff: noqa: E501, ISC004 - a line is one that somebody said

from __future__ import annotations

from typing import Any, Final

_IDE = (
    "<ide_selection>The user selected the lines 10 to 14 from /project/src/cart.ts:\nconst total = 0;\n</ide_selection>"
)
_CODEX_IDE = "# Context from my IDE setup:\n\n## Active file: app/models.py\n\n## Open tabs:\n- models.py: app/models.py\n\n## My request for Codex:\n"
_ENVIRONMENT = "<environment_context>\n  <cwd>/project</cwd>\n  <shell>bash</shell>\n</environment_context>"
_AGENTS = "# AGENTS.md instructions for /project\n\n<INSTRUCTIONS>\nAlways write tests first.\n</INSTRUCTIONS>"


def _todos(*entries: tuple[str, str]) -> dict[str, Any]:
    return {"todos": [{"content": text, "status": status, "activeForm": text} for text, status in entries]}


SESSIONS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "claude-fix-and-thanks.jsonl",
        "client": "claude-code",
        "steps": [
            ("user", f"{_IDE}\nThe cart total is off by one cent for orders with a discount. Find out why and fix it."),
            ("say", "Let me look at how the total is computed."),
            ("call", "Read", {"file_path": "/project/src/cart.ts"}, "export function total() {}"),
            (
                "say",
                "`total()` rounds each line before it sums, so `0.335 * 3` loses a cent. The tax module rounds once, at the end.",
            ),
            (
                "call",
                "Edit",
                {"file_path": "/project/src/cart.ts", "old_string": "a", "new_string": "b"},
                "The file has been updated.",
            ),
            ("call", "Bash", {"command": "npm test"}, "Tests: 1 failed, 41 passed", True),
            (
                "call",
                "Edit",
                {"file_path": "/project/test/cart.test.ts", "old_string": "a", "new_string": "b"},
                "The file has been updated.",
            ),
            ("call", "Bash", {"command": "npm test"}, "Tests: 42 passed"),
            (
                "say",
                "Fixed. The total is now summed in integer cents and rounded once in `src/cart.ts`.\n\n"
                "- `test/cart.test.ts` has a case for three items at 0.335\n"
                "- All 42 tests pass\n"
                "- The invoice PDF still rounds per line; I left it alone because accounting signs it off",
            ),
            ("user", "Great, thanks!"),
            ("say", "You're welcome!"),
        ],
        "label": {
            "objective": [["cart total", "cent"]],
            "open": False,
            "next": "none",
            "matters": [
                ["rounds each line"],
                ["integer cents"],
                ["42 tests pass"],
                ["invoice PDF", "per line"],
                ["tax module", "at the end"],
            ],
            "files": ["src/cart.ts", "test/cart.test.ts"],
        },
    },
    {
        "name": "claude-cut-with-todos.jsonl",
        "client": "claude-code",
        "steps": [
            ("user", "Split the settings page into tabs: Profile, Billing and API keys. Keep the URLs working."),
            (
                "call",
                "TodoWrite",
                _todos(
                    ("Extract ProfileTab", "in_progress"),
                    ("Extract BillingTab", "pending"),
                    ("Redirect old URLs", "pending"),
                ),
                "ok",
            ),
            ("say", "The old page reads `?section=` from the query, so the redirect has to map three values."),
            ("call", "Write", {"file_path": "/project/ui/ProfileTab.vue", "content": "x"}, "File created"),
            ("user", "use the existing TabList component, don't add a library for it"),
            (
                "call",
                "TodoWrite",
                _todos(
                    ("Extract ProfileTab", "completed"),
                    ("Extract BillingTab", "in_progress"),
                    ("Redirect old URLs", "pending"),
                ),
                "ok",
            ),
            ("call", "Write", {"file_path": "/project/ui/BillingTab.vue", "content": "x"}, None),
        ],
        "label": {
            "objective": [["TabList"], ["settings page", "tabs"]],
            "open": True,
            "next": [["BillingTab"]],
            "matters": [
                ["TabList", "don't add a library"],
                ["?section=", "three values"],
                ["Redirect old URLs"],
                ["Keep the URLs working"],
            ],
            "files": ["ui/ProfileTab.vue", "ui/BillingTab.vue"],
        },
    },
    {
        "name": "claude-question-at-the-end.jsonl",
        "client": "claude-code",
        "steps": [
            ("meta", "Caveat: The messages below were generated by the user while running local commands."),
            (
                "user",
                "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
            ),
            ("user", "Move the nightly export from cron to the job queue."),
            ("call", "Bash", {"command": "crontab -l"}, "0 3 * * * /srv/export.sh"),
            (
                "say",
                "The export runs at 03:00 as user `export`, and the queue's workers run as `app`, which cannot read `/srv/secrets`.\n\n"
                "There are two ways: give `app` a group that may read it, or copy the key into the vault. "
                "Which one do you want?",
            ),
        ],
        "label": {
            "objective": [["nightly export", "job queue"]],
            "open": True,
            "next": [["which one do you want"]],
            "matters": [["/srv/secrets", "app"], ["group", "vault"]],
            "files": [],
        },
    },
    {
        "name": "codex-offer-at-the-end.jsonl",
        "client": "codex",
        "steps": [
            ("meta", _AGENTS),
            ("meta", _ENVIRONMENT),
            ("user", f"{_CODEX_IDE}add a created_at column to Order and backfill it from the audit log"),
            ("say", "I’ll check how the audit log stores timestamps before I write the migration."),
            ("call", "exec_command", {"cmd": "rg -n created app/audit.py"}, "12: created = Column(Integer)"),
            ("say", "The audit log keeps Unix seconds in UTC, so the backfill needs `to_timestamp`."),
            (
                "call",
                "apply_patch",
                "*** Begin Patch\n*** Update File: app/models.py\n@@\n+x\n*** Add File: migrations/0042_order_created_at.sql\n+y\n*** End Patch",
                "Success. Updated the following files:\nM app/models.py\nA migrations/0042_order_created_at.sql",
            ),
            (
                "say",
                "Added `created_at` to `Order` and a migration that backfills it.\n\n"
                "- `migrations/0042_order_created_at.sql` fills 0 rows twice, so it can run again\n"
                "- 318 orders have no audit row; they keep NULL\n\n"
                "If you want, I can also add an index on `created_at`.",
            ),
        ],
        "label": {
            "objective": [["created_at", "Order"]],
            "open": False,
            "next": "none",
            "matters": [["318 orders", "NULL"], ["Unix seconds", "to_timestamp"], ["can run again"]],
            "files": ["app/models.py", "migrations/0042_order_created_at.sql"],
        },
    },
    {
        "name": "codex-plan-cut.jsonl",
        "client": "codex",
        "steps": [
            ("meta", _ENVIRONMENT),
            ("user", "Replace moment with date-fns everywhere."),
            (
                "call",
                "update_plan",
                {
                    "plan": [
                        {"step": "List the uses of moment", "status": "completed"},
                        {"step": "Convert formatting helpers", "status": "in_progress"},
                        {"step": "Drop the dependency", "status": "pending"},
                    ]
                },
                "Plan updated",
            ),
            ("say", "There are 23 uses; `src/dates.ts` wraps 19 of them."),
            ("call", "shell", {"command": ["bash", "-lc", "sed -n 1,40p src/dates.ts"]}, "import moment"),
        ],
        "label": {
            "objective": [["moment", "date-fns"]],
            "open": True,
            "next": [["Convert formatting helpers"]],
            "matters": [["23 uses", "src/dates.ts"], ["Drop the dependency"]],
            "files": [],
        },
    },
    {
        "name": "opencode-all-done.json",
        "client": "opencode",
        "steps": [
            ("user", "Write a Dockerfile for the worker, as small as possible."),
            ("meta", "Called the Read tool with the following input: {}"),
            (
                "call",
                "todowrite",
                {"todos": [{"id": "1", "content": "Write Dockerfile", "status": "in_progress", "priority": "high"}]},
                "1 todos",
            ),
            ("call", "write", {"filePath": "/project/worker/Dockerfile", "content": "FROM"}, "Wrote file"),
            ("call", "bash", {"command": "docker build worker"}, "writing image 38.2MB"),
            (
                "call",
                "todowrite",
                {"todos": [{"id": "1", "content": "Write Dockerfile", "status": "completed", "priority": "high"}]},
                "0 todos",
            ),
            (
                "say",
                "Done: `worker/Dockerfile` builds in two stages on Alpine, and the image has 38 MB. It runs as uid 10001, because the cluster forbids root.",
            ),
        ],
        "label": {
            "objective": [["Dockerfile", "worker"]],
            "open": False,
            "next": "none",
            "matters": [["38 MB"], ["uid 10001", "forbids root"]],
            "files": ["worker/Dockerfile"],
        },
    },
    {
        "name": "claude-after-compaction.jsonl",
        "client": "claude-code",
        "steps": [
            ("user", "Make the importer resume after a crash."),
            ("say", "I'll add a checkpoint file."),
            (
                "call",
                "Write",
                {"file_path": "/project/importer/checkpoint.py", "content": "x"},
                "File created",
            ),
            (
                "summary",
                "This session is being continued from a previous conversation that ran out of context.\n"
                "1. Primary Request and Intent:\n   The importer shall resume after a crash.\n"
                "2. Decisions:\n   - The checkpoint stores the byte offset, not the line number, since lines may be edited\n"
                "3. Errors and fixes:\n   - fsync of the folder was missing, so a checkpoint vanished after power loss\n"
                "4. Pending Tasks:\n   - Test with a 2 GB file",
            ),
            ("call", "Bash", {"command": "pytest -q"}, "12 passed"),
            ("say", "The unit tests pass. Now I'll run the importer on the 2 GB sample to see whether it resumes."),
        ],
        "label": {
            "objective": [["importer", "resume"]],
            "open": True,
            "next": [["2 GB sample"]],
            "matters": [["byte offset", "line number"], ["fsync", "folder"], ["2 GB file"]],
            "files": ["importer/checkpoint.py"],
        },
    },
    {
        "name": "claude-ordinary-talk.jsonl",
        "client": "claude-code",
        "steps": [
            ("user", "Build the report of unpaid invoices per customer. don't use redis for it"),
            ("say", "Understood."),
            ("user", "the column is cust_ref, not customer_id"),
            (
                "say",
                "REFRESH MATERIALIZED VIEW CONCURRENTLY fails without a unique index on the view, so I added one on `cust_ref`.",
            ),
            ("user", "ok. 2 tests fail on my machine, test_empty and test_rounding"),
            ("call", "Bash", {"command": "pytest -q"}, "2 failed, 10 passed", True),
        ],
        "label": {
            "objective": [["2 tests fail"], ["unpaid invoices"]],
            "open": True,
            "next": [["2 tests fail"]],
            "matters": [
                ["don't use redis"],
                ["cust_ref", "not customer_id"],
                ["CONCURRENTLY", "unique index"],
                ["test_empty", "test_rounding"],
            ],
            "stated": [["cust_ref", "not customer_id"], ["don't use redis"]],
            "files": [],
        },
    },
    {
        "name": "codex-go-on.jsonl",
        "client": "codex",
        "steps": [
            ("user", "The login page takes 9 seconds on mobile. Find the cause."),
            (
                "say",
                "The bundle is 4.1 MB: `chart.js` is imported by `Login.tsx` through `ui/index.ts`. I can load the charts lazily and split the barrel file.",
            ),
            ("user", "yes, go on"),
        ],
        "label": {
            "objective": [["login page", "9 seconds"]],
            "open": True,
            "next": [["lazily"], ["login page"]],
            "matters": [["4.1 MB", "chart.js"], ["lazily", "barrel"]],
            "files": [],
        },
    },
    {
        "name": "claude-german.jsonl",
        "client": "claude-code",
        "steps": [
            ("user", "Bitte stelle die Übersetzungen auf ICU um, Plural inklusive."),
            (
                "call",
                "Edit",
                {"file_path": "/project/i18n/de.json", "old_string": "a", "new_string": "b"},
                "ok",
            ),
            (
                "say",
                "Fertig: `i18n/de.json` nutzt jetzt ICU-Plurale. `i18n/fr.json` hat 14 Schlüssel ohne Plural, die blieben unverändert.",
            ),
            ("user", "Danke"),
        ],
        "label": {
            "objective": [["ICU", "Übersetzungen"]],
            "open": False,
            "next": "none",
            "matters": [["fr.json", "14"]],
            "files": ["i18n/de.json"],
        },
    },
    {
        "name": "claude-stated.jsonl",
        "client": "claude-code",
        "steps": [
            (
                "user",
                "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the payment webhook</command-args>",
            ),
            ("say", "I'll use the review skill. YOU CAN ONLY ENTER ONE COMMAND at a time."),
            ("call", "Bash", {"command": "ruff check ."}, "Found 3 errors.", True),
            ("call", "Bash", {"command": "ruff check --fix ."}, "All checks passed!"),
            (
                "say",
                "The webhook answers 200 before it commits, so a crash in between loses the event. I'd move the commit first.",
            ),
            ("user", "remember: staging has no Postgres\nDecision: the webhook answers after the commit\nDo it."),
            (
                "call",
                "Edit",
                {"file_path": "/project/api/webhook.py", "old_string": "a", "new_string": "b"},
                "ok",
            ),
            ("say", "Done. `api/webhook.py` commits first and answers 200 afterwards; a duplicate delivery gets 409."),
        ],
        "label": {
            "objective": [["payment webhook"]],
            "open": False,
            "next": "none",
            "matters": [["staging has no Postgres"], ["answers after the commit"], ["loses the event"], ["409"]],
            "files": ["api/webhook.py"],
            "stated": [["staging has no Postgres"], ["answers after the commit"]],
        },
    },
    {
        "name": "harness-submitted.jsonl",
        "client": "messages",
        "steps": [
            (
                "user",
                "We're currently solving the following issue within our repository. Here's the issue text:\nISSUE:\n"
                "Query.count() ignores distinct()\nCounting a distinct query returns the number of all rows.\n\n"
                "INSTRUCTIONS:\nNow, you're going to solve this issue on your own.\n(Open file: n/a)\n(Current directory: /repo)\nbash-$",
            ),
            ("call", "grep", "-rn count src/query.py", "src/query.py:210: def count(self):"),
            ("say", "`count()` builds its own SELECT and never looks at `self._distinct`."),
            ("call", "edit", "210:212", "File updated"),
            ("call", "submit", "", "diff --git a/src/query.py b/src/query.py"),
        ],
        "label": {
            "objective": [["count()", "distinct()"]],
            "open": False,
            "next": "none",
            "matters": [["never looks at", "_distinct"]],
            "files": [],
        },
    },
)
