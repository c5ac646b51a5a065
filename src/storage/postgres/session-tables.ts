/** The migration for sessions and tokens of programs. A migration is never changed once it is released. */
export const sessionTables = `
  SELECT 1;
  `
