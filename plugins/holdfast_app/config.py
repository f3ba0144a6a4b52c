"""Settings for the application's features, in addition to the kernel's (:mod:`holdfast.config.values`)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import frozen

from holdfast.config import values
from holdfast.config.fields import ANYTHING, Allowed, at_least, between, more_than, one_of, setting, stricter
from holdfast.errors import HoldfastError


def days(value: float) -> None:
    if not 0 <= value <= 36_525:  # more than a century would be before the first date
        raise ValueError(f"must be 0 to 36525, not {value!r}")


def only(value: object) -> Allowed:
    return Allowed(f"`{value}`", lambda wanted, users: wanted == value)


def _check_confidence(value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"must be from 0 to 1, not {value!r}")


@frozen(kw_only=True)
class FactsConfig:
    """``[facts]``: rules of the fact store. Source: R040, R058; the options are those of readings A01 and A08."""

    max_facts: int = setting(
        500,
        "Maximum number of stored facts. At least 1.",
        check=at_least(1),
        project=Allowed(  # a lower value than the user's deletes data
            "500 to 100,000, not below your own value",
            lambda value, users: max(500, users.get("facts.max_facts", 500)) <= value <= 100_000,
        ),
    )
    threshold: float = setting(
        0.5,
        "Minimum confidence for an extracted fact to be stored; 0.0 to 1.0.",
        check=_check_confidence,
        project=between(0.0, 0.8),
    )
    rank_union: bool = setting(
        False,
        "At the cap, a new fact weaker than all stored facts is rejected instead of evicting the weakest stored one.",
        project=ANYTHING,
    )
    bad_category: str = setting(
        "drop",
        "Handling of an extracted fact with an unknown category: `drop`, or `context`, which files it there.",
        check=one_of("drop", "context"),
        project=ANYTHING,
    )


@frozen(kw_only=True)
class ExtractConfig:
    """``[extract]``: when turns are extracted. A project's bound is low because calls may cost. Source: R033."""

    when: str = setting(
        "flush",
        "When messages are extracted: at a flush, or after each turn (`turn`), see "
        "[facts](facts.md#extraction-turn-by-turn).",
        check=one_of("flush", "turn"),
        project=only("flush"),
    )
    calls_a_day: int = setting(
        50,
        "Maximum extraction calls to models in a day by processes in the background.",
        check=at_least(0),
        project=between(0, 50),
    )


@frozen(kw_only=True)
class PromptConfig:
    """``[prompt]``: the prompt block's size. Source: R067, reading A17."""

    max_tokens: int = setting(2000, "Maximum tokens in the prompt block.", check=at_least(0), project=between(0, 8_000))


@frozen(kw_only=True)
class RetentionConfig:
    """``[retention]``: days to keep each kind of data, counted from its own date. Only ``holdfast retention run``
    removes data. Source: R244."""

    daily: int = setting(
        0,
        "Days to keep daily notes, applied by `holdfast retention run`; 0 means indefinitely, here and below. See "
        "[retention](retention.md).",
        check=days,
    )
    diary: int = setting(0, "The same for the diaries of dreams.", check=days)
    trail: int = setting(0, "The same for daily summaries.", check=days)
    report: int = setting(0, "The same for reports.", check=days)
    heartbeat: int = setting(0, "The same for heartbeats, by the date in their names.", check=days)
    briefing: int = setting(0, "The same for briefings, by the date in their names.", check=days)
    journal: int = setting(
        30, "Days to keep a journal after the last turn of an ended and flushed session.", check=days
    )
    damaged: int = setting(90, "Days to keep a damaged journal that a repair put aside.", check=days)
    backup: int = setting(90, "Days to keep copies of overwritten files.", check=days)
    log: int = setting(365, "Days to keep lines of private logs.", check=days)

    @property
    def of_turns(self) -> str:
        if not self.journal:
            return "Turns are kept indefinitely."
        days = "1 day" if self.journal == 1 else f"{self.journal} days"
        return f"Turns are kept for {days} after a session's last turn (`[retention] journal`)."


