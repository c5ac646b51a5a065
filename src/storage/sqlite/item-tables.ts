/** The migration for items and files as administrators change them. A migration is never changed once it is released. */
export const itemTables = `
  ALTER TABLE item ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE item ADD COLUMN discoverable INTEGER NOT NULL DEFAULT 1;
  -- Grows with every change of the item, its bundles and its files (docs/decisions/0043).
  ALTER TABLE item ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE bundle (
    uuid TEXT PRIMARY KEY,
    item TEXT NOT NULL REFERENCES item,
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    primary_bitstream TEXT,
    UNIQUE (item, name)
  ) STRICT;
  -- Bundles had the UUID of their first file with another version number, and keep it.
  INSERT INTO bundle (uuid, item, name, place)
    SELECT substr(uuid, 1, 14) || '8' || substr(uuid, 16), item, bundle, min(place) FROM bitstream GROUP BY item, bundle;
  -- What clients say of a rule for readers besides the rule.
  CREATE TABLE policy (
    id TEXT PRIMARY KEY,
    -- The uuid of an item or a bitstream.
    object TEXT NOT NULL,
    rule TEXT NOT NULL,
    name TEXT,
    description TEXT,
    type TEXT,
    UNIQUE (object, rule)
  ) STRICT, WITHOUT ROWID;
  -- The bytes of the bitstreams of an audience. Their sum counts against the quota.
  ALTER TABLE audience ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE audience SET bytes = coalesce((SELECT sum(size) FROM bitstream WHERE bitstream.audience = audience.id), 0);
  DROP TRIGGER bitstream_added;
  DROP TRIGGER bitstream_removed;
  DROP TRIGGER bitstream_moved;
  CREATE TRIGGER bitstream_added AFTER INSERT ON bitstream BEGIN
    UPDATE audience SET bitstreams = bitstreams + 1, bytes = bytes + NEW.size WHERE id = NEW.audience; END;
  CREATE TRIGGER bitstream_removed AFTER DELETE ON bitstream BEGIN
    UPDATE audience SET bitstreams = bitstreams - 1, bytes = bytes - OLD.size WHERE id = OLD.audience; END;
  CREATE TRIGGER bitstream_moved AFTER UPDATE OF audience, size ON bitstream
    WHEN NEW.audience <> OLD.audience OR NEW.size <> OLD.size BEGIN
    UPDATE audience SET bitstreams = bitstreams - 1, bytes = bytes - OLD.size WHERE id = OLD.audience;
    UPDATE audience SET bitstreams = bitstreams + 1, bytes = bytes + NEW.size WHERE id = NEW.audience; END;
  DROP VIEW items;
  DROP VIEW seen_items;
  CREATE VIEW items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    (SELECT readers FROM audience WHERE id = item.audience) AS readers, created, modified, withdrawn, discoverable,
    revision, audience FROM item;
  CREATE VIEW seen_items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    NULL AS readers, created, modified, withdrawn, discoverable, audience FROM item;
  `
