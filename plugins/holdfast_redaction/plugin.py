"""The plugin: settings, the policy for each surface and kind, and findings for core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from holdfast.api import hookimpl
from holdfast.errors import ConfigError
from holdfast_redaction.engine import CHUNK_CHARS, Scanner, redact_with
from holdfast_redaction.mark import Marker
from holdfast_redaction.patterns import KINDS, SECONDS, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.api import Chunks, PluginContext, ValidationRequest
    from holdfast.models import Finding

MASK, REFUSE, ALLOW = "mask", "refuse", "allow"
_KEYS = ("policy", "surfaces", "rules", "disable", "allow", "budget_s")


class Redaction:
    """Finds secrets and personal data in all text before it is stored.

    Settings in ``[plugins.redaction]``, all optional: ``policy``, a table of kind -> mask, refuse or allow;
    ``surfaces``, a table of surface -> such a table; ``rules``, files with a user's own rules; ``disable``, ids of
    rules; ``allow``, values that are not secrets in this project; ``budget_s``, seconds for one rule. See
    docs/redaction.md. Raises: ConfigError for an invalid setting.
    """

    known_settings: ClassVar[tuple[str, ...]] = _KEYS
    #: A project may only make the policy stricter. It may not add rules, because a rule that matches everything or
    #: takes long would destroy or refuse all text.
    project_settings: ClassVar[Mapping[str, Callable[[object, object], bool]]] = {
        "policy": lambda value, own: _is_stricter(value, own),  # noqa: PLW0108 - it is defined below
        "surfaces": lambda value, own: (
            isinstance(value, Mapping) and all(_is_stricter(table, {"pii": REFUSE}) for table in value.values())
        ),
    }

    def __init__(self, context: PluginContext) -> None:
        settings = context.settings
        if unknown := sorted(set(settings) - set(_KEYS)):
            raise _wrong(", ".join(unknown), f"unknown; known are {', '.join(_KEYS)}")
        self._policy = _policy(settings.get("policy", {}), "policy")
        surfaces = settings.get("surfaces", {})
        if not isinstance(surfaces, Mapping):
            raise _wrong("surfaces", "a table of surface -> policy is expected")
        self._surfaces = {str(name): _policy(table, f"surfaces.{name}") for name, table in surfaces.items()}
        budget_s = settings.get("budget_s", SECONDS)
        if isinstance(budget_s, bool) or not isinstance(budget_s, int | float) or not budget_s > 0:
            raise _wrong("budget_s", "a number of seconds above 0 is expected")
        files = _texts(settings, "rules")
        extra = None
        if files:
            from holdfast_redaction.rules.loader import load

            root = os.path.realpath(context.root)
            paths = {name: os.path.realpath(os.path.join(root, name)) for name in files}
            if outside := [name for name, path in paths.items() if os.path.commonpath((path, root)) != root]:
                raise _wrong("rules", f"{outside[0]} is outside the project")
            extra = load(paths.values())
        allowed = frozenset(_texts(settings, "allow"))
        self._scanner = Scanner(
            disabled=frozenset(_texts(settings, "disable")),
            extra=extra,
            allowed=allowed.__contains__ if allowed else None,
            seconds=float(budget_s),
        )
        self._marker = Marker(os.fspath(context.state))

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding] | Chunks:
        """A finding for each secret or identifier, in chunks for a long text. It has the span to mask, or no
        replacement where the policy refuses it. A rule that fails or takes too long raises, which core counts as a
        refusal."""
        if len(request.text) > CHUNK_CHARS:
            from holdfast.api import Chunks

            return Chunks(self._findings(request, hits) for hits in self._scanner.in_chunks(request.text))
        hits = self._scanner.find(request.text)
        return self._findings(request, hits) if hits else ()

    def redact(self, text: str) -> str:
        """``text`` with all hits masked, whatever the policy, with the store's placeholders."""
        return redact_with(self._scanner, text, self._marker.placeholder)

    def _findings(self, request: ValidationRequest, hits: list[Hit]) -> list[Finding]:
        from holdfast.models import Finding

        policy = {**self._policy, **self._surfaces.get(str(request.surface), {})}
        findings = []
        at, line = 0, 1
        for hit in hits:
            line, at = line + request.text.count("\n", at, hit.start), hit.start
            act = policy.get(hit.kind, MASK)
            if act == ALLOW:
                continue
            what = "a secret" if hit.kind == "secret" else f"personal data ({hit.kind})"
            is_masked = act == MASK or request.outgoing  # what is stored already can only be masked
            shown = self._marker.placeholder(hit.rule, request.text[hit.start : hit.end]) if is_masked else None
            findings.append(
                Finding(
                    rule=f"redaction.{hit.rule}",
                    message=f"this text holds {what}",
                    span=(hit.start, hit.end),
                    replacement=shown,
                    line=line,
                    fix="Leave it out, or name where it is kept instead.",
                    name=request.name,
                )
            )
        return findings


def _is_stricter(table: object, own: object) -> bool:
    """Whether a policy allows nothing, and refuses wherever the user's ``own`` policy refuses."""
    if not isinstance(table, Mapping):
        return False
    allowed = (REFUSE,) if isinstance(own, Mapping) and REFUSE in own.values() else (MASK, REFUSE)
    return all(kind in (*KINDS, "pii") and act in allowed for kind, act in table.items())


def _policy(table: object, path: str) -> dict[str, str]:
    if not isinstance(table, Mapping):
        raise _wrong(path, "a table of kind -> mask, refuse or allow is expected")
    policy: dict[str, str] = {}
    for kind, act in table.items():
        if kind not in (*KINDS, "pii"):
            raise _wrong(f"{path}.{kind}", f"unknown kind; known are {', '.join(KINDS)} and pii for all but secret")
        if act not in (MASK, REFUSE, ALLOW):
            raise _wrong(f"{path}.{kind}", "mask, refuse or allow is expected")
        if kind == "pii":
            policy = {**{kind: str(act) for kind in KINDS[1:]}, **policy}
        else:
            policy[kind] = str(act)
    return policy


def _texts(settings: Mapping[str, object], key: str) -> list[str]:
    value = settings.get(key, [])
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise _wrong(key, "a list of strings is expected")
    return list(value)


def _wrong(path: str, reason: str) -> ConfigError:
    return ConfigError(
        f"The setting `plugins.redaction.{path}` cannot be used: {reason}.", next_step="Correct it in holdfast.toml."
    )
