/** Orders of the artworks for `order_by`, encoded for an address. */
export const artworkOrders: readonly string[] = [
  '[{"field":"year"}]',
  '[{"field":"artist"},{"field":"title","order":"desc"}]',
  '[{"field":"acquisitionYear","order":"desc"},{"field":"artist"}]',
  '[{"field":"title"}]',
  '[{"field":"classification"},{"field":"year","order":"desc"},{"field":"acno"}]',
].map(encodeURIComponent)
