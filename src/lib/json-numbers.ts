/** Maximum number of significant digits that every double keeps. */
export const plainDigits = 15

/**
 * Parses JSON and gives each unusual number to `read` as text. Before parsing, such numbers are put into
 * quotation marks, with a mark that no other text begins with: a reviver, which is called for every value,
 * takes more than twice as long.
 */
export function parseNumbers(json: string, read: (text: string, value: number) => unknown): unknown {
  if (json.includes(mark) || json.includes(escapedMark))
    return JSON.parse(json, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? read(context.source, value) : value,
    )
  const marked = markedNumbers(json)
  if (marked === json) return JSON.parse(json)
  let value: unknown
  try {
    value = JSON.parse(marked)
  } catch {
    // The error position has to be that in the given text.
    return JSON.parse(json)
  }
  return unmarked(value, read)
}

/** A private-use character of Latin-1, so that marked text takes no more memory. */
const mark = '\u0091'
const escapedMark = '\\u0091'
const markCode = 0x91

function markedNumbers(json: string): string {
  let marked = ''
  let done = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === quoteMark) at = endOfText(json, at)
    else if (code === minus || isDigit(code)) {
      const end = endOfNumber(json, at)
      if (!isUsual(json, at, end)) {
        const text = json.slice(at, end)
        // Anything else stays unmarked, and the parser refuses it.
        if (isJsonNumber(text) && !isName(json, end)) {
          marked += `${json.slice(done, at)}"${mark}${text}"`
          done = end
        }
      }
      at = end - 1
    }
  }
  return done === 0 ? json : marked + json.slice(done)
}

/** @returns the position of the quotation mark that ends a text */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end - 1
    while (json.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return json.length
}

function endOfNumber(json: string, start: number): number {
  let end = start + 1
  while (isOfNumber(json.charCodeAt(end))) end++
  return end
}

/**
 * True if a colon follows: the number stands in the place of a member's name, which would be
 * valid once it is quoted.
 */
function isName(json: string, end: number): boolean {
  let at = end
  while (/[ \t\r\n]/.test(json.charAt(at))) at++
  return json.charAt(at) === ':'
}

const quoteMark = 0x22
const backslash = 0x5c
const minus = 0x2d
export const isDigit = (code: number) => code >= 0x30 && code <= 0x39
/** True for digits, points, signs and exponents. */
export const isOfNumber = (code: number) =>
  isDigit(code) || code === 0x2e || code === minus || code === 0x2b || code === 0x65 || code === 0x45
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** True if a text is a JSON number (RFC 8259 §6). */
export const isJsonNumber = (text: string): boolean => jsonNumber.test(text)

/** Replaces the marked texts in a value with numbers. */
function unmarked(value: unknown, read: (text: string, value: number) => unknown): unknown {
  if (typeof value === 'string') {
    if (value.charCodeAt(0) !== markCode) return value
    const text = value.slice(1)
    return read(text, Number(text))
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const one: unknown = value[at]
      if (typeof one === 'string' || typeof one === 'object') value[at] = unmarked(one, read)
    }
    return value
  }
  const members = value as Record<string, unknown>
  for (const name in members) {
    const one = members[name]
    if (typeof one === 'string' ? one.charCodeAt(0) !== markCode : typeof one !== 'object') continue
    const member = unmarked(one, read)
    // Assigning to `__proto__` would change the prototype.
    if (name === '__proto__')
      Object.defineProperty(members, name, {
        value: member,
        writable: true,
        enumerable: true,
        configurable: true,
      })
    else if (member !== one) members[name] = member
  }
  return value
}

/** True for a number that a double holds exactly and that JavaScript prints as it was written. */
export function isUsual(json: string, start: number, end: number): boolean {
  if (end - start > plainDigits) return false
  let hasPoint = false
  for (let at = start; at < end; at++) {
    const code = json.charCodeAt(at)
    if (code === 0x65 || code === 0x45) return false
    if (code === 0x2e) hasPoint = true
  }
  const first = json.charCodeAt(start) === minus ? start + 1 : start
  if (!hasPoint) return first === start || json.charCodeAt(first) !== zero
  return json.charCodeAt(end - 1) !== zero && !json.startsWith('0.000000', first)
}

export const zero = 0x30
