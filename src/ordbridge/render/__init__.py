"""Every kind of result on every surface: terminal, page, LaTeX, Markdown, notebook, JSON."""
