"""The model server between agents and providers: the witness of every trial."""
