/** The migration for sessions and tokens of programs (docs/decisions/0040). A migration is never changed once it is released. */
export const sessionTables = `
  -- last_begun: of the newest session, in milliseconds since 1970. session_state: which sessions were ended by themselves,
  -- and which one outlived the session key, as JSON (src/model/sessions.ts).
  ALTER TABLE eperson ADD COLUMN last_begun INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE eperson ADD COLUMN session_state TEXT;
  -- begun, used, expires: milliseconds since 1970. session_key: that of the eperson; otherwise the session has ended.
  CREATE TABLE session (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    begun INTEGER NOT NULL,
    method TEXT NOT NULL,
    network TEXT,
    used INTEGER NOT NULL,
    used_network TEXT,
    expires INTEGER NOT NULL,
    session_key BLOB NOT NULL,
    PRIMARY KEY (eperson, begun)
  ) STRICT, WITHOUT ROWID;
  -- The session here that began with it; NULL: it is from before there were any.
  ALTER TABLE provider_session ADD COLUMN session INTEGER;

  -- hash: SHA-256 of the whole token. password_stamp: that of the eperson; otherwise the token has ended. scope and networks: JSON.
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
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX access_token_of_eperson ON access_token (eperson, created);
  `
