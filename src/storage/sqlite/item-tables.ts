/** The migration for items and files as administrators change them. A migration is never changed once it is released. */
export const itemTables = `
  SELECT 1;
  `
