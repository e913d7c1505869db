"""`rotlab report`: its files, that they come out the same, and a page that needs nothing else."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from rotlab.cli import main
from rotlab.config.status import INTERRUPTED
from rotlab.report.lengths import lengths
from rotlab.report.panels import plots
from rotlab.report.runs import collect
from rotlab.report.tables import findings, sections
from rotlab.report.text import Section, Table, latex, markdown
from rotlab.report.write import write_report
from tests.report.runs import make_run

_VOID = {"meta", "img", "input", "br"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some runs, one of them unfinished, one damaged, one there twice."""
    folder = tmp_path_factory.mktemp("work") / "runs"
    for difficulty, method in ((4, "wt"), (4, "rot"), (5, "rot")):
        for seed, right in enumerate((700, 650)):
            cell = (f"difficulty={difficulty}", f"method={method}")
            make_run(folder, "task=mul", *cell, seed=seed, right=[100, 400, right])
    make_run(folder, "task=mul", "difficulty=5", "method=rot", seed=2, status=INTERRUPTED)
    make_run(folder, "task=mul", "difficulty=5", "method=rot", seed=2, status=INTERRUPTED, name="copy")
    (make_run(folder, "task=sub", "difficulty=5") / "manifest.json").write_text("{}")
    make_run(folder, "task=sub", "difficulty=4", "architecture=lstm", right=[20, 994])
    return folder


@pytest.fixture(scope="module")
def report(runs: Path) -> Path:
    """The folder of a report of them, with lengths of two small cells."""
    out = runs.parent / "report"
    write_report(findings(collect([runs]), lengths([("mul", 2), ("mul", 3)], 100)), out)
    return out


class Page(HTMLParser):
    """Open elements, links, sources, and what stands in table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def values(self, name: str) -> list[str]:
        return [value for _, one, value in self.attributes if one == name]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- the command ---------------------------------------------------------------------------------------------------


def test_the_command_writes_and_names(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    assert main(["report", "runs", "--out", "out"]) == 0
    told = capsys.readouterr()
    printed = told.out.splitlines()
    assert printed[0] == "8 runs, 7 of them finished"
    figures = ["accuracy-lstm", "accuracy-transformer", "learning-lstm-sub", "learning-transformer-mul"]
    expected = [
        "report.md",
        "report.tex",
        "index.html",
        *(f"figures/{one}.{f}" for one in figures for f in ("svg", "png")),
    ]
    assert printed[1:] == [f"out/{name}" for name in expected]
    assert set(contents(runs.parent / "out")) == set(expected)
    assert re.search(r"^left out: runs/sub-5-\S+: manifest.json can't be read", told.err, flags=re.MULTILINE)
    assert re.search(
        r"^left out: runs/mul-5-\S+: the same run as runs/copy, which counts", told.err, flags=re.MULTILINE
    )
    assert "not counted: runs/copy: interrupted at step 200 of 500,000\n" in told.err


def test_nothing_to_report_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: no run below {tmp_path}: name directories that hold runs")
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_there_are_tables(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", str(runs), "--out", str(tmp_path)]) == 0
    assert "no figures: they need matplotlib (pip install 'rotlab[report]')\n" in capsys.readouterr().err
    assert set(contents(tmp_path)) == {"report.md", "report.tex", "index.html"}


def test_the_same_runs_give_the_same_bytes(runs: Path, report: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = contents(report)
    again = findings(collect([runs]), lengths([("mul", 2), ("mul", 3)], 100))
    write_report(again, report)
    assert contents(report) == before
    assert len(before) == 3 + 2 * len(plots(again))


# --- tables --------------------------------------------------------------------------------------------------------


def test_the_markdown_s_tables(report: Path) -> None:
    text = (report / "report.md").read_text()
    assert (
        "| 4 | wt | 0.6750 ± 0.0354 † | 2 | 0.3573 to 0.9927 | 0.817 ± 0.023 | -0.1420 | 2 of 2 had not plateaued |"
        in text
    )
    assert "| 5 | cot | does not fit | 0 |  |  |  |  |" in text
    assert "2 of 2 had not plateaued; not counted: 1 interrupted |" in text
    assert "![Accuracy of the lstm by difficulty](figures/accuracy-lstm.svg)" in text
    for figure in re.findall(r"\]\((figures/.*?)\)", text):
        assert (report / figure).is_file()
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_the_latex_s_tables(report: Path) -> None:
    text = (report / "report.tex").read_text()
    assert r"4 & wt & 0.6750 $\pm$ 0.0354 \dag{} & 2 & 0.3573 to 0.9927 & 0.817 $\pm$ 0.023 & -0.1420 & " in text
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") > 3
    assert text.isascii()


def test_signs_of_a_language_are_text() -> None:
    sections = [Section("50 %", ("a_b",), (Table("t", ("run", "n"), (("a|b_*", "1 & 2"),)),))]
    assert r"| a\|b\_\* | 1 & 2 |" in markdown("m", sections, {})
    assert r"a|b\_* & 1 \& 2 \\" in latex("m", sections)


def test_lengths_are_there_only_if_asked_for(runs: Path) -> None:
    found = findings(collect([runs]))
    assert not any("lengths" in section.title for section in sections(found))
    assert not any(plot.name in ("context-lengths", "tokens") for plot in plots(found))


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_stands_alone(report: Path) -> None:
    text = (report / "index.html").read_text()
    page = Page(text)
    assert page.open == []
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.values("src"))
    assert len(page.values("alt")) == len(page.values("src")) > 5
    assert {tag for tag, name, _ in page.attributes if name == "href"} == {"a"}
    assert "@import" not in text
    assert "url(" not in text
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(", text)
    assert page.values("id") == list(dict.fromkeys(page.values("id")))


def test_links_lead_to_runs_and_figures(runs: Path, report: Path) -> None:
    links = Page((report / "index.html").read_text()).values("href")
    assert all((report / unquote(link)).exists() for link in links)
    directories = {(report / unquote(link)).resolve() for link in links if not link.startswith("figures/")}
    assert directories == {run.directory.resolve() for run in collect([runs]).runs}
    assert not any(link.startswith("/") for link in links)


def test_the_page_shows_tables_and_mistakes(report: Path) -> None:
    page = Page((report / "index.html").read_text())
    assert ["network", "task", "difficulty", "method", "accuracy"] in [row[:5] for row in page.rows]
    assert ["transformer", "mul", "5", "cot", "does not fit"] in [row[:5] for row in page.rows]
    samples = [row[-1] for row in page.rows if "GO 8+1=[<7>|9]" in row[-1]]
    assert len(samples) == 8
    assert {"transformer", "lstm"} <= set(page.values("data-network"))


def test_figures_hold_no_date_and_no_version(report: Path) -> None:
    for path in (report / "figures").glob("*.svg"):
        text = path.read_text()
        assert "<dc:date>" not in text
        assert "Matplotlib v" not in text
    pictures = re.findall(r"base64,([^\"]+)", (report / "index.html").read_text())
    assert all(base64.b64decode(picture).startswith(b"<?xml") for picture in pictures)
