/** The migration for registrations and forgotten passwords. A migration is never changed once it is released. */
export const mailTables = `
  SELECT 1;
  `
