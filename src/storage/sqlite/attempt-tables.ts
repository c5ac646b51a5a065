/** The migration for the throttle of guessing. A migration is never changed once it is released. */
export const attemptTables = `
  -- Attempts to guess a password (docs/decisions/0023). Times are milliseconds since 1970.
  CREATE TABLE attempt (
    key TEXT PRIMARY KEY,
    level REAL NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX attempt_by_expiry ON attempt (expires);
  -- Where epersons have logged in from.
  CREATE TABLE familiar_network (
    eperson TEXT NOT NULL REFERENCES eperson ON DELETE CASCADE,
    network TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (eperson, network)
  ) STRICT, WITHOUT ROWID;
  `
