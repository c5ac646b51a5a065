import { attemptTables } from './attempt-tables.ts'
import { audienceIndexes } from './audience-indexes.ts'
import { itemTables } from './item-tables.ts'
import { mailTables } from './mail-tables.ts'
import { memberTables } from './member-tables.ts'
import { nameTables } from './name-tables.ts'
import { peopleTables } from './people-tables.ts'
import { processTables } from './process-tables.ts'
import { recordTables } from './record-tables.ts'
import { registryTables } from './registry-tables.ts'
import { sessionTables } from './session-tables.ts'
import { siteTables } from './site-tables.ts'
import { trailTables } from './trail-tables.ts'

/** Forward only: entry n brings a store of version n to n + 1. Never edit one, not even its comments: a test knows their checksums. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE eperson (
    uuid TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    first_name TEXT,
    last_name TEXT,
    enabled INTEGER NOT NULL,
    password_hash TEXT,
    -- Grows when the password changes, not when its hash is renewed.
    password_stamp INTEGER NOT NULL,
    session_key BLOB NOT NULL,
    stamp INTEGER NOT NULL,
    created TEXT NOT NULL,
    last_login TEXT
  ) STRICT;
  CREATE TABLE epersongroup (
    uuid TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created TEXT NOT NULL
  ) STRICT;
  CREATE TABLE membership (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    epersongroup TEXT NOT NULL REFERENCES epersongroup ON DELETE CASCADE,
    PRIMARY KEY (eperson, epersongroup)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX membership_of_group ON membership (epersongroup);
  CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    outcome TEXT NOT NULL,
    eperson TEXT,
    actor TEXT,
    client_ip TEXT,
    method TEXT,
    reason TEXT
  ) STRICT;
  CREATE INDEX event_by_time ON event (time, id);
  CREATE TRIGGER event_is_append_only_1 BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'events are append-only'); END;
  CREATE TRIGGER event_is_append_only_2 BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'events are append-only'); END;
  CREATE VIEW epersons AS SELECT uuid, email, first_name, last_name, enabled, password_hash IS NOT NULL AS has_password,
    (SELECT json_group_array(g.name ORDER BY g.name) FROM membership m JOIN epersongroup g ON g.uuid = m.epersongroup
     WHERE m.eperson = eperson.uuid) AS groups, created, last_login FROM eperson;
  CREATE VIEW groups AS SELECT uuid, name,
    (SELECT count(*) FROM membership m WHERE m.epersongroup = epersongroup.uuid) AS members, created FROM epersongroup;
  CREATE VIEW events AS SELECT id, time, event, outcome, eperson, actor, client_ip, method, reason FROM event;
  CREATE TABLE entity (
    name TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    read TEXT NOT NULL,
    fields TEXT NOT NULL,
    version TEXT NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    largest INTEGER NOT NULL,
    imported TEXT NOT NULL
  ) STRICT;
  -- Files of entity versions that no new request reads; removed once the requests that read them have ended.
  CREATE TABLE retired (version TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT;
  -- stamp: the last one given to an eperson. entities: grows when the list of entities changes.
  CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), stamp INTEGER NOT NULL, entities INTEGER NOT NULL) STRICT;
  INSERT INTO state VALUES (1, 0, 0);
  INSERT INTO epersongroup VALUES (lower(format('%s-%s-4%s-a%s-%s', hex(randomblob(4)), hex(randomblob(2)),
    substr(hex(randomblob(2)), 2), substr(hex(randomblob(2)), 2), hex(randomblob(6)))),
    'Administrator', strftime('%Y-%m-%dT%H:%M:%fZ'));
  `,
  `
  -- An eperson has at most one subject at a provider.
  CREATE TABLE identity (
    provider TEXT NOT NULL,
    subject TEXT NOT NULL,
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    linked TEXT NOT NULL,
    PRIMARY KEY (provider, subject),
    UNIQUE (eperson, provider)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE provider_session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    provider TEXT NOT NULL,
    name TEXT NOT NULL,
    sid TEXT,
    detail TEXT NOT NULL,
    begun TEXT NOT NULL
  ) STRICT;
  CREATE INDEX provider_session_of_eperson ON provider_session (eperson, id);
  CREATE INDEX provider_session_by_name ON provider_session (provider, name);
  CREATE INDEX provider_session_by_sid ON provider_session (provider, sid);
  -- expires: milliseconds since 1970.
  CREATE TABLE ticket (id TEXT PRIMARY KEY, content TEXT NOT NULL, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX ticket_by_expiry ON ticket (expires);
  `,
  `
  -- What an event is about; older ones say it in their reason.
  ALTER TABLE event ADD COLUMN object TEXT;
  CREATE INDEX event_of_eperson ON event (eperson, id);
  DROP VIEW events;
  CREATE VIEW events AS SELECT id, time, event, outcome, eperson, actor,
    (SELECT email FROM eperson WHERE uuid = actor) AS actor_email, client_ip, method, object, reason FROM event;
  -- As the eperson sees them: without the address that somebody else acted from.
  CREATE VIEW own_events AS SELECT id, time, event, outcome, eperson, actor, actor_email,
    iif(actor IS eperson, client_ip, NULL) AS client_ip, method, object, reason FROM events;

  -- Which store this is; a copy into another engine takes it along (docs/decisions/0012).
  ALTER TABLE state ADD COLUMN store TEXT NOT NULL DEFAULT '';
  UPDATE state SET store = lower(hex(randomblob(16)));

  -- Who may read something (docs/decisions/0011): never changed once it is there. items, bitstreams: how many there are.
  CREATE TABLE audience (
    id INTEGER PRIMARY KEY,
    readers TEXT NOT NULL UNIQUE,
    items INTEGER NOT NULL DEFAULT 0,
    bitstreams INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE item (
    uuid TEXT PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    title TEXT,
    authors TEXT NOT NULL,
    issued TEXT,
    type TEXT,
    metadata TEXT NOT NULL,
    collections TEXT NOT NULL,
    audience INTEGER NOT NULL REFERENCES audience,
    fingerprint TEXT NOT NULL,
    created TEXT NOT NULL,
    modified TEXT NOT NULL
  ) STRICT;
  -- The same expressions as in ORDER BY (compile.ts). Where many rows share a value, each direction has an index.
  CREATE INDEX item_by_title ON item (title IS NULL, title, uuid);
  CREATE INDEX item_by_issued ON item (issued IS NULL, issued, uuid);
  CREATE INDEX item_by_issued_falling ON item (issued IS NULL DESC, issued DESC, uuid);
  CREATE INDEX item_by_type ON item (type IS NULL, type, uuid);
  CREATE INDEX item_by_type_falling ON item (type IS NULL DESC, type DESC, uuid);
  CREATE INDEX item_by_created ON item (created, uuid);
  CREATE INDEX item_by_modified ON item (modified, uuid);
  CREATE INDEX item_by_audience ON item (audience, uuid);
  CREATE TABLE bitstream (
    uuid TEXT PRIMARY KEY,
    item TEXT NOT NULL REFERENCES item,
    bundle TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Among those of its item.
    place INTEGER NOT NULL,
    description TEXT,
    mime_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    -- Its own, or the item's.
    audience INTEGER NOT NULL REFERENCES audience,
    created TEXT NOT NULL,
    UNIQUE (item, bundle, name)
  ) STRICT;
  CREATE INDEX bitstream_by_name ON bitstream (name, uuid);
  CREATE INDEX bitstream_by_content ON bitstream (sha256, size);
  CREATE INDEX bitstream_by_audience ON bitstream (audience, uuid);
  CREATE TRIGGER item_added AFTER INSERT ON item BEGIN
    UPDATE audience SET items = items + 1 WHERE id = NEW.audience; END;
  CREATE TRIGGER item_removed AFTER DELETE ON item BEGIN
    UPDATE audience SET items = items - 1 WHERE id = OLD.audience; END;
  CREATE TRIGGER item_moved AFTER UPDATE OF audience ON item WHEN NEW.audience <> OLD.audience BEGIN
    UPDATE audience SET items = items - 1 WHERE id = OLD.audience;
    UPDATE audience SET items = items + 1 WHERE id = NEW.audience; END;
  CREATE TRIGGER bitstream_added AFTER INSERT ON bitstream BEGIN
    UPDATE audience SET bitstreams = bitstreams + 1 WHERE id = NEW.audience; END;
  CREATE TRIGGER bitstream_removed AFTER DELETE ON bitstream BEGIN
    UPDATE audience SET bitstreams = bitstreams - 1 WHERE id = OLD.audience; END;
  CREATE TRIGGER bitstream_moved AFTER UPDATE OF audience ON bitstream WHEN NEW.audience <> OLD.audience BEGIN
    UPDATE audience SET bitstreams = bitstreams - 1 WHERE id = OLD.audience;
    UPDATE audience SET bitstreams = bitstreams + 1 WHERE id = NEW.audience; END;
  -- With readers for administrators, without them for everybody else.
  CREATE VIEW items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    (SELECT readers FROM audience WHERE id = item.audience) AS readers, created, modified, audience FROM item;
  CREATE VIEW seen_items AS SELECT uuid, identifier, title, authors, issued, type, metadata, collections,
    NULL AS readers, created, modified, audience FROM item;
  CREATE VIEW bitstreams AS SELECT uuid, item, bundle, name, description, mime_type, size, sha256,
    (SELECT readers FROM audience WHERE id = bitstream.audience) AS readers, created, audience, place FROM bitstream;
  CREATE VIEW seen_bitstreams AS SELECT uuid, item, bundle, name, description, mime_type, size, sha256,
    NULL AS readers, created, audience, place FROM bitstream;
  `,
  `
  -- A key may have several fields: it is JSON from now on, a text or an array of texts.
  UPDATE entity SET key = json_quote(key);
  `,
  `
  -- How many slots the records are in, where some of them were changed (docs/decisions/0019); NULL: as many as there are.
  ALTER TABLE entity ADD COLUMN slots INTEGER;
  `,
  `
  -- The files of a bundle in their order, with who may see them (docs/decisions/0021).
  CREATE INDEX bitstream_of_bundle ON bitstream (item, bundle, place, audience);
  -- The name in lower case, to search in; filled in by migrate.ts.
  ALTER TABLE eperson ADD COLUMN name_key TEXT NOT NULL DEFAULT '';
  ALTER TABLE epersongroup ADD COLUMN name_key TEXT NOT NULL DEFAULT '';
  `,
  `
  -- A time that has certainly been, in milliseconds since 1970 (docs/decisions/0024); 0: none yet.
  ALTER TABLE state ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX provider_session_by_begin ON provider_session (begun);
  `,
  attemptTables,
  trailTables,
  `
  -- What is declared of an entity: relations to others (docs/decisions/0037), as JSON, and a condition for every query.
  ALTER TABLE entity ADD COLUMN relations TEXT;
  ALTER TABLE entity ADD COLUMN default_condition TEXT;
  `,
  peopleTables,
  sessionTables,
  processTables,
  itemTables,
  recordTables,
  mailTables,
  nameTables,
  registryTables,
  memberTables,
  siteTables,
  audienceIndexes,
]
