/** The migration for epersons and groups as administrators change them. A migration is never changed once it is released. */
export const peopleTables = `
  SELECT 1;
  `
