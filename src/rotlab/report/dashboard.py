"""A project's pages in Weights & Biases as code: a report and a workspace over the runs that training logs there.

Both show the same parts. They are built by wandb-workspaces, an extra, which is imported only when one is built.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rotlab.tasks import METHODS, TASKS

if TYPE_CHECKING:
    import wandb_workspaces.reports.v2 as wr
    import wandb_workspaces.workspaces as ws

TITLE = "Recursion of Thought: accuracy, speed and mistakes"
INTRODUCTION = (
    "Made by `rotlab dashboard`. A group is a cell (task, difficulty, method, architecture) and its runs are seeds, "
    "unless logger.wandb.group was set; a line is the mean of a group, its band the standard deviation over seeds."
)
# Marks that W&B allows in no project's name, and the length of the longest.
FORBIDDEN, LONGEST = "/\\#?%:", 128
# A report's grid is 24 columns wide: two panels a row.
WIDTH, HEIGHT = 12, 8
# Columns of the table of runs; W&B keeps a setting of a group under `value`.
COLUMNS = [
    "run:displayName", "config:task.value.name", "config:difficulty.value", "config:method.value.name",
    "config:architecture.value.name", "config:seed.value", "summary:eval/problem", "summary:eval/free",
    "summary:step", "tags:__ALL__",
]  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A heading, a line on what is seen, panels. filters: of which runs. cells: the runs of a cell are one."""

    name: str
    text: str
    panels: list[Any]
    filters: str = ""
    cells: bool = True


@dataclass(frozen=True)
class Dashboard:
    """A report and a workspace that can be written down, or made in W&B."""

    report: wr.Report
    workspace: ws.Workspace

    def specification(self) -> str:
        """Both as JSON, in the very form in which W&B takes them; the same text for the same project and entity."""
        # wandb-workspaces has no public way to a specification but to send it.
        report, workspace = self.report._to_model(), self.workspace._to_model()
        content = {
            "entity": workspace.entity,
            "project": workspace.project,
            "report": {"title": report.display_name, "spec": _sent(report.spec)},
            "workspace": {"name": workspace.display_name, "spec": _sent(workspace.spec)},
        }
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def save(self) -> tuple[str, str]:
        """Make a new report and a new workspace in W&B; their addresses. Raises what wandb and the network raise."""
        self.report.save()
        self.workspace.save()
        return self.report.url, self.workspace.url


def dashboard(project: str, entity: str = "") -> Dashboard:
    """The pages of a project; entity may be left open where they are only written down.

    Raises ValueError for a name that W&B allows no project, and if wandb-workspaces isn't installed.
    """
    if not project.strip() or len(project) > LONGEST or set(project) & set(FORBIDDEN):
        raise ValueError(f"project {project!r}: write a name of 1 to {LONGEST} characters, none of {FORBIDDEN}")
    try:
        import wandb_workspaces.reports.v2 as wr
        import wandb_workspaces.workspaces as ws
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("wandb_workspaces"):
            raise
        raise ValueError("wandb-workspaces isn't installed: pip install 'rotlab[dashboard]'") from error
    report = wr.Report(project=project, entity=entity, title=TITLE, width="fluid", blocks=_blocks())
    sections = [
        ws.Section(
            name=part.name, is_open=True, panels=_numbered(f"section-{number}", part.panels),
            layout_settings=ws.SectionLayoutSettings(columns=2, rows=2),
            panel_settings=ws.SectionPanelSettings(x_axis="step"),
        )
        for number, part in enumerate(_parts())
    ]  # fmt: skip
    runs = ws.RunsetSettings(groupby=[ws.Metric("Group")], pinned_columns=COLUMNS)
    settings = ws.WorkspaceSettings(x_axis="step", max_runs=100)
    workspace = ws.Workspace(
        entity=entity, project=project, name="rotlab", sections=sections, runset_settings=runs, settings=settings
    )
    return Dashboard(report, workspace)


def _parts() -> list[Part]:
    return [
        Part(
            "Accuracy", "Test problems whose every context is right, at the last evaluation. "
            "Bars of a method are means over all difficulties that have runs; those of cells, over seeds.",
            [*_accuracy(), _bars("Accuracy by task", "task.name"), _bars("Accuracy of each cell", None)], cells=False,
        ),
        Part(
            "Learning curves", "The quick look between evaluations, the evaluations, and what is minimised.",
            [
                _curve("Quick look", "probe/problem", top=1.0), _curve("Evaluation", "eval/problem", top=1.0),
                _curve("Loss", "train/loss", logarithmic=True),
                _curve("Right targets", "train/token_accuracy", top=1.0),
            ],
        ),
        Part(
            "Throughput", "Training contexts and tokens a second, padding not counted; the share of time that the "
            "network waits for data, and of padding among the tokens computed.",
            [
                _curve("Contexts a second", "speed/contexts_per_s"), _curve("Tokens a second", "speed/tokens_per_s"),
                _curve("Waiting for data", "data/wait_share"), _curve("Padding", "data/padding_share"),
            ],
        ),
        Part(
            "Free-running against teacher-forced", "Of runs with evaluation.free_running: problems that the network "
            "solves by its own recursion, against those whose every context is right. Off the diagonal they disagree.",
            _free_running(), filters="Config('evaluation.value.free_running') >= 1",
        ),
        Part(
            "Wrong samples", "Contexts of the last evaluation that went wrong, the first wrong token marked "
            "[written|expected].", _wrong_samples(), cells=False,
        ),
    ]  # fmt: skip


