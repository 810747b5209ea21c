"""One trial step by step, alone or beside another one."""
