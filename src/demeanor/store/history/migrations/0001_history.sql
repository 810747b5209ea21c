-- Rows are added and never changed, except in `tallies` and `run_states`, which follow from the others, and `derived`.
-- Times are ISO 8601 in UTC, flags are 0 or 1, and what is not known is NULL.
-- {key} is a number that the database gives; a table's only key is an INTEGER, which in PostgreSQL becomes a BIGINT.

-- One row per run, whoever made it.
CREATE TABLE runs (
  id {key},
  uid TEXT NOT NULL UNIQUE,          -- no other run has it, on whichever machine it began; an import's comes from its content
  name TEXT NOT NULL UNIQUE,         -- what people call it: its folder's name, with some of the uid where that was taken
  origin TEXT NOT NULL,              -- 'demeanor', or the format it was imported from
  source TEXT NOT NULL,              -- the folder or file it came from
  kind TEXT NOT NULL,                -- 'local', 'ci' or 'nightly'
  started TEXT NOT NULL,
  seed BIGINT NOT NULL,
  demeanor TEXT NOT NULL,            -- the version of the harness
  commit_id TEXT,                    -- of the repository it ran in
  branch TEXT,
  dirty INTEGER,                     -- whether there were uncommitted changes
  trials INTEGER NOT NULL,           -- per cell, unless an eval says otherwise
  arguments TEXT NOT NULL            -- JSON: what the run was asked to do
);
CREATE INDEX runs_by_kind ON runs (kind, started);
CREATE INDEX runs_by_start ON runs (started);

-- One row per eval and subject of a run, in the order of its plan; also for a cell of which nothing was tried.
CREATE TABLE cells (
  id {key},
  run_id BIGINT NOT NULL REFERENCES runs (id),
  eval TEXT NOT NULL,
  subject TEXT NOT NULL,             -- agent:model
  policy TEXT NOT NULL,              -- the eval's policy at the time
  planned INTEGER NOT NULL,          -- trials
  skipped TEXT,                      -- why nothing was tried; NULL where trials were planned
  layer INTEGER NOT NULL,            -- of the test pyramid: 2 for a behaviour, 3 for a whole task
  UNIQUE (run_id, eval, subject)
);
CREATE INDEX cells_by_eval ON cells (eval, subject);

-- One row per attempt at a trial. Another attempt follows where `final` is 0.
CREATE TABLE attempts (
  cell_id BIGINT NOT NULL REFERENCES cells (id),
  number INTEGER NOT NULL,           -- the trial within its cell
  digest BIGINT NOT NULL,            -- of the attempt's line in the ledger: the same line twice is one attempt
  attempt INTEGER NOT NULL,
  final INTEGER NOT NULL,
  verdict TEXT NOT NULL,             -- 'pass', 'fail' or 'void'
  cause TEXT,                        -- why it is void
  detail TEXT,                       -- what exactly
  ended TEXT NOT NULL,
  seconds DOUBLE PRECISION NOT NULL, -- wall time of the agent's work
  turns INTEGER NOT NULL,            -- model answers
  input_tokens BIGINT,
  output_tokens BIGINT,
  cost_usd DOUBLE PRECISION,
  eval_hash TEXT NOT NULL,
  prompt_hash TEXT,
  agent_version TEXT,
  fingerprint TEXT NOT NULL,         -- of the subject as it really was
  model_hash TEXT NOT NULL,          -- of what answered as model
  capture_hash TEXT NOT NULL,        -- SHA-256 of the capture
  more TEXT NOT NULL,                -- JSON: the rest of the record (call chain, ends of the output, notes, folder …)
  PRIMARY KEY (cell_id, number, digest)
);

-- The attempt that counts of each trial: the last one after which no other was to follow.
CREATE VIEW trials AS
  SELECT * FROM (
    SELECT attempts.*,
      ROW_NUMBER() OVER (PARTITION BY cell_id, number ORDER BY final DESC, ended DESC, attempt DESC) AS place
    FROM attempts
  ) AS ranked WHERE place = 1;

