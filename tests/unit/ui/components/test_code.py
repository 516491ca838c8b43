"""JSON with its colours, and texts with code in them: nothing in them is taken for HTML."""

from __future__ import annotations

from caudal.ui.components.cards import with_code
from caudal.ui.components.code import json_html
from caudal.ui.components.location import url


def test_keys_strings_numbers_and_words_are_told_apart() -> None:
    assert json_html('{"a": "1", "b": -2.5, "c": null}') == (
        '{<span class="j-key">&quot;a&quot;</span>: <span class="j-string">&quot;1&quot;</span>, '
        '<span class="j-key">&quot;b&quot;</span>: <span class="j-number">-2.5</span>, '
        '<span class="j-key">&quot;c&quot;</span>: <span class="j-word">null</span>}'
    )


def test_what_looks_like_html_is_text() -> None:
    assert "<script>" not in json_html('{"x": "<script>alert(1)</script>"}')
    assert with_code("run `a<b` & <i>go</i>") == "run <code>a&lt;b</code> &amp; &lt;i&gt;go&lt;/i&gt;"


def test_a_url_is_quoted_and_empty_parameters_are_left_out() -> None:
    assert url("topics", "a/b c", tab="config", q="") == "/topics/a%2Fb%20c?tab=config"
    assert url() == "/"
