/** The migration for processes and uploads. A migration is never changed once it is released. */
export const processTables = `
  SELECT 1;
  `
