"""What an author writes → Eval: the decorator, scenario folders, and how both are found and read."""
