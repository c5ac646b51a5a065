/** The migration for sessions and tokens of programs (docs/decisions/0040). A migration is never changed once it is released. */
export const sessionTables = `
  -- last_begun: of the newest session, in milliseconds since 1970. session_state: which sessions were ended by themselves,
  -- and which one outlived the session key, as JSON (src/model/sessions.ts).
  ALTER TABLE carrel.eperson ADD COLUMN last_begun BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE carrel.eperson ADD COLUMN session_state TEXT;
  -- begun, used, expires: milliseconds since 1970. session_key: that of the eperson; otherwise the session has ended.
  CREATE TABLE carrel.session (
    eperson TEXT COLLATE "C" NOT NULL REFERENCES carrel.eperson ON DELETE CASCADE,
    begun BIGINT NOT NULL,
    method TEXT COLLATE "C" NOT NULL,
    network TEXT COLLATE "C",
    used BIGINT NOT NULL,
    used_network TEXT COLLATE "C",
    expires BIGINT NOT NULL,
    session_key BYTEA NOT NULL,
    PRIMARY KEY (eperson, begun)
  ) WITH (fillfactor = 70);
  -- The session here that began with it; NULL: it is from before there were any.
  ALTER TABLE carrel.provider_session ADD COLUMN session BIGINT;

  -- hash: SHA-256 of the whole token. password_stamp: that of the eperson; otherwise the token has ended. scope and networks: JSON.
  CREATE TABLE carrel.access_token (
    id TEXT COLLATE "C" PRIMARY KEY,
    eperson TEXT COLLATE "C" NOT NULL REFERENCES carrel.eperson ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    scope TEXT NOT NULL,
    networks TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    used BIGINT,
    password_stamp BIGINT NOT NULL
  ) WITH (fillfactor = 90);
  CREATE INDEX access_token_of_eperson ON carrel.access_token (eperson, created);
  `
