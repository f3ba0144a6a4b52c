"""The plugin ``embeddings``: vectors for the search from a server's OpenAI-compatible ``/embeddings``.

It is off by default, because words alone find most, and needs httpx2. Plugins are loaded at every agent event, so
everything else is imported in the calls. A third-party plugin subclasses :class:`Embeddings`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError, ModelFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, Final


#: Seconds without an answer, without a setting.
_TIMEOUT_S: Final = 30.0


class Embeddings:
    """``[plugins.embeddings]``. The first enabled plugin of this class by name is used.

    ``model`` is required. ``base_url`` defaults to OpenAI's; ``insecure_http`` permits plain HTTP to another machine;
    ``timeout_s`` limits the wait for an answer. The key is the one for ``openai``, bound to the address it was set for.
    """

    #: Weight of similarity in the ranking, where a candidate's own words weigh 2.
    weight: ClassVar[float] = 2.0
    #: It offers vectors instead of hooks.
    without_hooks: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, type]] = {
        "model": str, "base_url": str, "insecure_http": bool, "timeout_s": float,
    }  # fmt: skip
    address: ClassVar[str] = "https://api.openai.com/v1"

    def __init__(self, *, context: Any) -> None:
        self._name = context.name
        self._root = context.root
        self._settings = dict(context.settings)
        for key, value in self._settings.items():
            kind = self.known_settings.get(key, object)
            if not isinstance(value, kind) or (isinstance(value, float) and not value > 0):
                raise ConfigError(f"plugins.{self._name}.{key} cannot be {value!r}.", next_step="See docs/search.md.")
        if not self._settings.get("model"):
            raise ConfigError(
                f"plugins.{self._name}.model is missing.",
                next_step=f'Set it: `[plugins.{self._name}] model = "..."`. See docs/search.md.',
            )

    @property
    def identity(self) -> str:
        """Changes when the same text gets another vector. The index then makes all vectors again."""
        return f"embeddings {self._url} {self._settings['model']}"

    @property
    def _url(self) -> str:
        return str(self._settings.get("base_url") or self.address).rstrip("/")

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each string, in order, all with the same number of dimensions. Their norms do not matter.

        Raises: ModelFailed, after which the search uses words alone and shows a warning.
        """
        import json

        body = json.dumps({"model": self._settings["model"], "input": list(texts)}).encode()
        answer = self._answer(body)
        try:
            rows = sorted(json.loads(answer)["data"], key=lambda row: row["index"])
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        except (ValueError, KeyError, TypeError, RecursionError):
            vectors = []
        if len(vectors) != len(texts) or not vectors[0] or len({len(one) for one in vectors}) > 1:
            raise ModelFailed(
                "The server at the embeddings endpoint does not speak its API.", next_step="Check `base_url`."
            )
        return vectors

    def _answer(self, body: bytes) -> bytes:
        try:
            import httpx2

            from holdfast_keys import origins

            origin = origins.safe(self._url, "`base_url`", insecure_http=self._settings.get("insecure_http") is True)
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key(origin)}"}
            given = self._settings.get("timeout_s")
            options = {**origins.http_options(origin), "timeout": given or _TIMEOUT_S}
            with httpx2.Client(**options) as client:
                answer = client.post(f"{self._url}/embeddings", content=body, headers=headers)
        except ConfigError as error:
            raise ModelFailed(error.message, next_step=error.next_step) from None
        except httpx2.HTTPError as error:
            raise ModelFailed(
                f"The embeddings endpoint cannot be reached: {type(error).__name__}.",
                next_step="Check `base_url`, or set `enabled = false`.",
            ) from None
        if answer.status_code != HTTPStatus.OK:
            raise ModelFailed(
                f"The embeddings endpoint answered {answer.status_code}.",
                next_step="Check `model`, `base_url` and the key.",
            )
        return answer.content

    def _key(self, origin: str) -> str:
        """The key for the address. A custom address may need no key. Raises: HoldfastError."""
        from holdfast_keys import origins, secrets

        own = origin == origins.of(self.address)
        setting = f"plugins.{self._name}.base_url"
        try:
            found = secrets.get("openai", origin="" if own else origin, root=self._root or None, settings=(setting,))
        except secrets.KeyNotSent as error:
            if own or isinstance(error, secrets.AddressNotTrusted):
                raise
            found = None
        if found is None and own:
            raise ConfigError("No key is set for openai.", next_step=f"Set it with {secrets.command('openai')}.")
        return found or "none"
