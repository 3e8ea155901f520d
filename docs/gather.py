"""Gathers the pages of the site: those that SUMMARY.md names, each at its path in the repository, and those made of the manual.

A link to a file that the site lacks becomes a link to the repository. One to nothing is an error.

    python gather.py FRAGMENT FOLDER     FRAGMENT: the manual as HTML, by mandoc
"""

import pathlib
import posixpath
import re
import shutil
import sys

REPOSITORY = "https://github.com/cipherloom/cipherloom/blob/main/"
LINK = re.compile(r"\]\(([^)\s]+)\)")
# What is made of other things, and may be linked to.
MADE = {"docs/commands.md", "docs/exit-codes.md", "docs/events.schema.json", "lab/report.html"}

root = pathlib.Path(__file__).resolve().parent.parent
fragment, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
summary = (root / "docs/SUMMARY.md").read_text()
pages = set(LINK.findall(summary))


def write(name: str, text: str) -> None:
    path = folder / "src" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def point(page: str, link: str) -> str:
    """Where a link of a page leads on the site."""
    path, _, anchor = link.partition("#")
    if not path or ":" in path:
        return link
    full = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if full in pages | MADE:
        # mdBook renames these pages, but not the links to them.
        return link.replace("README.md", "index.md")
    if not (root / full).exists():
        sys.exit(f"{page}: the link {link} leads to nothing")
    return REPOSITORY + full + ("#" + anchor if anchor else "")


for page in pages - MADE:
    text = (root / page).read_text()
    write(page, LINK.sub(lambda match: f"]({point(page, match[1])})", text))

commands, exit_codes = "# Commands\n", ""
for section in fragment.read_text().split('<section class="Sh">')[1:]:
    heading, text = section.split("</h1>", 1)
    title = " ".join(re.sub("<[^>]+>", "", heading).split())
    text = text.split("</section>\n</div>")[0]
    # A blank line would end the HTML. Each command's parts are no headings, which the sidebar would list.
    text = re.sub(r"\n\s*\n", "\n", text).replace('<h2 class="Ss"', '<p class="part"').replace("</h2>", "</p>")
    text = '\n<div class="manual">\n' + text.strip().removesuffix("</section>") + "\n</div>\n"
    if title == "EXIT STATUS":
        exit_codes = "# Exit codes\n" + text
    elif title not in ("NAME", "SYNOPSIS", "DESCRIPTION"):
        commands += f"\n## {title.lower()}\n{text}"
assert "## cipherloom encrypt\n" in commands and "<dl" in exit_codes, "mandoc's form has changed"
write("docs/commands.md", commands)
write("docs/exit-codes.md", exit_codes)
write("docs/events.schema.json", (root / "docs/events.schema.json").read_text())
write("SUMMARY.md", summary)
for name in ("book.toml", "site.css", "check.mjs"):
    shutil.copy(root / "docs" / name, folder)
