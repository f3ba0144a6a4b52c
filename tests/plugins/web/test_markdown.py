"""Markdown to HTML: only listed tags, everything else is text."""

import re

import pytest

from holdfast_web.rendering import to_html

#: Every tag, with its attributes, that may be written.
ALLOWED = re.compile(
    r'</?(?:p|em|strong|s|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|h[2-6]|code)(?: id="L\d+")?>|<br>|<hr>'
    r'|<pre(?: id="L\d+")? tabindex=0>|</pre>|<a href="https?://[^"<>]*" rel="noopener noreferrer">|</a>'
)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)> more",
        "[click](javascript:alert(1))",
        "[click](JaVaScRiPt:alert(1)) [x](data:text/html,<b>) [y](vbscript:x) [z](file:///etc/passwd)",
        "[rel](//evil.example/x) [path](/etc/passwd) [frag](#x)",
        '[quote](https://e.example/"onmouseover="alert(1))',
        "![picture](https://tracker.example/1.png)",
        "<https://ok.example> <javascript:alert(1)>",
        "# <b>heading</b>\n\n- <i>item</i>\n\n> <u>quote</u>\n\n    <code block>\n",
        "```html\n</code></pre><script>\n```",
        "|a|b|\n|--|:-:|\n|<x>|`</td>`|",
        "<!-- holdfast:block id=x --><style>*{}</style>",
        "&lt;script&gt; &#60;script&#62; \\<script>",
        "*" * 500 + "a" + "*" * 500,
        "> " * 300 + "deep",
        "- " * 300 + "deep",
        "[" * 500 + "](" * 500,
        "a\u202eb \x1b[31mred\x1b[0m \x9b31m \u2066x\u2069 \x00 \ufeff",
    ],
)
def test_to_html__of_any_text__writes_listed_tags_only(text):
    html = to_html(text)
    rest = ALLOWED.sub("", html)
    assert "<" not in rest
    assert ">" not in rest
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
