"""The MemoryLake family: files, and Python that runs beside them."""

from memolith.tools.family import Family

memorylake = Family(
    "memorylake",
    modules=(
        "memolith.tools.memorylake.files",
        "memolith.tools.memorylake.runners",
    ),
    instructions="Files, found by what they say: call get_memorylake_metadata first.",
    purpose="files found by their content, and Python code over them",
    stands_for="MemoryLake",
)