@frozen(kw_only=True)
class DreamConfig:
    """``[dream]``: when and how the daily notes are consolidated into MEMORY.md."""

    lookback_days: int = setting(
        3,
        "Calendar days of notes that a dream reads, today included; `0`: none, so it is skipped.",
        check=days,
        project=between(0, 31),
    )
    when: str = setting(
        "auto",
        "`auto`: when a dream is due, the start or end of a client's session begins it in the background. `manual`: "
        "only `holdfast dream` dreams.",
        check=one_of("auto", "manual"),
        project=stricter("dream.when", "manual", "auto"),
    )
    every_hours: float = setting(
        20.0,  # less than a day, or a session that ends earlier than yesterday's waits another day
        "Hours after the last dream until the next one is due.",
        check=more_than(0),
        project=between(12, 8_760),
    )
    apply: str = setting(
        "auto",
        "`auto`: a checked result is written. `propose`: it waits for `holdfast dream review`.",
        check=one_of("auto", "propose"),
        project=stricter("dream.apply", "propose", "auto"),
    )
    plugin: str = setting(
        "",
        "The plugin that dreams. By default a plugin that a table enables (a model), else `offline`.",
        project=only("offline"),
    )
    judge: str = setting(
        "",
        "The model plugin that checks a dream's new lines against their sources, or `none`; see "
        "[grounding.md](grounding.md#a-judge). By default the model that wrote them.",
        project=Allowed(
            '`""`, where your own is `""` too', lambda value, users: not value and not users.get("dream.judge")
        ),
    )
    max_chars: int = setting(
        200_000,
        "Maximum characters read. Beyond that, the oldest notes are left out and the diary reports it.",
        check=at_least(1),
        project=between(1_000, 200_000),
    )


@frozen(kw_only=True)
class TrustConfig:
    """``[trust]``: whose commits count as seen."""

    authors: tuple[str, ...] = setting(
        (),
        "People whose commits count as [seen by you](trust.md#teams): e-mail addresses, or fingerprints of signing "
        "keys. Read only from your own file.",
    )


@frozen(kw_only=True)
class ReportConfig:
    """``[report]``: when the morning report is stored."""

    when: str = setting(
        "manual",
        "`daily`: the first session start of a day stores the morning report, in the background. `manual`: only "
        "`holdfast report --morning --write` stores it.",
        check=one_of("daily", "manual"),
        project=stricter("report.when", "manual", "daily"),
    )


@frozen(kw_only=True)
class AgentsConfig:
    """``[agents]``: clients with holdfast's hooks."""

    compact: str = setting(
        "client",
        "`holdfast`: its brief replaces the summary in [clients that take one](agents.md#compaction-by-holdfast).",
        check=one_of("client", "holdfast"),
        project=ANYTHING,
    )


@frozen(kw_only=True)
class IdentityConfig:
    """``[identity]``: who and which machine a flush and a fact name."""

    record: bool | None = setting(
        None,
        "Name the person and the machine in each flush and fact: one comment in the note block, `by` in the receipt "
        "and the journal, and a fact's source. Not set, it is on where the store is on a server, and off otherwise.",
    )
    person: str = setting(
        "", "The person's name. If empty, `GIT_AUTHOR_NAME`, then the login. E-mail addresses are cut at the `@`."
    )
    machine: str = setting("", "The machine's name. If empty, the host name.")


def _check_share(value: float) -> None:
    if value != 0 and not 0.3 <= value <= 1:
        raise ValueError(f"{value} is not 0 and not from 0.3 to 1")


@frozen(kw_only=True)
class SessionConfig(values.SessionConfig):
    """``[session]``: when a session is trimmed, ends, or asks for a flush."""

    ask_at: float = setting(
        0.6,
        "Share of the context window above which a client's hooks ask the agent to flush, after a prompt or a tool's "
        "result, and again when the context has grown; from 0.3 to 1, or 0 for never.",
        check=_check_share,
        project=ANYTHING,
    )
    ask_at_stop: bool = setting(
        False,
        "Ask at the end of a turn too, once a session: Claude Code and Codex then let the agent go on to flush.",
        project=ANYTHING,
    )
    context_window: int = setting(
        0,
        "The context window in tokens, for transcripts that do not contain it; 0 means 200,000 for Claude Code, or "
        "1,000,000 for a model named `[1m]` or a context of more than 200,000.",
        check=at_least(0),
        project=Allowed(
            "0, or 10,000 to 100,000,000", lambda value, users: value == 0 or 10_000 <= value <= 100_000_000
        ),
    )


@frozen(kw_only=True)
class Config(values.Config):
    """All settings of holdfast.toml."""

    session: SessionConfig = SessionConfig()
    identity: IdentityConfig = IdentityConfig()
    facts: FactsConfig = FactsConfig()
    extract: ExtractConfig = ExtractConfig()
    prompt: PromptConfig = PromptConfig()
    dream: DreamConfig = DreamConfig()
    retention: RetentionConfig = RetentionConfig()
    report: ReportConfig = ReportConfig()
    trust: TrustConfig = TrustConfig()
    agents: AgentsConfig = AgentsConfig()

    @classmethod
    def tables_of(cls, root: str) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]:
        """The user also answers for this project's settings that they trusted, by a record or ``HOLDFAST_TRUST``."""
        import os

        from holdfast_app.project_settings import files, resolved, trust

        tables, written = [*super().tables_of(root)[0]], dict[str, Any]()
        if record := trust.record_of(root):
            tables.append(record.settings)
        with suppress(HoldfastError):
            written = files.raw(root)[0]
            asked = resolved.portable(root)
            if os.environ.get(trust.VARIABLE, "").strip() == trust.digest(asked):
                tables.append(asked)
        return tables, written
