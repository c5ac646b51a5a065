import { type Schema, sqliteTables } from '../schema.ts'

/** The schema of the embedded store, with what only SQLite has. */
export const schema: Schema = {
  first: 8,
  later: [],
  create: `${sqliteTables}
  -- The last stamp given to an eperson.
  CREATE TABLE stamp (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL) STRICT;
  INSERT INTO stamp VALUES (1, 0);
  -- The end of the other chain, which has the events of changes.
  CREATE INDEX event_of_change ON event (id) WHERE chain >= 0;
  CREATE UNIQUE INDEX audience_by_readers ON audience (readers);

  CREATE TRIGGER event_is_append_only_1 BEFORE UPDATE ON event
    BEGIN SELECT raise(ABORT, 'events are append-only'); END;
  -- What a checkpoint says is pruned may go.
  CREATE TRIGGER event_is_append_only_2 BEFORE DELETE ON event WHEN NOT EXISTS (
      SELECT 1 FROM trail_head h JOIN trail_checkpoint c ON c.n = h.checkpoint
      WHERE h.chain = OLD.chain AND h.place >= OLD.place AND c.kind = 'prune')
    BEGIN SELECT raise(ABORT, 'events are append-only'); END;

  CREATE TRIGGER item_added AFTER INSERT ON item BEGIN
    UPDATE audience SET items = items + 1 WHERE id = NEW.audience; END;
  CREATE TRIGGER item_removed AFTER DELETE ON item BEGIN
    UPDATE audience SET items = items - 1 WHERE id = OLD.audience; END;
  CREATE TRIGGER item_moved AFTER UPDATE OF audience ON item WHEN NEW.audience <> OLD.audience BEGIN
    UPDATE audience SET items = items - 1 WHERE id = OLD.audience;
    UPDATE audience SET items = items + 1 WHERE id = NEW.audience; END;
  CREATE TRIGGER bitstream_added AFTER INSERT ON bitstream BEGIN
    UPDATE audience SET bitstreams = bitstreams + 1, bytes = bytes + NEW.size WHERE id = NEW.audience; END;
  CREATE TRIGGER bitstream_removed AFTER DELETE ON bitstream BEGIN
    UPDATE audience SET bitstreams = bitstreams - 1, bytes = bytes - OLD.size WHERE id = OLD.audience; END;
  CREATE TRIGGER bitstream_moved AFTER UPDATE OF audience, size ON bitstream
    WHEN NEW.audience <> OLD.audience OR NEW.size <> OLD.size BEGIN
    UPDATE audience SET bitstreams = bitstreams - 1, bytes = bytes - OLD.size WHERE id = OLD.audience;
    UPDATE audience SET bitstreams = bitstreams + 1, bytes = bytes + NEW.size WHERE id = NEW.audience; END;

  -- The same expressions as in ORDER BY (dialect.ts). A list reads only what its viewer may read (docs/decisions/0064).
  CREATE INDEX item_seen_by_title ON item (audience, title IS NULL, title, uuid);
  CREATE INDEX item_seen_by_issued ON item (audience, issued IS NULL DESC, issued DESC, uuid);
  CREATE INDEX item_seen_by_type ON item (audience, type IS NULL, type, uuid);
  CREATE INDEX item_seen_by_created ON item (audience, created, uuid);
  CREATE INDEX item_seen_by_modified ON item (audience, modified, uuid);
  -- Viewers who are in many audiences read these, and skip rows by their audience before anything else is asked of them.
  -- Where many rows share a value, each direction has an index.
  CREATE INDEX item_by_title ON item (title IS NULL, title, uuid, audience);
  CREATE INDEX item_by_issued ON item (issued IS NULL, issued, uuid, audience);
  CREATE INDEX item_by_issued_falling ON item (issued IS NULL DESC, issued DESC, uuid, audience);
  CREATE INDEX item_by_type ON item (type IS NULL, type, uuid, audience);
  CREATE INDEX item_by_type_falling ON item (type IS NULL DESC, type DESC, uuid, audience);
  CREATE INDEX item_by_created ON item (created, uuid, audience);
  CREATE INDEX item_by_modified ON item (modified, uuid, audience);
  -- Figures of a large repository, the same in every store: without them, SQLite takes an audience for as few rows as a title
  -- (https://sqlite.org/fileformat2.html#stat1tab): rows with the same first column, the same first two, and so on.
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

  -- Most stores have no groups in groups, and need no recursion for each eperson.
  CREATE VIEW epersons AS SELECT uuid, email, first_name, last_name, enabled, password_hash IS NOT NULL AS has_password,
    CASE WHEN EXISTS (SELECT 1 FROM subgroup) THEN
      (WITH RECURSIVE mine (id) AS (
         SELECT epersongroup FROM membership m WHERE m.eperson = eperson.uuid
         UNION SELECT parent FROM subgroup JOIN mine ON child = id)
       SELECT json_group_array(g.name ORDER BY g.name) FROM mine JOIN epersongroup g ON g.uuid = mine.id)
    ELSE
      (SELECT json_group_array(g.name ORDER BY g.name) FROM membership m JOIN epersongroup g ON g.uuid = m.epersongroup
       WHERE m.eperson = eperson.uuid)
    END AS groups, created, last_login FROM eperson;
  CREATE VIEW groups AS SELECT uuid, name, description,
    (SELECT count(*) FROM membership m WHERE m.epersongroup = epersongroup.uuid) AS members,
    (SELECT count(*) FROM subgroup s WHERE s.parent = epersongroup.uuid) AS subgroups, created FROM epersongroup;
  CREATE VIEW events AS SELECT id, time, event, outcome, eperson, actor,
    (SELECT email FROM eperson WHERE uuid = actor) AS actor_email, client_ip, method, object, reason, count, changes, repeats,
    request FROM event;
  -- As the eperson sees them: without the address that another acted from.
  CREATE VIEW own_events AS SELECT id, time, event, outcome, eperson, actor, actor_email,
    iif(actor IS eperson, client_ip, NULL) AS client_ip, method, object, reason, count,
    iif(actor IS eperson, changes, NULL) AS changes, repeats, iif(actor IS eperson, request, NULL) AS request FROM events;
  -- With readers for administrators, without them for everybody else.
  CREATE VIEW items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    (SELECT readers FROM audience WHERE id = item.audience) AS readers, created, modified, withdrawn, discoverable,
    revision, audience FROM item;
  CREATE VIEW seen_items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    NULL AS readers, created, modified, withdrawn, discoverable, audience FROM item;
  CREATE VIEW bitstreams AS SELECT uuid, item, bundle, name, description, mime_type, size, sha256,
    (SELECT readers FROM audience WHERE id = bitstream.audience) AS readers, created, audience, place FROM bitstream;
  CREATE VIEW seen_bitstreams AS SELECT uuid, item, bundle, name, description, mime_type, size, sha256,
    NULL AS readers, created, audience, place FROM bitstream;
  `,
}
