/**
 * Bundles have no row of their own, and so no uuid: theirs is the one of their first bitstream, with another version
 * (RFC 9562 §5.8) in place of its own. It leads back to the bitstream without a look-up table, whatever the bundle is
 * called, and no bitstream has it. It stays for as long as that bitstream is in the item.
 */
export const bundleUuid = swapVersion

/** The bitstream that gave a bundle its uuid. */
export const bitstreamUuid = swapVersion

/** 4 (random) becomes 8 (custom) and back. */
function swapVersion(uuid: string): string {
  const version = Number.parseInt(uuid.charAt(14), 16) ^ 0xc
  return `${uuid.slice(0, 14)}${version.toString(16)}${uuid.slice(15)}`
}
