"""What the documentation site takes from outside of docs/: the benchmarks' page and the notebooks."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]


@event_priority(100)  # before the plugin that renders notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "benchmarks.md", abs_src_path=str(ROOT / "benchmarks" / "README.md")))
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        files.append(File(f"notebooks/{notebook.name}", str(ROOT), config.site_dir, use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links to files outside of docs/, as they are right in a checkout."""
    return markdown.replace("](../benchmarks/README.md)", "](benchmarks.md)")
