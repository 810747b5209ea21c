-- What people say about trials. Rows are added and never changed; the newest note about a trial counts.
CREATE TABLE notes (
  id {key},
  digest BIGINT NOT NULL UNIQUE,     -- of everything below: the same note twice is one
  run_id BIGINT NOT NULL REFERENCES runs (id),
  eval TEXT NOT NULL,
  subject TEXT NOT NULL,             -- agent:model
  number INTEGER NOT NULL,           -- the trial within its cell
  label TEXT NOT NULL,               -- 'real', 'flaky', 'eval-bug' or 'infra'
  text TEXT NOT NULL,
  author TEXT NOT NULL,              -- '' where it is not known
  made TEXT NOT NULL
);
CREATE INDEX notes_by_trial ON notes (run_id, eval, subject, number);
CREATE INDEX notes_by_eval ON notes (eval, made);
CREATE INDEX notes_by_time ON notes (made);
