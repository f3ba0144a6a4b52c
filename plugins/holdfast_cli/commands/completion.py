"""``holdfast completion``: a script that completes commands and options, made from the command table."""

from __future__ import annotations

from holdfast.errors import PluginError
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.table import described

SHELLS = ("bash", "zsh", "fish", "powershell")


@Command(
    "Manage",
    "print a completion script for your shell",
    argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS)),
    examples=(
        'eval "$(holdfast completion bash)"        # in ~/.bashrc (or zsh in ~/.zshrc)',
        "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
        "holdfast completion powershell | Out-String | Invoke-Expression # in $PROFILE",
    ),
    json=False,
)
def completion(call: Call) -> Answer:
    """The script."""
    summaries = {name: text for group in described().values() for name, text in group.items()}
    table = {name: _options(name) for name in summaries}
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish, "powershell": _powershell}[call.args.shell]
    return Answer({}, lambda out: out.exact(made(table, summaries)))


def _options(command: str) -> list[str]:
    from holdfast_cli.usage import parser_for

    try:
        parser = parser_for(command)
    except PluginError:  # another distribution's, and broken: its name is completed all the same
        return []
    # argparse offers no public list of a parser's options. This attribute has always existed.
    options = parser._option_string_actions  # noqa: SLF001
    return sorted(name for name in options if name.startswith("--"))


def _bash(table: dict[str, list[str]], _: dict[str, str]) -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(options)}" ;;' for name, options in table.items())
    return f"""_holdfast() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="" words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      --root) ((i++)) ;;
      -*) ;;
      *) command="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  case "$command" in
    "") words="{" ".join(table)} --root --help --version" ;;
{cases}
  esac
  COMPREPLY=()
  if [[ -z "$command" || "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o bashdefault -o default -F _holdfast holdfast
"""


def _zsh(table: dict[str, list[str]], summaries: dict[str, str]) -> str:
    rows = "\n".join(f"    {_quoted(f'{name}:{summaries[name]}')}" for name in table)
    cases = "\n".join(f"    {name}) compadd -- {' '.join(options)} ;;" for name, options in table.items())
    return f"""#compdef holdfast
_holdfast() {{
  local -a commands
  commands=(
{rows}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  if [[ "${{words[CURRENT]}}" != -* ]]; then
    _files
    return
  fi
  case "${{words[2]}}" in
{cases}
  esac
}}
if (( $+functions[compdef] )); then compdef _holdfast holdfast; fi
"""


def _fish(table: dict[str, list[str]], summaries: dict[str, str]) -> str:
    lines = [
        f"complete -c holdfast -n __fish_use_subcommand -f -a {name} -d {_quoted(summaries[name])}" for name in table
    ]
    for name, options in table.items():
        condition = _quoted(f"__fish_seen_subcommand_from {name}")
        lines += [f"complete -c holdfast -n {condition} -l {option[2:]}" for option in options]
    return "\n".join(lines) + "\n"


def _powershell(table: dict[str, list[str]], _: dict[str, str]) -> str:
    separator = "', '"
    rows = "\n".join(f"    '{name}' = @('{separator.join(options)}')" for name, options in table.items())
    return f"""Register-ArgumentCompleter -Native -CommandName holdfast -ScriptBlock {{
  param($word, $ast, $position)
  $table = [ordered]@{{
{rows}
  }}
  $given = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object {{ "$_" }})
  $command = $given | Where-Object {{ $table.Contains($_) }} | Select-Object -First 1
  $choices = if ($command -and $command -ne $word) {{ $table[$command] }} else {{ $table.Keys }}
  $choices | Where-Object {{ $_ -like "$word*" }} | ForEach-Object {{
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }}
}}
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
