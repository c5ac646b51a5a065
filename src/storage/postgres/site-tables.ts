/** The migration for the metadata of the site. A migration is never changed once it is released. */
export const siteTables = `
  -- The metadata of the service itself, as JSON. Without a row it has none. revision: grows with every change.
  CREATE TABLE carrel.site (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    metadata TEXT NOT NULL,
    revision BIGINT NOT NULL
  );
  `
