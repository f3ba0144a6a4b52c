"""Every way of writing into a store, with secrets in every field, and a look at every byte that was written."""

import json
from pathlib import Path

from holdfast.api import Extraction, Holdfast, Payload, hookimpl

#: Put together here, so that no secret lies in the repository.
SECRETS = {
    "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "aws": "AKIA" + "QYLPMN5HHHFPZAM2",
    "stripe": "sk_live_" + "51H8xYzAbCdEfGhIjKlMnOpQr",
    "assigned": "Tr0ub4dor" + "-and-3-horses",
    "mail": "maria.keller" + "@kellerwerk.de",
    "card": "4929 1234" + " 5678 9015",
}


def secret_text(what: str) -> str:
    """A sentence for each surface that holds every secret."""
    return (
        f"{what}: token {SECRETS['github']} and {SECRETS['aws']} and {SECRETS['stripe']}; "
        f"db_password = {SECRETS['assigned']}; ask {SECRETS['mail']}, card {SECRETS['card']}"
    )


class Tells:
    """An extractor that repeats what it is shown, as a careless model would."""

    EXTRACTS_AT_ONCE = True

    @hookimpl
    def on_extract(self, turns: object) -> Extraction:
        return Extraction(summary=secret_text("summary"), draft=Payload(facts=[secret_text("extracted")]))


class Fails:
    """An extractor whose error quotes what it was shown."""

    @hookimpl
    def on_extract(self, turns: object) -> Extraction:
        raise RuntimeError(secret_text("the model said"))


def whole_payload() -> Payload:
    """Every field holds every secret."""
    return Payload(
        objective=secret_text("objective"),
        facts=[secret_text("fact")],
        decisions=[secret_text("decision")],
        blockers=[secret_text("blocker")],
        next_step=secret_text("next"),
        artifacts=[f"https://example.org/?token={SECRETS['github']}"],
        follow_ups=[secret_text("follow-up")],
        state_mutations=[{"kind": "status", "target": "owner/repo#1", "summary": secret_text("mutation")}],
        handoff={
            "active_task": secret_text("task"),
            "branch": "main",
            "blocker": secret_text("blocker"),
            "next_action": secret_text("action"),
        },
        curated={"memory": [f"The staging key is {SECRETS['aws']}"], "user": [f"Reach them at {SECRETS['mail']}"]},
    )


def leaks(folder: Path) -> list[str]:
    """``file: kind`` for each secret found in the raw bytes below ``folder``, escaped or not."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        for kind, secret in SECRETS.items():
            forms = (secret.encode(), json.dumps(secret)[1:-1].encode(), secret.encode("utf-16-le"))
            found += [f"{path.relative_to(folder)}: {kind}"] if any(form in data for form in forms) else []
    return found


def write_everything(memory: Holdfast) -> None:
    """Session, flush, compaction, fact, handover and end, all with every secret."""
    session = memory.session("leaky")
    for role in ("user", "assistant", "system", "tool"):
        session.add(role, secret_text(role), tool=f"curl {SECRETS['github']}" if role == "tool" else "")
    session.flush()
    session.add("user", secret_text("again"))
    session.compact(keep_last=1, payload=whole_payload())
    memory.facts.create(secret_text("a fact"), "knowledge", confidence=0.9, source=secret_text("source"))
    session.hand_over(f"agent {SECRETS['mail']}", whole_payload())
    session.end()
