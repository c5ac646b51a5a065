/** The migration for items and files as administrators change them. A migration is never changed once it is released. */
export const itemTables = `
  ALTER TABLE carrel.item ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE carrel.item ADD COLUMN discoverable INTEGER NOT NULL DEFAULT 1;
  -- Grows with every change of the item, its bundles and its files (docs/decisions/0043).
  ALTER TABLE carrel.item ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
  CREATE TABLE carrel.bundle (
    uuid TEXT COLLATE "C" PRIMARY KEY,
    item TEXT COLLATE "C" NOT NULL REFERENCES carrel.item,
    name TEXT COLLATE "C" NOT NULL,
    place INTEGER NOT NULL,
    primary_bitstream TEXT COLLATE "C",
    UNIQUE (item, name)
  );
  -- Bundles had the UUID of their first file with another version number, and keep it.
  INSERT INTO carrel.bundle (uuid, item, name, place)
    SELECT DISTINCT ON (item, bundle) substr(uuid, 1, 14) || '8' || substr(uuid, 16), item, bundle, place
    FROM carrel.bitstream ORDER BY item, bundle, place;
  -- What clients say of a rule for readers besides the rule.
  CREATE TABLE carrel.policy (
    id TEXT COLLATE "C" PRIMARY KEY,
    -- The uuid of an item or a bitstream.
    object TEXT COLLATE "C" NOT NULL,
    rule TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C",
    description TEXT COLLATE "C",
    type TEXT COLLATE "C",
    UNIQUE (object, rule)
  );
  -- Rules of a file together with those of its item are longer than a tree's entry may be. Who adds an audience locks the
  -- state, so that each is there once.
  ALTER TABLE carrel.audience DROP CONSTRAINT audience_readers_key;
  CREATE INDEX audience_by_readers ON carrel.audience USING hash (readers);
  -- The bytes of the bitstreams of an audience. Their sum counts against the quota.
  ALTER TABLE carrel.audience ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
  UPDATE carrel.audience SET bytes =
    coalesce((SELECT sum(size) FROM carrel.bitstream WHERE bitstream.audience = audience.id), 0);
  CREATE FUNCTION carrel.count_bitstream() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP <> 'INSERT' THEN
        UPDATE carrel.audience SET bitstreams = bitstreams - 1, bytes = bytes - OLD.size WHERE id = OLD.audience;
      END IF;
      IF TG_OP <> 'DELETE' THEN
        UPDATE carrel.audience SET bitstreams = bitstreams + 1, bytes = bytes + NEW.size WHERE id = NEW.audience;
      END IF;
      RETURN NULL;
    END $$;
  DROP TRIGGER bitstream_counted ON carrel.bitstream;
  DROP TRIGGER bitstream_moved ON carrel.bitstream;
  CREATE TRIGGER bitstream_counted AFTER INSERT OR DELETE ON carrel.bitstream
    FOR EACH ROW EXECUTE FUNCTION carrel.count_bitstream();
  CREATE TRIGGER bitstream_moved AFTER UPDATE OF audience, size ON carrel.bitstream
    FOR EACH ROW WHEN (OLD.audience <> NEW.audience OR OLD.size <> NEW.size) EXECUTE FUNCTION carrel.count_bitstream();
  DROP VIEW carrel.seen_items;
  DROP VIEW carrel.items;
  CREATE VIEW carrel.items AS SELECT uuid, identifier, title, CAST(authors AS JSON) AS authors, issued, type,
    CAST(metadata AS JSON) AS metadata, CAST(collections AS JSON) AS collections,
    CAST((SELECT readers FROM carrel.audience WHERE id = item.audience) AS JSON) AS readers, created, modified,
    withdrawn = 1 AS withdrawn, discoverable = 1 AS discoverable, audience FROM carrel.item;
  CREATE VIEW carrel.seen_items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    CAST(NULL AS JSON) AS readers, created, modified, withdrawn, discoverable, audience FROM carrel.items;
  `
