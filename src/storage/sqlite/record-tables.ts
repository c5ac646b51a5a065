/** The migration for single records that are written. A migration is never changed once it is released. */
export const recordTables = `
  ALTER TABLE entity ADD COLUMN description TEXT;
  `
