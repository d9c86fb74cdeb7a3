"""The words of the project: variables are nouns of the field, and sentences are in the words that users read.

docs/development/style.md has the words: those to use, which the glossary explains, and those that are refused here,
each with what may be said instead. Code spans, names of API fields, keys and tests are left alone. Exit code 1 when a
word is refused.
"""

import ast
import io
import pathlib
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator

ROOT = pathlib.Path(__file__).parents[1]
BANNED_NAMES = {"found", "one", "made", "said", "told", "wish", "flip"}
STYLE = (ROOT / "docs" / "development" / "style.md").read_text(encoding="utf-8")


def _instead(heading: str) -> dict[str, str]:
    """Each word that the table below a heading of the style page refuses, with what may be said instead."""
    section = STYLE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| (`.*) \| (.*) \|$", section)
    return {word: instead for words, instead in rows for word in re.findall(r"`([^`]+)`", words)}


INSTEAD = _instead("Words not to use")
OF_PAGES = {**INSTEAD, **_instead("Nor in pages for users")}
_SPAN = re.compile(r"`[^`\n]*`")
_KEYS = {".json": re.compile(r'"[\w.:/-]+"'), ".yaml": re.compile(r"(?m)^[ -]*[\w.-]+:")}
"""Names in a document: a key, or in JSON one of those that are required."""
_NAME = re.compile(r"['\"][\w.-]+['\"]")
"""A key of a dictionary, when a colon or a bracket follows: the name of a field."""
_QUOTES = re.compile(r"^\w{0,2}(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")
SOURCES = ("controller", "api", "hack", "docs/examples")
TEXTS = ("README.md", "SECURITY.md", "Makefile", "Dockerfile", "pyproject.toml", ".ci", "docs", "bindata", "hack")
_READ = {".md", ".yaml", ".html", ".json", ".toml", ".tmpl", ""}
_PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
"""From Python 3.12 on the text of an f-string is no token STRING."""
_TESTS = "simulator_tests"
"""The folder below hack whose words are those of tests, and of a real server."""


def _python() -> Iterator[pathlib.Path]:
    for folder in SOURCES:
        here = pathlib.Path(__file__).name
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if not {_TESTS, here} & {*path.parts})


def _texts() -> Iterator[pathlib.Path]:
    for name in TEXTS:
        path = ROOT / name
        for text in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if text.is_file() and text.suffix in _READ and not {"sessions", "log.md", _TESTS} & {*text.parts}:
                yield text


def _named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield node.lineno, name
            case _:
                pass


def _sentences(source: str) -> Iterator[tuple[int, str]]:
    """Every comment and string with its line; strings that follow each other are one, as Python reads them."""
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type != tokenize.NL]
    first, parts = 0, list[str]()
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.type in _PROSE and not (after.string in {":", "]"} and _NAME.fullmatch(token.string)):
            first = first if parts else token.start[0]
            parts.append(_QUOTES.sub("", token.string) if token.type != tokenize.COMMENT else token.string)
        if parts and not token.type == after.type == tokenize.STRING:
            yield first, "\n".join(parts)
            parts = []


def _banned(text: str, instead: Iterable[str]) -> list[tuple[int, str]]:
    """Each word that is refused, with the number of its line, from 0; a phrase may go on in the next line."""
    bare, every = _SPAN.sub("", text), "|".join(word.replace(" ", r"\s+") for word in instead)
    matches = re.finditer(rf"(?<![\w.:/-])({every})(?![\w/-]|:\S)", bare, re.IGNORECASE)
    return [(bare.count("\n", 0, match.start()), re.sub(r"\s+", " ", match[1].lower())) for match in matches]


def _refused(path: pathlib.Path, first: int, text: str) -> list[str]:
    table = OF_PAGES if path.suffix == ".md" and path.parent in {ROOT, ROOT / "docs"} else INSTEAD
    return [
        f"{path.relative_to(ROOT)}:{first + line}: {word}; say {table[word]}" for line, word in _banned(text, table)
    ]


def _of_code(path: pathlib.Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    names = [
        f"{path.relative_to(ROOT)}:{line}: variable {name}; name what it is, by a noun of the field"
        for line, name in _named(ast.parse(source))
        if name in BANNED_NAMES
    ]
    return names + [refused for number, text in _sentences(source) for refused in _refused(path, number, text)]


def main() -> int:
    """Show each word that is refused, with its place; return the exit code."""
    if not INSTEAD:
        sys.exit("docs/development/style.md has no table of words that are refused")
    refused = [line for path in _python() for line in _of_code(path)]
    for path in _texts():
        text = path.read_text(encoding="utf-8")
        refused += _refused(path, 1, _KEYS[path.suffix].sub("", text) if path.suffix in _KEYS else text)
    sys.stdout.write("".join(f"{line}\n" for line in refused))
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main())
