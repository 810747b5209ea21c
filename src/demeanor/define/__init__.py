"""What an author writes → Eval: the decorator, scenario folders, Harbor tasks, and how they are found."""
