/** The migration for single records that are written. A migration is never changed once it is released. */
export const recordTables = `
  -- Single records that were written since the version of their entity was made (docs/decisions/0041). key: a hash that
  -- names the record. json: NULL for one that was deleted. added: how many records there are more since.
  CREATE TABLE carrel.record_change (
    seq BIGINT PRIMARY KEY,
    entity TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    key_values TEXT COLLATE "C" NOT NULL,
    json TEXT COLLATE "C",
    added INTEGER NOT NULL
  );
  CREATE INDEX record_change_of_entity ON carrel.record_change (entity, seq);
  CREATE INDEX record_change_of_record ON carrel.record_change (key, seq);
  -- The last seq that was given.
  ALTER TABLE carrel.state ADD COLUMN records BIGINT NOT NULL DEFAULT 0;
  `
