"""Coming from other programs, and leaving: importers, exporters, and folders of Markdown notes."""
