"""The words of the project: variables are nouns of the field, and sentences are in the words that users read.

What may be said instead stands beside each word. Code spans, names of API fields and of tests are left alone.
"""

import ast
import io
import pathlib
import re
import tokenize
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[3]
BANNED_NAMES = {"found", "one", "made", "said", "told", "wish", "flip"}
INSTEAD = {
    "wish": "desired topology, request",
    "wishes": "requests",
    "flip": "change",
    "flips": "changes",
    "withdraw": "cancel",
    "withdrawn": "cancelled",
    "moved": "changed",
    "admitted": "preflight passed, admission",
    "told": "shown, reported",
    "whoever": "name the user, the client, the operator",
    "somebody": "name the user, another client, an administrator",
    "nobody": "no operator, no client, no user",
    "held back": "blocked",
    "looked after": "handled",
}
_WORDS = re.compile(rf"(?<![\w.:/-])({'|'.join(INSTEAD)})(?![\w:/-])", re.IGNORECASE)
_SPAN = re.compile(r"`[^`\n]*`")
_KEY = re.compile(r'"[\w.:/-]+"')
"""A name in a JSON document: a key, or one of those that are required."""
SOURCES = ("controller", "api", "hack")
TEXTS = ("README.md", "docs", "bindata")


def _python() -> Iterator[pathlib.Path]:
    for folder in SOURCES:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _texts() -> Iterator[pathlib.Path]:
    for name in TEXTS:
        path = ROOT / name
        for text in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if text.suffix in {".md", ".yaml", ".html", ".json"} and "sessions" not in text.parts:
                yield text


def _named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield node.lineno, name
            case _:
                pass


def _sentences(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        # A string that is one name is the key of an answer, and no sentence.
        if token.type in {tokenize.COMMENT, tokenize.STRING} and not _KEY.fullmatch(token.string):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def _banned(line: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(_SPAN.sub("", line))]


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in _python()])
def test_the_code_uses_the_words_of_the_field(path: pathlib.Path) -> None:
    source = path.read_text()
    names = [f"{path}:{line}: a variable {name}" for line, name in _named(ast.parse(source)) if name in BANNED_NAMES]
    words = [
        f"{path}:{number}: {word}; say {INSTEAD[word]}" for number, line in _sentences(source) for word in _banned(line)
    ]
    assert not names + words, "\n".join(names + words)


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in _texts()])
def test_what_users_read_is_in_their_words(path: pathlib.Path) -> None:
    words = [
        f"{path}:{number}: {word}; say {INSTEAD[word]}"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for word in _banned(_KEY.sub("", line) if path.suffix == ".json" else line)
    ]
    assert not words, "\n".join(words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Nobody moved it, and it was told", ["nobody", "moved", "told"]),
        ("upgrades are held back", ["held back"]),
        ("`moved` is a field, wish_list a name", []),
        ("removed, admittedTime", []),
    ],
)
def test_a_word_is_seen_and_a_name_is_left_alone(line: str, words: list[str]) -> None:
    assert _banned(line) == words


def test_a_name_is_seen_wherever_it_is_given() -> None:
    source = "import a as told\nfound = 1\nfor one, other in (): pass\ndef f(said, *, made=2): found.one = 3\n"
    assert [name for _, name in _named(ast.parse(source)) if name in BANNED_NAMES] == [
        "told", "found", "one", "said", "made",
    ]  # fmt: skip
