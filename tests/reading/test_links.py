"""Links to the page, as its address bar writes them."""

from rnnlens.reading.links import link


def test_links_are_written_as_the_page_writes_them():
    assert link("a b", "h1<", 1) == "#text=a+b&at=h1%3C:2"
    assert link("50% & + = #é", "a,b", 0, run="my run") == (
        "#run=my+run&text=50%25+%26+%2B+%3D+%23%C3%A9&at=a%2Cb:1"
    )
    assert link("a", "y", 0, semantic="output+1") == "#text=a&semantic=output%2B1&at=y:1"
    assert link("it's", "h2", 3, run="a", beside="b/c", kinds=("h2", "x,y")) == (
        "#run=a&beside=b/c&text=it's&kinds=h2,x%2Cy&at=h2:4"
    )
    assert link("", "s2", 0, pins=[("l2", 0), ("s2", 4)]) == "#text=&pin=l2:1&pin=s2:5&at=s2:1"
