/**
 * Bundles have no row in the store, and so no UUID. A bundle gets the UUID of its first bitstream with another version
 * number (RFC 9562 §5.8): it leads back to the bitstream without a table, and no bitstream has it. It lasts as long as
 * that bitstream is in the item.
 */
export const bundleUuid = swapVersion

/** The bitstream that a bundle has its UUID from. */
export const bitstreamUuid = swapVersion

/** 4 (random) becomes 8 (custom) and back. */
function swapVersion(uuid: string): string {
  const version = Number.parseInt(uuid.charAt(14), 16) ^ 0xc
  return `${uuid.slice(0, 14)}${version.toString(16)}${uuid.slice(15)}`
}
