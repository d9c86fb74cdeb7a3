"""Text that claims to be YAML: any bytes, words of YAML in any order, good files spoilt, and what is made to hurt.

What hurts: aliases of aliases (a few lines that would fill any memory when written out), merge keys of merge keys,
an alias inside of itself, depth, length, numbers of thousands of digits, keys that stand there twice, tags.
"""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

WORDS = st.sampled_from(
    ["name", "kind", "null", "~", "yes", "1e400", ".inf", ".nan", "0o9", "1_000", "0b2", "190:20:30", "2026-13-45",
     "2026-02-30T25:61:61Z", "!!int x", "!!int ''", "!!bool maybe", "!!float x", "!!binary '*'", "!!timestamp x",
     "!!python/object/apply:os.system [id]", "!!set {a, b}", "!!omap [a: 1]", "!!merge x", "&a", "*a", "<<: *a", "<<",
     "- ", ": ", "? ", "\n  ", "\n", "{", "}", "[", "]", ",", "---\n", "...\n", "%YAML 9.9\n", "%TAG ! x\n", "\t",
     '"\\ud800"', '"\\x00"', "'", '"', "|\n", ">\n", "#", "\ufeff", "\x85", "\u2028", "\ud800"]
)  # fmt: skip


def bomb(levels: int, width: int, *, merged: bool = False) -> str:
    """Aliases of aliases: `width` to the power of `levels`, or as many keys that are merged."""
    lines = ["b0: &b0 {x: 1}" if merged else "b0: &b0 [x]"]
    for level in range(1, levels + 1):
        inside = ", ".join([f"*b{level - 1}"] * width)
        lines.append(f"b{level}: &b{level} " + (f"{{<<: [{inside}]}}" if merged else f"[{inside}]"))
    return "\n".join(lines) + "\n"


_SIZES = st.integers(1, 60)
HURTING = st.one_of(
    st.builds(bomb, _SIZES, st.integers(2, 9)),
    st.builds(lambda levels, width: bomb(levels, width, merged=True), _SIZES, st.integers(2, 9)),
    st.sampled_from(["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n", "&a ? *a\n: *a\n", "? {a: b}\n: c\n"]),
    st.builds(lambda deep, pair: "x: " + pair[0] * deep + pair[1] * deep + "\n", st.sampled_from([20, 200, 3000]),
              st.sampled_from([("[", "]"), ("{a: ", "}"), ("[", ""), ("{a: ", ""), ("- ", ""), ("? ", "")])),
    st.builds(lambda count: "".join(f"x{' ' * number}:\n" for number in range(count)), st.sampled_from([10, 200])),
    st.builds(lambda deep: "".join(" " * number + "a:\n" for number in range(deep)), st.sampled_from([10, 200])),
    st.builds(lambda word, count: f"x: {word * count}\n", st.sampled_from(["9", "0xf", "a", "1_", "1:", "' '"]),
              st.sampled_from([10, 5000])),
    st.builds(lambda digits: f"x: 0x{'f' * digits}\n", st.sampled_from([100, 5000, 20000])),
    st.builds(lambda count: "".join(f"k{number}: 1\n" for number in range(count)), st.sampled_from([10, 1500])),
    st.builds(lambda count: "k: 1\n" * count, st.sampled_from([2, 1500])),
    st.builds(lambda count: "a: &a " + "x" * count + "\nb: [" + "*a, " * (count // 4) + "]\n",
              st.sampled_from([100, 6000])),
)  # fmt: skip


def near(good: str) -> st.SearchStrategy[bytes]:
    """Bytes that resemble a good file to any degree."""
    lines = good.splitlines(keepends=True)
    piece = WORDS | HURTING | st.text(max_size=6) | st.sampled_from(lines)

    @st.composite
    def spoilt(draw: st.DrawFn) -> str:
        text = good
        for _ in range(draw(st.integers(1, 3))):
            start = draw(st.integers(0, len(text)))
            end = draw(st.integers(start, min(len(text), start + 40)))
            text = text[:start] + draw(piece) + text[end:]
        return text

    @st.composite
    def indented(draw: st.DrawFn) -> str:
        """Something that hurts below a key of the file, so that it is not passed over as unknown."""
        at = draw(st.integers(0, len(lines) - 1))
        space = " " * draw(st.integers(0, 6))
        hurting = "".join(space + line for line in draw(HURTING).splitlines(keepends=True))
        return "".join(lines[:at]) + hurting + "".join(lines[at:])

    texts = st.one_of(spoilt(), indented(), HURTING, st.builds("".join, st.lists(WORDS, max_size=30)))
    return st.binary(max_size=200) | texts.map(lambda text: text.encode("utf-8", "surrogatepass"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("name"), inner, max_size=3)
    ),
    max_leaves=6,
)


def replaced(data: st.DataObject, content: Any) -> bytes:
    """A document, whose content this spoils, with any value in any one place, or with something left out."""
    value, holder = data.draw(VALUES), content
    while True:
        keys = sorted(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[key]
    else:
        holder[key] = value
    return yaml.safe_dump(content, allow_unicode=True).encode("utf-8", "surrogatepass")
