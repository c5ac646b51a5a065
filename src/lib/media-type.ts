/** The syntax of a media type (RFC 6838 §4.2). */
const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/

export const isMediaType = (text: string): boolean => mediaType.test(text)

/** @returns the media type in lower case, without parameters; `application/octet-stream` if `text` is not a media type */
export function mediaTypeOf(text: string): string {
  const type = text.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return isMediaType(type) ? type : 'application/octet-stream'
}
