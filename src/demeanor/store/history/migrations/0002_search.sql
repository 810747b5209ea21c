-- What can be searched of an attempt: why it failed, its calls, and the last lines that its agent printed.
-- Its index differs between the databases, which keep it by themselves.
CREATE TABLE texts (
  id {key},
  cell_id BIGINT NOT NULL,
  number INTEGER NOT NULL,
  digest BIGINT NOT NULL,
  body TEXT NOT NULL
);
{search}
INSERT INTO texts (cell_id, number, digest, body)
  SELECT cell_id, number, digest, COALESCE(detail, '') || ' ' || replace(more, '\n', ' ') FROM attempts ORDER BY ended;
INSERT INTO texts (cell_id, number, digest, body)
  SELECT cell_id, number, digest, reason FROM findings WHERE answer <> 'yes' AND reason <> '';
