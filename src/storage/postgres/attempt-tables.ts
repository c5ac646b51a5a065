/** The migration for the throttle of guessing. A migration is never changed once it is released. */
export const attemptTables = `
  -- Attempts to guess a password (docs/decisions/0023). Times are milliseconds since 1970.
  CREATE TABLE carrel.attempt (
    key TEXT COLLATE "C" PRIMARY KEY,
    level DOUBLE PRECISION NOT NULL,
    at BIGINT NOT NULL,
    expires BIGINT NOT NULL
  ) WITH (fillfactor = 50);
  CREATE INDEX attempt_by_expiry ON carrel.attempt (expires);
  -- Where epersons have logged in from.
  CREATE TABLE carrel.familiar_network (
    eperson TEXT COLLATE "C" NOT NULL REFERENCES carrel.eperson ON DELETE CASCADE,
    network TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (eperson, network)
  );
  `
