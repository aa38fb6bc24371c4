import re

import pytest

from pliant.conf.pages import group_page, verb_page
from pliant.conf.reference import choice_settings, choices, groups, groups_of_verb, sections, verb_settings, verbs
from pliant.errors import UnknownNameError


def tables(page):
    """Rows of the tables of a page, each a list of cells."""
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def in_order(verb):
    """Keys of a verb as its sections have them."""
    return [one.key for _, rows in sections(verb_settings(verb), groups_of_verb(verb)) for one in rows]


def check_markdown(page):
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    outside = re.sub(r"`[^`\n]*`", "", text)
    assert "`" not in outside  # every piece of code is closed on its line
    assert not re.search(r"(?<!\\)\*|(?<!\\)_\b(?!_)", re.sub(r"\(group-\w+\.md\)|\(#\w+\)", "", outside))
    assert not re.search(r"[{}<]", outside)


@pytest.mark.parametrize("verb", verbs())
def test_the_page_of_a_verb_has_every_setting_and_links_to_its_groups(verb):
    page = verb_page(verb)
    rows = [row for row in tables(page) if len(row) == 3]
    assert [row[0] for row in rows if row[0].startswith("`")] == [f"`{key}`" for key in in_order(verb)]
    for group in groups_of_verb(verb):
        assert f"[{group.name}](group-{group.name}.md)" in page
        assert group.name in groups()
    assert page.startswith("# pliant ")
    check_markdown(page)


@pytest.mark.parametrize("group", ["hardware", "ilc", "trajectory", "recipe", "randomisation"])
@pytest.mark.slow
def test_the_page_of_a_group_has_every_setting_of_every_choice(group):
    page = group_page(group)
    for choice in choices(group):
        part = page.partition(f"\n## {choice.name}\n")[2].partition("\n## ")[0]
        shown = {row[0] for row in tables(part)}
        assert {f"`{one.key}`" for one in choice_settings(group, choice.name) if one.key != group} <= shown
        assert f"[`{choice.name}`](#{choice.name})" in page
    check_markdown(page)


def test_meanings_are_no_markup():
    page = verb_page("ilc")
    assert "things by name: `{wall: {box: [1, 0.1, 0.5], position: [0.5, 0, 0.2], stiffness: 5e4}}`" in page


def test_pages_of_what_is_not_there():
    with pytest.raises(UnknownNameError, match="unknown verb with settings 'bus'"):
        verb_page("bus")
    with pytest.raises(UnknownNameError, match="unknown group 'common'"):
        group_page("common")
