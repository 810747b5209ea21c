"""The model server between agents and providers: it records every model call."""
