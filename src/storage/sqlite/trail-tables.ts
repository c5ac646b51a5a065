/** The migration that chains the audit trail (docs/decisions/0027). A migration is never changed. */
export const trailTables = `
  -- The chains of the audit trail (docs/decisions/0027). Events of before get theirs when the store is opened.
  ALTER TABLE event ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE event ADD COLUMN chain INTEGER;
  ALTER TABLE event ADD COLUMN place INTEGER;
  ALTER TABLE event ADD COLUMN hash BLOB;
  CREATE TABLE trail_key (id INTEGER PRIMARY KEY AUTOINCREMENT, wrapped BLOB NOT NULL) STRICT;
  CREATE TABLE trail_checkpoint (
    n INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL, mac BLOB NOT NULL
  ) STRICT;
  CREATE TABLE trail_head (
    chain INTEGER, place INTEGER, checkpoint INTEGER,
    event INTEGER NOT NULL, time TEXT NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (chain, place, checkpoint)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX trail_head_of_checkpoint ON trail_head (checkpoint);
  DROP TRIGGER event_is_append_only_1;
  DROP TRIGGER event_is_append_only_2;
  CREATE TRIGGER event_is_append_only_1 BEFORE UPDATE ON event WHEN OLD.hash IS NOT NULL
    BEGIN SELECT raise(ABORT, 'events are append-only'); END;
  -- What a checkpoint says is pruned may go.
  CREATE TRIGGER event_is_append_only_2 BEFORE DELETE ON event WHEN NOT EXISTS (
      SELECT 1 FROM trail_head h JOIN trail_checkpoint c ON c.n = h.checkpoint
      WHERE h.chain = OLD.chain AND h.place >= OLD.place AND c.kind = 'prune')
    BEGIN SELECT raise(ABORT, 'events are append-only'); END;
  DROP VIEW own_events;
  DROP VIEW events;
  CREATE VIEW events AS SELECT id, time, event, outcome, eperson, actor,
    (SELECT email FROM eperson WHERE uuid = actor) AS actor_email, client_ip, method, object, reason, count FROM event;
  CREATE VIEW own_events AS SELECT id, time, event, outcome, eperson, actor, actor_email,
    iif(actor IS eperson, client_ip, NULL) AS client_ip, method, object, reason, count FROM events;
  `
