"""Scripts that complete commands, options and model files in a shell."""

from __future__ import annotations

import argparse

from stationary.cli.arguments import parser

_MODELS = "*.toml"


def _words() -> tuple[list[tuple[str, str]], dict[str, list[tuple[str, str]]], dict[str, str]]:
    """Return the commands and the options of each, with their help; and choices of arguments."""
    top = parser()
    several = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    commands = [(a.dest, a.help or "") for a in several._choices_actions]
    options: dict[str, list[tuple[str, str]]] = {}
    choices: dict[str, str] = {}
    for name, one in several.choices.items():
        options[name] = [
            (text, action.help or "") for action in one._actions for text in action.option_strings
        ]
        for action in one._actions:
            if action.choices and not action.option_strings:
                choices[name] = " ".join(map(str, action.choices))
    return commands, options, choices


def script(shell: str) -> str:
    """Return the script for one shell.

    Examples
    --------
    >>> from stationary.cli.completion import script
    >>> script("bash").splitlines()[0]
    '# eval "$(stationary completion bash)"'
    """
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _bash() -> str:
    commands, options, choices = _words()
    cases = "\n".join(
        f'    {name}) words="{" ".join(o for o, _ in options[name])} {choices.get(name, "")}" ;;'
        for name, _ in commands
    )
    return f"""# eval "$(stationary completion bash)"
_stationary() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(n for n, _ in commands)} --help --version" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -X '!{_MODELS}' -- "$word"))
}}
complete -o filenames -F _stationary stationary"""


def _quoted(text: str) -> str:
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ",")


def _zsh() -> str:
    commands, options, choices = _words()
    listed = "\n".join(f"    '{name}:{_quoted(text)}'" for name, text in commands)
    files = " '*:model:_files -g \"*.toml\"'"
    cases = "\n".join(
        f"    {name}) _arguments "
        + " ".join(f"'{option}[{_quoted(text)}]'" for option, text in options[name])
        + (f" '*:choice:({choices[name]})'" if name in choices else files)
        + " ;;"
        for name, _ in commands
    )  # fmt: skip
    return f"""#compdef stationary
# eval "$(stationary completion zsh)"
_stationary() {{
  local -a commands
  commands=(
{listed}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
{cases}
  esac
}}
compdef _stationary stationary"""


def _fish() -> str:
    commands, options, choices = _words()
    lines = ["# stationary completion fish | source", "complete -c stationary -f"]
    for name, text in commands:
        lines.append(
            f"complete -c stationary -n __fish_use_subcommand -a {name} -d '{_quoted(text)}'"
        )
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option, meaning in options[name]:
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            lines.append(f"complete -c stationary {seen} {flag} -d '{_quoted(meaning)}'")
        words = choices.get(name)
        lines.append(f"complete -c stationary {seen} " + (f"-a '{words}'" if words else
                     "-a '(__fish_complete_suffix .toml)'"))  # fmt: skip
    return "\n".join(lines)
