import { dublinCoreRows } from '../statements/registry-rows.ts'

/** The migration for the registry of metadata. A migration is never changed once it is released. */
export const registryTables = `
  -- What editors of metadata offer (docs/decisions/0052). Ids are never given twice. name: as items have it.
  CREATE TABLE metadata_schema (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prefix TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE metadata_field (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_id INTEGER NOT NULL REFERENCES metadata_schema,
    name TEXT NOT NULL UNIQUE,
    element TEXT NOT NULL,
    qualifier TEXT,
    scope_note TEXT
  ) STRICT;
  CREATE INDEX metadata_field_of_schema ON metadata_field (schema_id, name);
  INSERT INTO metadata_schema (id, prefix, namespace) VALUES (1, 'dc', 'http://purl.org/dc/elements/1.1/');
  INSERT INTO metadata_field (schema_id, name, element, qualifier) VALUES
    ${dublinCoreRows};
  `
