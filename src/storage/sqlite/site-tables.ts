/** The migration for the metadata of the site. A migration is never changed once it is released. */
export const siteTables = `
  -- The metadata of the service itself, as JSON. Without a row it has none. revision: grows with every change.
  CREATE TABLE site (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    metadata TEXT NOT NULL,
    revision INTEGER NOT NULL
  ) STRICT;
  `
