"""Bytes that a reader may be given: noise, and valid files with faults put in."""

import os

from hypothesis import HealthCheck, settings, strategies as st

from edgewise import EdgewiseError

IS_SEARCH = os.environ.get("HYPOTHESIS_PROFILE") == "search"
#: Text that breaks parsers: quotes, ends of lines, marks of other encodings, numbers beyond all
#: bounds, nesting, declarations and entities.
TOKENS = (
    b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\x1a", b"\xff", b"\xfe\xff",
    b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"-1", b"1e999", b"1e-999", b"nan", b"inf",
    b"NA", b"NaN", b"-Infinity", b"9" * 30, b"9" * 5000, b"0x10", b"1_000", b"=1+1", b"true",
    b"null", b"[" * 50, b"{" * 50, b"]", b"}", b"<", b">", b"&amp;", b"&x;", b"<!--", b"-->",
    b"<![CDATA[", b"<!DOCTYPE a>", b"<?xml version='1.0' encoding='utf-7'?>", b"\\u0000",
    b"\\ud800", b"__class__", b"(" * 300, b"-" * 300, b"0", b"1", b"" ,
)  # fmt: skip


def examples(number):
    """Settings for a fuzzer: a few examples that never change, or many new ones in a search."""
    return settings(
        max_examples=50 * number if IS_SEARCH else number,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )


@st.composite
def mutated(draw, seeds):
    """One of the seeds with a few faults: cut, flipped, spliced, repeated, or with a token in."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.sampled_from([0, 1, 2, 4, 8, 40, 400])))
        kind = draw(st.sampled_from(["cut", "drop", "repeat", "flip", "token", "splice", "noise"]))
        if kind == "cut":
            content = content[:start]
        elif kind == "drop":
            content = content[:start] + content[stop:]
        elif kind == "repeat":
            content = (
                content[:stop] + content[start:stop] * draw(st.integers(1, 3)) + content[stop:]
            )
        elif kind == "flip" and start < len(content):
            changed = content[start] ^ draw(st.integers(1, 255))
            content = content[:start] + bytes([changed]) + content[start + 1 :]
        elif kind == "token":
            content = content[:start] + draw(st.sampled_from(TOKENS)) + content[stop:]
        elif kind == "splice":
            other = draw(st.sampled_from(seeds))
            place = draw(st.integers(0, len(other)))
            content = content[:start] + other[place : place + 200] + content[stop:]
        elif kind == "noise":
            content = content[:start] + draw(st.binary(max_size=20)) + content[stop:]
    return content


def outcome(reader, path):
    """What a reader returns, or None where it refuses in a sentence; nothing else may happen."""
    try:
        return reader(path)
    except EdgewiseError as error:
        message = str(error)
        assert message.strip().endswith((".", "?")), message
        return None
