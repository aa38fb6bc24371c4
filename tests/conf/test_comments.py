import pytest

from pliant.conf.comments import Entry, read_comments
from pliant.errors import FileFormatError

TEXT = """\
# @package _global_
# A robot with two
# legs. Others come later.
# Not told.
defaults:
  - _self_
  - robot: arm2 # or another
speed: 1.0 # ahead, m/s
colour: "#ff0000" # of the trunk
unsaid: 3
# what it stands on
feet:
  left: [1.0,
    2.0] # where, m
  # its size
  sole:
    width: 0.1 # across, m
toe: {mass: 0.1, length: 0.2} # of both
text: |
  # not a comment
  more
last: {a: "x # y"} # the last
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "legs.yaml"
    path.write_text(TEXT)
    return path


def test_a_comment_belongs_to_the_setting_of_its_line_or_to_the_node_below(file):
    said = read_comments(file)
    assert said.summary == "A robot with two legs. Others come later."
    assert said.groups == {"robot": "or another"}
    expected = {
        ("speed",): Entry("ahead, m/s", False),
        ("colour",): Entry("of the trunk", False),
        ("unsaid",): Entry("", False),
        ("feet",): Entry("what it stands on", True),
        ("feet", "left"): Entry("where, m", False),
        ("feet", "sole"): Entry("its size", True),
        ("feet", "sole", "width"): Entry("across, m", False),
        ("toe",): Entry("of both", False),
        ("text",): Entry("", False),
        ("last",): Entry("the last", False),
    }
    assert {key: said.entries[key] for key in expected} == expected


def test_a_file_without_comments_says_nothing(tmp_path):
    (tmp_path / "plain.yaml").write_text("a: 1\n# of b, not of the file\nb:\n  c: 2\n")
    said = read_comments(tmp_path / "plain.yaml")
    assert (said.summary, said.entries["b",].comment) == ("", "of b, not of the file")
    (tmp_path / "empty.yaml").write_text("")
    assert read_comments(tmp_path / "empty.yaml") == ("", {}, {})


def test_what_is_no_yaml_is_refused_by_its_name(tmp_path):
    (tmp_path / "broken.yaml").write_text("a: [1, 2\n")
    with pytest.raises(FileFormatError, match=r"broken\.yaml cannot be read"):
        read_comments(tmp_path / "broken.yaml")
