"""The documentation site: what is on it, that every page's code is run by a test, and that it builds strictly."""

import ast
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_documents import ROOT, blocks

from pliant.conf.reference import groups
from pliant.scripts.main import verbs

pytest.importorskip("mkdocs", reason="the site is built by the extra docs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def pages():
    """The module that makes pages of the site."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "theme" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as CI does."""
    folder = tmp_path_factory.mktemp("site")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [ROOT / "docs" / "build", "--site-dir", folder],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def packages():
    """Packages of ours that export names, by their folders."""
    for folder, _, files in os.walk(ROOT / "src" / "pliant", followlinks=True):
        name = ".".join(Path(folder).relative_to(ROOT / "src").parts)
        if "__init__.py" in files and hasattr(importlib.import_module(name), "__all__"):
            yield name


def imported():
    """Module and name of every import of ours in the Python blocks of the pages."""
    for page in PAGES:
        for block in blocks(page, "python"):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pliant"):
                    yield from ((page, node.module, alias.name) for alias in node.names)


def test_every_package_that_exports_names_has_a_page(pages):
    found = set(packages())
    assert {"pliant.actuators", "pliant.controllers.gaits", "pliant.envs"} < found
    assert found - {"pliant.conf"} <= set(pages.PACKAGES)
    assert pages.exported("pliant.conf") == [], "configuration is on pages of its own"


def test_what_the_pages_import_is_in_the_reference(pages):
    known = {(package, name) for package in pages.PACKAGES for name in pages.exported(package)}
    whole = {*pages.PACKAGES, *(module for package in pages.PACKAGES for module in pages.modules(package))}
    missing = [each for each in imported() if each[1] not in whole and each[1:] not in known]
    assert not missing


def test_the_modules_of_the_reference_are_there(pages):
    for package in pages.PACKAGES:
        for module in pages.modules(package):
            assert importlib.util.find_spec(module) is not None, module


@pytest.mark.slow
def test_every_verb_and_every_group_has_a_page(pages):
    made = {address for _, _, address, _ in pages.made()}
    assert {f"reference/verb-{verb}.md" for verb in verbs()} <= made
    assert {f"reference/group-{group}.md" for group in groups()} <= made
    assert {f"reference/{package}.md" for package in pages.PACKAGES} <= made


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_the_python_of_a_page_is_run_by_a_test(page):
    name = Path(page).stem
    tests = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    assert name.startswith("tutorial-") or re.search(rf"[\"'/]{re.escape(name)}\.md[\"']", tests), page


def test_links_that_are_html_become_ones_that_the_builder_checks(pages):
    before = '<a href="step.md"><img src="figures/step_1.svg" width="480" alt="a rig"></a>'
    assert pages.on_page_markdown(before) == "[![a rig](figures/step_1.svg){width=480}](step.md)"


@pytest.mark.slow
def test_every_exported_name_is_on_the_site(pages, site):
    for package in pages.PACKAGES:
        page = (site / "reference" / f"{package}.html").read_text()
        for name in pages.exported(package):
            assert name.startswith("_") or f'id="{package}.{name}"' in page, f"{package}.{name}"


@pytest.mark.slow
def test_the_site_fetches_nothing_from_the_net(site):
    kinds = "stylesheet|preconnect|icon"
    fetched = rf'<(?:script|img|iframe|source)[^>]*\ssrc="https?:|<link[^>]*rel="(?:{kinds})"[^>]*href="https?:'
    for page in site.rglob("*.html"):
        assert not re.search(fetched, page.read_text()), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:|@import", sheet.read_text()), sheet
    assert (site / "search" / "search_index.js").exists(), "the search works on files"


def test_nothing_is_glued_to_a_table():
    """The site, other than a repository's page, takes a line right after a table for its next row."""
    for page in PAGES:
        text = re.sub(r"^( *)```.*?^\1```", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
        glued = re.search(r"^ *\|.*\n(?! *\||\s*$).+|^(?! *\|)(?!\s*$).+\n *\|", text, re.MULTILINE)
        assert glued is None, f"{page}: {glued[0]}"
