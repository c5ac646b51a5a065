/** JSON without loss: each value keeps its text as written. Nothing here comes from src/. */
export type Json =
  | { readonly kind: 'null' | 'boolean' | 'number'; readonly raw: string }
  | { readonly kind: 'text'; readonly raw: string; readonly text: string }
  | { readonly kind: 'array'; readonly raw: string; readonly items: readonly Json[] }
  | JsonObject

export interface JsonObject {
  readonly kind: 'object'
  readonly raw: string
  readonly members: ReadonlyMap<string, Json>
}

export const jsonNull: Json = { kind: 'null', raw: 'null' }

/** @param text JSON (RFC 8259) */
export function readJson(text: string): Json {
  let at = 0
  const fail = (): never => {
    throw new Error(`no JSON at ${at}: ${text.slice(at, at + 50)}`)
  }
  const take = (expression: RegExp): string => {
    expression.lastIndex = at
    const [found] = expression.exec(text) ?? fail()
    at += found.length
    return found
  }
  const skip = () => take(/[ \t\r\n]*/y)

  function list(end: string, readOne: () => void): void {
    at++
    skip()
    if (text[at] === end) {
      at++
      return
    }
    for (;;) {
      readOne()
      if (take(/[,\]}]/y) === end) return
    }
  }

  function value(): Json {
    skip()
    const start = at
    const found = bare(start)
    skip()
    return found
  }

  function bare(start: number): Json {
    const raw = () => text.slice(start, at)
    switch (text[at]) {
      case '[': {
        const items: Json[] = []
        list(']', () => items.push(value()))
        return { kind: 'array', raw: raw(), items }
      }
      case '{': {
        const members = new Map<string, Json>()
        list('}', () => {
          skip()
          const name = JSON.parse(take(quoted)) as string
          skip()
          take(/:/y)
          members.set(name, value())
        })
        return { kind: 'object', raw: raw(), members }
      }
      case '"': {
        const written = take(quoted)
        return { kind: 'text', raw: written, text: JSON.parse(written) as string }
      }
      case 'n':
        return { kind: 'null', raw: take(/null/y) }
      case 't':
      case 'f':
        return { kind: 'boolean', raw: take(/true|false/y) }
      default:
        return { kind: 'number', raw: take(/-?\d+(\.\d+)?([eE][-+]?\d+)?/y) }
    }
  }

  const all = value()
  return at === text.length ? all : fail()
}

const quoted = /"(?:[^"\\]|\\.)*"/y

/** Returns the first element of an array if it is a text, such as an operator; otherwise undefined. */
export function operatorOf(json: Json | undefined): string | undefined {
  const first = json?.kind === 'array' ? json.items[0] : undefined
  return first?.kind === 'text' ? first.text : undefined
}
