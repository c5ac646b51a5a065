/** How much is read and sent at a time, the same on both engines (Q10). */

/** The approximate size of a piece of a listing in bytes of JSON. A larger record is a piece of its own. */
export const pieceBytes = 128 * 1024
