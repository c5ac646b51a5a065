/** The migration for single records that are written. A migration is never changed once it is released. */
export const recordTables = `
  -- Who may write single records of an entity (docs/decisions/0041); NULL: nobody.
  ALTER TABLE entity ADD COLUMN write TEXT;
  -- Single records that were written since the version of their entity was made. key: a hash that names the record.
  -- json: NULL for one that was deleted. added: how many records there are more since.
  CREATE TABLE record_change (
    seq INTEGER PRIMARY KEY,
    entity TEXT NOT NULL,
    key TEXT NOT NULL,
    key_values TEXT NOT NULL,
    json TEXT,
    added INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX record_change_of_entity ON record_change (entity, seq);
  CREATE INDEX record_change_of_record ON record_change (key, seq);
  -- The last seq that was given.
  ALTER TABLE state ADD COLUMN records INTEGER NOT NULL DEFAULT 0;
  -- What an entity is, in words for a person.
  ALTER TABLE entity ADD COLUMN description TEXT;
  `