-- One row per check and attempt.
CREATE TABLE findings (
  cell_id BIGINT NOT NULL,
  number INTEGER NOT NULL,
  digest BIGINT NOT NULL,
  position INTEGER NOT NULL,         -- in the order in which they were asked
  name TEXT NOT NULL,                -- the check's
  answer TEXT NOT NULL,              -- 'yes', 'no' or 'unknown'
  reason TEXT NOT NULL,
  PRIMARY KEY (cell_id, number, digest, position),
  FOREIGN KEY (cell_id, number, digest) REFERENCES attempts (cell_id, number, digest)
);

-- One row per exchange with a model: what it used.
CREATE TABLE usages (
  cell_id BIGINT NOT NULL,
  number INTEGER NOT NULL,
  digest BIGINT NOT NULL,
  exchange INTEGER NOT NULL,         -- 1, 2, 3 … in the order of arrival
  model TEXT NOT NULL,               -- the one that answered, or that was asked
  stopped TEXT NOT NULL,             -- why the answer ended, or the kind of error that came instead
  input_tokens BIGINT,
  output_tokens BIGINT,
  cache_read BIGINT,
  cache_write BIGINT,
  reasoning BIGINT,
  cost_usd DOUBLE PRECISION,
  started DOUBLE PRECISION NOT NULL, -- seconds since the trial began
  first_byte DOUBLE PRECISION,
  ended DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (cell_id, number, digest, exchange),
  FOREIGN KEY (cell_id, number, digest) REFERENCES attempts (cell_id, number, digest)
);

-- The attempts of a cell, counted as they are added: reports and decisions read this and not the attempts.
CREATE TABLE tallies (
  cell_id INTEGER PRIMARY KEY REFERENCES cells (id),
  passed INTEGER NOT NULL DEFAULT 0,     -- trials, by the attempt that counts
  failed INTEGER NOT NULL DEFAULT 0,
  voided INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  seconds DOUBLE PRECISION NOT NULL DEFAULT 0,
  turns BIGINT NOT NULL DEFAULT 0,
  input_tokens BIGINT,
  output_tokens BIGINT,
  cost_usd DOUBLE PRECISION,
  unpriced INTEGER NOT NULL DEFAULT 0,   -- attempts whose cost is not known
  uncounted INTEGER NOT NULL DEFAULT 0,  -- attempts whose tokens are not known in full
  eval_hash TEXT,                        -- 'a + b' where the attempts differ
  prompt_hash TEXT,
  agent_version TEXT,
  fingerprint TEXT,
  model_hash TEXT
);

-- What was decided, by which rule, from which numbers.
CREATE TABLE decisions (
  digest BIGINT PRIMARY KEY,         -- of everything below: the same decision twice is one
  made TEXT NOT NULL,
  ruling TEXT NOT NULL,              -- 'gate', 'promote', 'demote', 'compare' or 'check-in'
  eval TEXT NOT NULL,                -- '' where it was about a whole run
  subject TEXT NOT NULL,             -- '' where it was about all of them
  answer TEXT NOT NULL,
  rule TEXT NOT NULL,
  reason TEXT NOT NULL,
  run TEXT,                          -- the run's name
  commit_id TEXT,
  eval_hash TEXT NOT NULL,
  evidence TEXT NOT NULL             -- JSON
);
CREATE INDEX decisions_by_eval ON decisions (ruling, eval, made);

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

-- What is stored of each run, counted as it is added: pages and reports see from it whether a result is still valid.
CREATE TABLE run_states (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id),
  cells INTEGER NOT NULL,            -- the number of its cells
  writes BIGINT NOT NULL             -- how often cells or attempts were added
);

-- Results that take long to calculate, by a digest of everything they follow from. Rows may be deleted at any time.
CREATE TABLE derived (
  digest BIGINT PRIMARY KEY,
  made TEXT NOT NULL,
  value TEXT NOT NULL                -- JSON
);
