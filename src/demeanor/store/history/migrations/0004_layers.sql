-- The layer of the test pyramid that a cell's eval belongs to: 2 for a behaviour, 3 for a whole task.
ALTER TABLE cells ADD COLUMN layer INTEGER NOT NULL DEFAULT 2;

-- Older rows: everything that was imported from Harbor, and every eval whose check is a reward (`reward at least 1`).
UPDATE cells SET layer = 3 WHERE run_id IN (SELECT id FROM runs WHERE origin = 'harbor');
UPDATE cells SET layer = 3 WHERE eval IN (
  SELECT c.eval FROM findings f JOIN cells c ON c.id = f.cell_id
  WHERE f.position = 0 AND f.name LIKE '% at least %'
    AND f.name NOT LIKE '% % at least %' AND f.name NOT LIKE 'judge %' AND f.name NOT LIKE 'command_succeeds %'
);
