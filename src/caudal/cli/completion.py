"""Completion in shells: the scripts for bash, zsh and fish, and the answer when one of them asks.

A script runs `caudal` with the command line in the environment, by typer's own protocol (`_CAUDAL_COMPLETE`,
`_TYPER_COMPLETE_ARGS`). typer completes commands, options and arguments; what it does not know of is added here:
`--cluster`, which no command declares, and `caudal broker`, which has a parser of its own. An empty answer means files.
Where live values come from is `cli/live_values.py`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from caudal.cli.errors import CliError
from caudal.cli.profiles import FLAG

VARIABLE = "_CAUDAL_COMPLETE"
LINE = "_TYPER_COMPLETE_ARGS"

# readline cuts words at ':' and '=' too and puts back only the last piece, so what stands before it is taken off.
BASH = r"""# bash completion of caudal; made by `caudal completion bash`
_caudal_completion() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} breaks=
    COMPREPLY=( $(_CAUDAL_COMPLETE=complete_bash _TYPER_COMPLETE_ARGS="$line" "$1" 2>/dev/null) )
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
    local word=${line##*[[:space:]]}
    if [[ -n $breaks && $word == *[$breaks]* ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"${word%"${word##*[$breaks]}"}"}" )
    fi
}
complete -o default -F _caudal_completion caudal
"""

ZSH = r"""#compdef caudal
# zsh completion of caudal; made by `caudal completion zsh`
_caudal() {
    local -a found
    local line
    for line in "${(@f)$(_CAUDAL_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="${(j: :)${(@q)words[1,CURRENT]}}" $words[1] 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}${${(M)line%%$'\t'*}:+:${line#*$'\t'}}")
    done
    if (( $#found )); then
        _describe -t values caudal found
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _caudal "$@"
else
    compdef _caudal caudal
fi
"""

FISH = r"""# fish completion of caudal; made by `caudal completion fish`
function __caudal_complete
    set -l found (_CAUDAL_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS=(commandline -cp | string collect) caudal 2>/dev/null | string match --regex '.+')
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command caudal --no-files --arguments '(__caudal_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def install(shell: str, environment: Mapping[str, str] = os.environ) -> tuple[Path, str]:
    """Writes the script where the shell finds it; the file, and what is left to do."""
    home = Path(environment.get("HOME") or Path.home())
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    path = {
        "bash": data / "bash-completion" / "completions" / "caudal",
        "zsh": home / ".zfunc" / "_caudal",
        "fish": config / "fish" / "completions" / "caudal.fish",
    }[shell]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPTS[shell])
        if shell == "bash":
            # bash-completion loads that folder by itself; where it is not installed, the shell must be told.
            _add_line(home / ".bashrc", f"[ -r {shlex.quote(str(path))} ] && . {shlex.quote(str(path))}")
        elif shell == "zsh":
            _add_line(home / ".zshrc", f"fpath+=({shlex.quote(str(path.parent))}); autoload -Uz compinit; compinit")
    except OSError as error:
        raise CliError(f"{error.filename or path} cannot be written: {error.strerror}") from None
    return path, "it is there in the next shell that you open"


def _add_line(file: Path, line: str) -> None:
    text = file.read_text() if file.exists() else ""
    if line not in text:
        with file.open("a") as out:
            out.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")


def answer() -> None:
    """Prints what may come next, a line each, and leaves."""
    from caudal.cli import profiles
    from caudal.cli.main import build_app

    typed = _words(os.environ.get(LINE, ""))
    _, *words, incomplete = typed if len(typed) > 1 else [*typed, ""]
    if words[-1:] == [FLAG]:
        _say(name for name in profiles.load().clusters if name.startswith(incomplete))
        sys.exit(0)
    try:
        with profiles.chosen(words) as words:
            if words[:1] == ["broker"]:
                _say(_broker_options(incomplete))
                sys.exit(0)
            line = shlex.join(["caudal", *words, incomplete])
            os.environ[LINE] = os.environ["COMP_WORDS"] = line
            os.environ["COMP_CWORD"] = str(len(words) + 1)
            build_app(words)(args=[], prog_name="caudal")
    except CliError:
        sys.exit(1)
    finally:
        if len(incomplete) > 1 and FLAG.startswith(incomplete):
            _say([FLAG])


def _words(line: str) -> list[str]:
    """As a shell would have them; the last one is what is being typed, and a quote that is still open is no error."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    if not words or line[-1:].isspace():
        words.append("")
    return words


def _broker_options(incomplete: str) -> list[str]:
    import argparse

    from caudal.cli.broker_process import parser

    if not incomplete.startswith("-"):
        return []  # values, most of them folders
    shown = (action for action in parser()._actions if action.help != argparse.SUPPRESS)
    return [option for action in shown for option in action.option_strings if option.startswith(incomplete)]


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)
