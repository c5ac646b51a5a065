import { version as program } from '../lib/version.ts'

/**
 * The tables that both engines have, with the same columns and types, in SQLite's dialect. Times are text in
 * RFC 3339, UTC, or milliseconds since 1970 where they are compared or added up; a boolean is 0 or 1; texts
 * compare by code point (Q6). Triggers, views and indexes that only one engine has are in its `schema.ts`.
 */
const tables = `
  CREATE TABLE eperson (
    uuid TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    first_name TEXT,
    last_name TEXT,
    -- The name in lower case, to search in.
    name_key TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    -- What the eperson or an administrator adds to the name, as JSON: metadata fields with a text each.
    profile TEXT,
    password_hash TEXT,
    -- Grows when the password changes, not when its hash is renewed.
    password_stamp INTEGER NOT NULL,
    session_key BLOB NOT NULL,
    -- Sessions that were ended by themselves, and the one that outlived the session key, as JSON (src/model/sessions.ts).
    session_state TEXT,
    stamp INTEGER NOT NULL,
    -- The beginning of the newest session, in ms since 1970.
    last_begun INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    last_login TEXT
  );
  CREATE INDEX eperson_search ON eperson (email_key, name_key, uuid);
  CREATE TABLE epersongroup (
    uuid TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    name_key TEXT NOT NULL,
    description TEXT,
    -- 1 if a token may have it as a special group (docs/decisions/0039).
    special INTEGER NOT NULL,
    created TEXT NOT NULL
  );
  CREATE TABLE membership (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    epersongroup TEXT NOT NULL REFERENCES epersongroup ON DELETE CASCADE,
    PRIMARY KEY (eperson, epersongroup)
  ) WITHOUT ROWID;
  CREATE INDEX membership_of_group ON membership (epersongroup);
  -- Groups in groups: members of the child are members of the parent.
  CREATE TABLE subgroup (
    parent TEXT NOT NULL REFERENCES epersongroup ON DELETE CASCADE,
    child TEXT NOT NULL REFERENCES epersongroup ON DELETE CASCADE,
    PRIMARY KEY (parent, child)
  ) WITHOUT ROWID;
  CREATE INDEX subgroup_of_child ON subgroup (child);

  -- The audit trail and its chains (docs/decisions/0027). changes: what an administrator changed, as JSON.
  CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    outcome TEXT NOT NULL,
    eperson TEXT,
    actor TEXT,
    client_ip TEXT,
    method TEXT,
    object TEXT,
    reason TEXT,
    count INTEGER NOT NULL DEFAULT 1,
    changes TEXT,
    chain INTEGER,
    place INTEGER,
    hash BLOB,
    -- Those that were counted, as JSON (docs/decisions/0069).
    repeats TEXT,
    -- The request that it is of.
    request TEXT
  );
  -- Chains with negative numbers have the events that repeat.
  CREATE INDEX event_that_repeats ON event (id) WHERE chain < 0;
  -- Events of single records are found by the record (docs/decisions/0072).
  CREATE INDEX event_of_record ON event (object, id) WHERE event IN ('record.put', 'record.change', 'record.delete');
  CREATE INDEX event_by_time ON event (time, id);
  CREATE INDEX event_of_eperson ON event (eperson, id);
  CREATE TABLE trail_key (id INTEGER PRIMARY KEY AUTOINCREMENT, wrapped BLOB NOT NULL);
  CREATE TABLE trail_checkpoint (
    n INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL,
    mac BLOB NOT NULL
  );
  CREATE TABLE trail_head (
    chain INTEGER,
    place INTEGER,
    checkpoint INTEGER,
    event INTEGER NOT NULL,
    time TEXT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (chain, place, checkpoint)
  ) WITHOUT ROWID;
  CREATE INDEX trail_head_of_checkpoint ON trail_head (checkpoint);
  -- The size of the events that repeat, in bytes, measured up to an id.
  CREATE TABLE trail_size (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL, upto INTEGER NOT NULL);
  INSERT INTO trail_size VALUES (1, 0, 0);

  -- The eperson that a subject of a provider is. An eperson has at most one subject at a provider.
  CREATE TABLE identity (
    provider TEXT NOT NULL,
    subject TEXT NOT NULL,
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    linked TEXT NOT NULL,
    PRIMARY KEY (provider, subject),
    UNIQUE (eperson, provider)
  ) WITHOUT ROWID;
  CREATE TABLE provider_session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    provider TEXT NOT NULL,
    name TEXT NOT NULL,
    sid TEXT,
    detail TEXT NOT NULL,
    begun TEXT NOT NULL,
    -- The session here that began with it, in ms since 1970.
    session INTEGER
  );
  CREATE INDEX provider_session_of_eperson ON provider_session (eperson, id);
  CREATE INDEX provider_session_by_name ON provider_session (provider, name);
  CREATE INDEX provider_session_by_sid ON provider_session (provider, sid);
  CREATE INDEX provider_session_by_begin ON provider_session (begun);
  -- expires: in ms since 1970.
  CREATE TABLE ticket (id TEXT PRIMARY KEY, content TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX ticket_by_expiry ON ticket (expires);
  -- begun, used, expires: in ms since 1970. session_key: the eperson's; otherwise the session has ended.
  CREATE TABLE session (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    begun INTEGER NOT NULL,
    method TEXT NOT NULL,
    network TEXT,
    used INTEGER NOT NULL,
    used_network TEXT,
    expires INTEGER NOT NULL,
    session_key BLOB NOT NULL,
    -- The program that logged in, as it calls itself.
    browser TEXT,
    PRIMARY KEY (eperson, begun)
  ) WITHOUT ROWID;
  -- hash: SHA-256 of the whole token. password_stamp: the eperson's; otherwise the token has ended. scope, networks: JSON.
  CREATE TABLE access_token (
    id TEXT PRIMARY KEY,
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    scope TEXT NOT NULL,
    networks TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    used INTEGER,
    password_stamp INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX access_token_of_eperson ON access_token (eperson, created);
  -- Attempts to guess a password (docs/decisions/0023). Times are ms since 1970.
  CREATE TABLE attempt (
    key TEXT PRIMARY KEY,
    level REAL NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX attempt_by_expiry ON attempt (expires);
  -- Networks that epersons have logged in from.
  CREATE TABLE familiar_network (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    network TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (eperson, network)
  ) WITHOUT ROWID;
  -- Second factors of epersons (docs/decisions/0081). secret: of TOTP, encrypted; of a passkey, its public key. counter: the
  -- last time step that was used, or the signature counter. Times are ms since 1970.
  CREATE TABLE factor (
    id TEXT PRIMARY KEY,
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    alone INTEGER NOT NULL,
    secret BLOB NOT NULL,
    credential TEXT UNIQUE,
    counter INTEGER NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER
  );
  CREATE INDEX factor_of_eperson ON factor (eperson, created);
  CREATE INDEX factor_that_stands_alone ON factor (id) WHERE alone = 1;
  CREATE TABLE recovery_code (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    hash TEXT NOT NULL,
    PRIMARY KEY (eperson, hash)
  );

  -- Entities, with key, read, fields, source and what is declared of them, as JSON: a field's name may hold what TEXT can't.
  -- version: the imported records.
  CREATE TABLE entity (
    name TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    version TEXT,
    changed TEXT NOT NULL
  );
  -- Versions that no new request reads; removed once the requests that read them have ended. at: in ms since 1970.
  CREATE TABLE retired (version TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
  -- Single records that were written since the version of their entity was made (docs/decisions/0041). key: a hash that
  -- names the record. json: NULL for one that was deleted. added: the number of records that it adds.
  CREATE TABLE record_change (
    seq INTEGER PRIMARY KEY,
    entity TEXT NOT NULL,
    key TEXT NOT NULL,
    key_values TEXT NOT NULL,
    json TEXT,
    added INTEGER NOT NULL
  );
  CREATE INDEX record_change_of_entity ON record_change (entity, seq);
  CREATE INDEX record_change_of_record ON record_change (key, seq);
  -- Versions that imports have replaced and that can be restored (docs/decisions/0071). definition: the entity as it was.
  -- replaced_by: the event. at: when they were replaced, in ms since 1970. records: their number, changes included. bytes: the
  -- size of the records, which versions may share. own: the size of what belongs to this version alone.
  CREATE TABLE kept_version (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entity TEXT NOT NULL,
    version TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    replaced_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    records INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    own INTEGER NOT NULL
  );
  CREATE INDEX kept_version_of_entity ON kept_version (entity, id);
  -- Their single records, as in record_change, under the same numbers.
  CREATE TABLE kept_change (
    seq INTEGER PRIMARY KEY,
    kept INTEGER NOT NULL,
    key TEXT NOT NULL,
    key_values TEXT NOT NULL,
    json TEXT,
    added INTEGER NOT NULL
  );
  CREATE INDEX kept_change_of_version ON kept_change (kept, seq);
  -- Replaced versions that snapshots may name (docs/decisions/0082). root: the version that began the line. folded, last: the
  -- numbers of the last change in the version, and of the last one that is held for it. bytes, own: as in kept_version.
  CREATE TABLE held_version (
    version TEXT PRIMARY KEY,
    entity TEXT NOT NULL,
    root TEXT NOT NULL,
    folded INTEGER NOT NULL,
    last INTEGER NOT NULL,
    definition TEXT NOT NULL,
    at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    own INTEGER NOT NULL
  );
  CREATE INDEX held_version_of_line ON held_version (root, folded);
  CREATE TABLE held_change (
    version TEXT NOT NULL,
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    key_values TEXT NOT NULL,
    json TEXT,
    added INTEGER NOT NULL,
    PRIMARY KEY (version, seq)
  );

  -- Readers of items and bitstreams (docs/decisions/0011), never changed once they are there. items, bitstreams, bytes: of
  -- those that have them, kept by triggers.
  CREATE TABLE audience (
    id INTEGER PRIMARY KEY,
    readers TEXT NOT NULL,
    items INTEGER NOT NULL DEFAULT 0,
    bitstreams INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  );
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
    withdrawn INTEGER NOT NULL DEFAULT 0,
    discoverable INTEGER NOT NULL DEFAULT 1,
    -- Grows with every change of the item, its bundles and its files (docs/decisions/0043).
    revision INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    modified TEXT NOT NULL
  );
  CREATE INDEX item_by_audience ON item (audience, uuid);
  CREATE TABLE bundle (
    uuid TEXT PRIMARY KEY,
    item TEXT NOT NULL REFERENCES item,
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    primary_bitstream TEXT,
    UNIQUE (item, name)
  );
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
  );
  CREATE INDEX bitstream_by_name ON bitstream (name, audience, uuid);
  CREATE INDEX bitstream_by_content ON bitstream (sha256, audience, size);
  CREATE INDEX bitstream_by_audience ON bitstream (audience, uuid);
  -- The files of a bundle in their order, with their audience (docs/decisions/0021).
  CREATE INDEX bitstream_of_bundle ON bitstream (item, bundle, place, audience);
  -- Contents that uploads and sweeps of a bucket speak of (docs/decisions/0080). state: claimed, unused or deleted. until: in
  -- ms since 1970, by the store's clock.
  CREATE TABLE content_claim (
    sha256 TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    until INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX content_claim_by_end ON content_claim (until);
  -- What clients say of a rule for readers besides the rule. object: the uuid of an item or a bitstream.
  CREATE TABLE policy (
    id TEXT PRIMARY KEY,
    object TEXT NOT NULL,
    rule TEXT NOT NULL,
    name TEXT,
    description TEXT,
    type TEXT,
    UNIQUE (object, rule)
  ) WITHOUT ROWID;
  -- The metadata of the service itself, as JSON. Without a row it has none. revision: grows with every change.
  CREATE TABLE site (id INTEGER PRIMARY KEY CHECK (id = 1), metadata TEXT NOT NULL, revision INTEGER NOT NULL);
  -- What editors of metadata offer (docs/decisions/0052). Ids are never given twice. name: as items have it.
  CREATE TABLE metadata_schema (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prefix TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL UNIQUE
  );
  CREATE TABLE metadata_field (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_id INTEGER NOT NULL REFERENCES metadata_schema,
    name TEXT NOT NULL UNIQUE,
    element TEXT NOT NULL,
    qualifier TEXT,
    scope_note TEXT
  );
  CREATE INDEX metadata_field_of_schema ON metadata_field (schema_id, name);

  -- Long work (docs/decisions/0042). beat: when its owner last said that it runs, in ms since 1970. written: the number of
  -- lines that its log would have without a bound.
  CREATE TABLE process (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    eperson TEXT,
    parameters TEXT NOT NULL,
    begun TEXT NOT NULL,
    ended TEXT,
    progress TEXT,
    result TEXT,
    fault TEXT,
    owner TEXT NOT NULL,
    beat INTEGER NOT NULL,
    cancelled INTEGER NOT NULL DEFAULT 0,
    written INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX process_of_eperson ON process (eperson, id);
  CREATE INDEX process_under_way ON process (owner, id) WHERE ended IS NULL;
  CREATE TABLE process_line (
    process INTEGER NOT NULL REFERENCES process ON DELETE CASCADE,
    n INTEGER NOT NULL,
    time TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (process, n)
  ) WITHOUT ROWID;
  CREATE TABLE alert (
    id INTEGER PRIMARY KEY,
    message TEXT NOT NULL,
    allow_sessions TEXT NOT NULL,
    countdown_to TEXT,
    active INTEGER NOT NULL
  );

  -- One row. store: the id of this store (docs/decisions/0012). entities, secrets, groups: grow when these change.
  -- records, audiences: the last number given to a single record and to an audience. mark: a time that has certainly been,
  -- in ms since 1970 (docs/decisions/0024); 0: none yet. demo: 0 if none was asked for, 1 if it has begun, 2 if it is complete.
  CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    store TEXT NOT NULL,
    entities INTEGER NOT NULL DEFAULT 0,
    secrets INTEGER NOT NULL DEFAULT 0,
    groups INTEGER NOT NULL DEFAULT 0,
    records INTEGER NOT NULL DEFAULT 0,
    audiences INTEGER NOT NULL DEFAULT 0,
    mark INTEGER NOT NULL DEFAULT 0,
    demo INTEGER NOT NULL DEFAULT 0
  );
  INSERT INTO state (one, store) VALUES (1, '');
`

