/** The migration for processes and uploads. A migration is never changed once it is released. */
export const processTables = `
  -- What takes long (docs/decisions/0042). beat: when its owner last said that it runs, in milliseconds since 1970.
  -- written: how many lines its log would have without a bound.
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
  ) STRICT;
  CREATE INDEX process_of_eperson ON process (eperson, id);
  CREATE INDEX process_under_way ON process (owner, id) WHERE ended IS NULL;
  CREATE TABLE process_line (
    process INTEGER NOT NULL REFERENCES process ON DELETE CASCADE,
    n INTEGER NOT NULL,
    time TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (process, n)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE alert (
    id INTEGER PRIMARY KEY,
    message TEXT NOT NULL,
    allow_sessions TEXT NOT NULL,
    countdown_to TEXT,
    active INTEGER NOT NULL
  ) STRICT;
  `
