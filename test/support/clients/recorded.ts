/** Recorded requests of a client, in the order of their answers. */
export interface RecordedWalk {
  /** A description of the walk, and the version of the client. */
  readonly walk: string
  readonly requests: Recorded[]
}

export type Recorded = readonly [
  method: string,
  /** The path after the base URL. Names in braces stand for objects, and for ids of earlier answers. */
  path: string,
  /** The status and the shape of the answer. */
  answer: string,
  more?: More,
]

interface More {
  /** `true` for a request without the token although there is one. */
  readonly open?: true
  readonly type?: string
  readonly body?: string
  /** Values of a multipart form, and the name of the file. */
  readonly form?: Readonly<Record<string, string>>
  readonly for?: string
  /** Names for ids in the answer, by JSON pointer. */
  readonly gives?: Readonly<Record<string, string>>
}

/** The shape of an answer that the browser no longer had. */
export const anyShape = '?'

/** The number of elements in a list that changed during the request. */
export const anyCount = '*?'

/**
 * Describes an answer briefly: `item`, `epersons*3` for a page of a list, or the media type if it is not
 * JSON.
 */
export function shapeOf(mediaType: string, text: string): string {
  if (text === '') return ''
  if (!/^application\/(?:[\w.-]+\+)?json/.test(mediaType)) return mediaType.split(';', 1)[0] ?? ''
  const body = JSON.parse(text) as unknown
  if (Array.isArray(body)) return `[]*${body.length}`
  const { type, _embedded } = body as {
    readonly type?: string
    readonly _embedded?: Readonly<Record<string, unknown>>
  }
  // The type of a problem is an address, and its status says enough.
  if (typeof type === 'string') return /^https?:/.test(type) ? '' : type
  const [list] = Object.entries(_embedded ?? {})
  if (list && Array.isArray(list[1])) return `${list[0]}*${countOf(list[0], list[1].length)}`
  return 'object'
}

/** Returns the number of elements; `+` for events, whose number depends on earlier refusals. */
const countOf = (name: string, length: number) => (name === 'auditevents' && length > 0 ? '+' : length)

/** Replaces names in braces by their ids. */
export const fillNames = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replace(/\{([\w@. %-]+)\}/g, (whole, name: string) => values.get(name) ?? whole)