/** Tables check the types of their values, and those with a key of their own are stored in its order. */
export const sqliteTables = tables
  .replaceAll(/\) WITHOUT ROWID;/g, ') STRICT, WITHOUT ROWID;')
  .replaceAll(/(^ {2}|^ {2}CREATE TABLE .*)\);$/gm, '$1) STRICT;')

export const postgresTables = tables
  .replaceAll('INTEGER PRIMARY KEY AUTOINCREMENT', 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY')
  .replaceAll(' WITHOUT ROWID', '')
  .replaceAll(/^(?! *--).*$/gm, line =>
    line
      .replaceAll(/\bINTEGER\b/g, 'BIGINT')
      .replaceAll(/\bREAL\b/g, 'DOUBLE PRECISION')
      .replaceAll(/\bBLOB\b/g, 'BYTEA')
      .replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"'),
  )

/**
 * The versions of a store's schema. A store is created in the first one, and each entry of `later` brings it one version
 * further. None is edited once it is released, not even its comments: a test knows their checksums.
 */
export interface Schema {
  /** Stores of earlier versions were made before the first release. They are refused. */
  readonly first: number
  readonly create: string
  readonly later: readonly string[]
}

export const newestOf = ({ first, later }: Schema): number => first + later.length

/** Returns what a store of this version lacks. @param version 0 for a new store */
export const stepsFrom = ({ first, create, later }: Schema, version: number): readonly string[] =>
  version === 0 ? [create, ...later] : later.slice(version - first)

/** Says why Carrel can't open a store of this version; undefined if it can. */
export function refusedVersion(schema: Schema, version: number): string | undefined {
  const newest = newestOf(schema)
  if (version > newest)
    return `has schema version ${version}, and Carrel ${program} knows versions up to ${newest}; use a newer Carrel`
  if (version > 0 && version < schema.first)
    return `has schema version ${version}, which is older than the first release; Carrel ${program} opens versions from ${schema.first}`
  return undefined
}