def _accuracy() -> list[Any]:
    import wandb_workspaces.reports.v2 as wr

    by_difficulty = wr.ScatterPlot(
        title="Accuracy by difficulty", x=wr.Config("difficulty"), y=wr.SummaryMetric("eval/problem"),
        range_y=(0.0, 1.0), running_ymean=True, legend_template="${run:displayName}", layout=_layout(),
    )  # fmt: skip
    return [by_difficulty, _bars("Accuracy by method", "method.name")]


def _bars(title: str, setting: str | None) -> Any:
    """Accuracy by a setting, or by W&B's groups, which are cells."""
    import wandb_workspaces.reports.v2 as wr

    return wr.BarPlot(
        title=title, metrics=["eval/problem"], range_x=(0.0, 1.0), groupby=wr.Config(setting) if setting else "Group",
        groupby_aggfunc="mean", groupby_rangefunc="stddev", max_runs_to_show=1000, max_bars_to_show=200,
        layout=_layout(),
    )  # fmt: skip


def _curve(title: str, *metrics: str, top: float | None = None, logarithmic: bool = False) -> Any:
    """Metrics by optimizer step, a line for each cell."""
    import wandb_workspaces.reports.v2 as wr

    return wr.LinePlot(
        title=title, x="step", y=list(metrics), range_y=(None if top is None else 0.0, top), log_y=logarithmic or None,
        groupby="Group", groupby_aggfunc="mean", groupby_rangefunc="stddev", max_runs_to_show=100, layout=_layout(),
    )  # fmt: skip


def _free_running() -> list[Any]:
    import wandb_workspaces.reports.v2 as wr

    against = wr.ScatterPlot(
        title="Free-running by teacher-forced", x=wr.SummaryMetric("eval/problem"), y=wr.SummaryMetric("eval/free"),
        range_x=(0.0, 1.0), range_y=(0.0, 1.0), legend_template="${run:displayName}", layout=_layout(),
    )  # fmt: skip
    return [against, _curve("Both while training", "eval/problem", "eval/free", top=1.0)]


def _wrong_samples() -> list[Any]:
    import wandb_workspaces.reports.v2 as wr

    return [wr.WeavePanelSummaryTable(table_name="eval/wrong_samples", layout=wr.Layout(w=2 * WIDTH, h=2 * HEIGHT))]


def _layout() -> wr.Layout:
    import wandb_workspaces.reports.v2 as wr

    return wr.Layout(w=WIDTH, h=HEIGHT)


def _blocks() -> list[Any]:
    """The report: every part, and the first one again for each task, with a set of runs for each method."""
    import wandb_workspaces.reports.v2 as wr

    blocks: list[Any] = [wr.P(INTRODUCTION), wr.TableOfContents()]
    for number, part in enumerate(_parts()):
        runs = wr.Runset(name="runs", filters=part.filters, groupby=["group"] if part.cells else [])
        grid = _grid(f"part-{number}", [runs], part.panels)
        blocks += [wr.H2(part.name), wr.P(part.text), grid]
        if part.name == "Accuracy":
            blocks += [block for task in TASKS for block in (wr.H3(f"Accuracy: {task}"), _task_grid(task))]
    return blocks


def _task_grid(task: str) -> wr.PanelGrid:
    import wandb_workspaces.reports.v2 as wr

    its = f"Config('task.value.name') = '{task}'"
    runsets = [wr.Runset(name=one, filters=f"{its} and Config('method.value.name') = '{one}'") for one in METHODS]
    return _grid(f"task-{task}", runsets, _accuracy())


def _grid(name: str, runsets: list[wr.Runset], panels: list[Any]) -> wr.PanelGrid:
    import wandb_workspaces.reports.v2 as wr

    return wr.PanelGrid(runsets=_numbered(f"{name}-runs", runsets), panels=_numbered(f"{name}-panel", panels))


def _numbered(name: str, parts: Iterable[Any]) -> list[Any]:
    """The panels or sets of runs, with ids that follow from their places: wandb-workspaces draws them at random."""
    numbered = list(parts)
    for number, part in enumerate(numbered):
        part._id = f"{name}-{number}"
    return numbered


def _sent(spec: Any) -> Any:
    return json.loads(spec.model_dump_json(by_alias=True, exclude_none=True))
