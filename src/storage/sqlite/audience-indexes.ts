/**
 * The migration that lets a list read only what its viewer may read (docs/decisions/0064). A migration is never changed once it
 * is released.
 */
export const audienceIndexes = `
  CREATE INDEX item_seen_by_title ON item (audience, title IS NULL, title, uuid);
  CREATE INDEX item_seen_by_issued ON item (audience, issued IS NULL DESC, issued DESC, uuid);
  CREATE INDEX item_seen_by_type ON item (audience, type IS NULL, type, uuid);
  CREATE INDEX item_seen_by_created ON item (audience, created, uuid);
  CREATE INDEX item_seen_by_modified ON item (audience, modified, uuid);
  -- Viewers who are in many audiences read these, and skip rows by their audience before anything else is asked of them.
  DROP INDEX item_by_title;
  DROP INDEX item_by_issued;
  DROP INDEX item_by_issued_falling;
  DROP INDEX item_by_type;
  DROP INDEX item_by_type_falling;
  DROP INDEX item_by_created;
  DROP INDEX item_by_modified;
  CREATE INDEX item_by_title ON item (title IS NULL, title, uuid, audience);
  CREATE INDEX item_by_issued ON item (issued IS NULL, issued, uuid, audience);
  CREATE INDEX item_by_issued_falling ON item (issued IS NULL DESC, issued DESC, uuid, audience);
  CREATE INDEX item_by_type ON item (type IS NULL, type, uuid, audience);
  CREATE INDEX item_by_type_falling ON item (type IS NULL DESC, type DESC, uuid, audience);
  CREATE INDEX item_by_created ON item (created, uuid, audience);
  CREATE INDEX item_by_modified ON item (modified, uuid, audience);
  DROP INDEX bitstream_by_name;
  DROP INDEX bitstream_by_content;
  CREATE INDEX bitstream_by_name ON bitstream (name, audience, uuid);
  CREATE INDEX bitstream_by_content ON bitstream (sha256, audience, size);
  -- Figures of a large repository, the same in every store: without them, SQLite takes an audience for as few rows as a title
  -- (https://sqlite.org/fileformat2.html#stat1tab). How many rows have the same first column, the same first two, and so on.
  ANALYZE sqlite_schema;
  DELETE FROM sqlite_stat1 WHERE tbl IN ('item', 'bitstream');
  INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('item', 'sqlite_autoindex_item_1', '1000000 1'),
    ('item', 'sqlite_autoindex_item_2', '1000000 1'),
    ('item', 'item_by_audience', '1000000 10000 1'),
    ('item', 'item_by_title', '1000000 900000 20 1 1'),
    ('item', 'item_by_issued', '1000000 900000 2000 1 1'),
    ('item', 'item_by_issued_falling', '1000000 900000 2000 1 1'),
    ('item', 'item_by_type', '1000000 900000 100000 1 1'),
    ('item', 'item_by_type_falling', '1000000 900000 100000 1 1'),
    ('item', 'item_by_created', '1000000 20 1 1'),
    ('item', 'item_by_modified', '1000000 20 1 1'),
    ('item', 'item_seen_by_title', '1000000 10000 9000 2 1'),
    ('item', 'item_seen_by_issued', '1000000 10000 9000 20 1'),
    ('item', 'item_seen_by_type', '1000000 10000 9000 1000 1'),
    ('item', 'item_seen_by_created', '1000000 10000 2 1'),
    ('item', 'item_seen_by_modified', '1000000 10000 2 1'),
    ('bitstream', 'sqlite_autoindex_bitstream_1', '3000000 1'),
    ('bitstream', 'sqlite_autoindex_bitstream_2', '3000000 4 4 1'),
    ('bitstream', 'bitstream_of_bundle', '3000000 4 4 1 1'),
    ('bitstream', 'bitstream_by_audience', '3000000 30000 1'),
    ('bitstream', 'bitstream_by_name', '3000000 100 10 1'),
    ('bitstream', 'bitstream_by_content', '3000000 2 1 1');
  `
