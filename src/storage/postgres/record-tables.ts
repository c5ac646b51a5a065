/** The migration for single records that are written. A migration is never changed once it is released. */
export const recordTables = `
  SELECT 1;
  `
