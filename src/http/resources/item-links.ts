/**
 * Addresses below an item; each has a route in `src/items/items.ts`, even where there is nothing to show.
 */
export const itemLinks = [
  'accessStatus',
  'bundles',
  'identifiers',
  'mappedCollections',
  'owningCollection',
  'relationships',
  'templateItemOf',
  'thumbnail',
  'version',
] as const
