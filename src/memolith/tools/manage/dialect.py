"""The manage family: what the documented tools leave out, over REST and the command line only."""

from memolith.tools.family import Family

manage = Family(
    "manage",
    listed_over_mcp=False,
    order=(
        "restore_item",
        "erase_item",
        "undo_event",
        "review_concept",
        "create_topic",
        "update_topic",
        "delete_topic",
        "assign_topic",
        "append_messages",
        "list_conversations",
        "delete_conversation",
        "import_conversations",
        "list_files",
        "show_file",
        "delete_file",
        "reread_file",
        "list_project_members",
        "add_project_member",
        "remove_project_member",
    ),
)
