/** Requests of a client as they were recorded, in the order in which they were answered. */
export interface RecordedWalk {
  /** What was walked through, and with which version of the client. */
  readonly walk: string
  readonly requests: Recorded[]
}

export type Recorded = readonly [
  method: string,
  /** After the base URL, with names of objects and of ids from earlier answers in braces. */
  path: string,
  /** The status and the shape. */
  answer: string,
  more?: More,
]

interface More {
  /** `true`: without the token, though there is one. */
  readonly open?: true
  readonly type?: string
  readonly body?: string
  /** Of a form with several parts: values, and the name of the file. */
  readonly form?: Readonly<Record<string, string>>
  readonly for?: string
  /** Names for ids in the answer, by JSON pointer. */
  readonly gives?: Readonly<Record<string, string>>
}

/** Of an answer that the browser could not tell any more. */
export const anyShape = '?'

/** Of a list that changed while it was asked for. */
export const anyCount = '*?'

/** What the answer is, in few words: `item`, `epersons*3` for a page of a list, the media type of what is no JSON. */
export function shapeOf(mediaType: string, text: string): string {
  if (text === '') return ''
  if (!/^application\/(?:[\w.-]+\+)?json/.test(mediaType)) return mediaType.split(';', 1)[0] ?? ''
  const body = JSON.parse(text) as unknown
  if (Array.isArray(body)) return `[]*${body.length}`
  const { type, _embedded } = body as {
    readonly type?: string
    readonly _embedded?: Readonly<Record<string, unknown>>
  }
  // Of a problem, whose type is an address, the status says enough.
  if (typeof type === 'string') return /^https?:/.test(type) ? '' : type
  const [list] = Object.entries(_embedded ?? {})
  if (list && Array.isArray(list[1])) return `${list[0]}*${countOf(list[0], list[1].length)}`
  return 'object'
}

/** How many events there are depends on what has been refused, and how often. */
const countOf = (name: string, length: number) => (name === 'auditevents' && length > 0 ? '+' : length)

/** Ids in a text are its names in braces, and back. */
export const fillNames = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replace(/\{([\w@. %-]+)\}/g, (whole, name: string) => values.get(name) ?? whole)
