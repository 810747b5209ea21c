-- What is stored of each run, counted as it is added: pages and reports see from it whether a result is still valid.
CREATE TABLE run_states (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id),
  cells INTEGER NOT NULL,            -- the number of its cells
  writes BIGINT NOT NULL             -- how often cells or attempts were added
);
INSERT INTO run_states (run_id, cells, writes)
  SELECT r.id, (SELECT COUNT(*) FROM cells c WHERE c.run_id = r.id), 1 FROM runs r;

-- Results that take long to calculate, by a digest of everything they follow from. Rows may be deleted at any time.
CREATE TABLE derived (
  digest BIGINT PRIMARY KEY,
  made TEXT NOT NULL,
  value TEXT NOT NULL                -- JSON
);
