import { DOMParser, XMLSerializer } from '@xmldom/xmldom'

/**
 * Strict: nothing is mended on the way, and nothing but what XML itself predefines is ever expanded.
 * @param refuse throws; it is told why
 */
export function parseXml(xml: string, refuse: (why: string) => never): Document {
  // What is thrown at the parser comes back as a fault of its own, with words around it.
  let first: string | undefined
  const fail = (why: string): never => {
    first ??= why
    return refuse(first)
  }
  refuseUnbalanced(xml, fail)
  const document = new DOMParser({
    locator: {},
    errorHandler: { warning: fail, error: fail, fatalError: fail },
  }).parseFromString(xml, 'text/xml') as Document | undefined
  // What the parser itself takes for one counts, however it was hidden from others who look for it.
  if (document?.doctype) refuse(documentType)
  return document?.documentElement ? document : refuse('there is no element')
}

const documentType = 'it has a document type; leave the <!DOCTYPE …> out'

/** What may hold anything, `<` among it, up to its end. */
const sections = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

/** What is outside of comments, CDATA and instructions; each may hold the begin of another. */
export function withoutSections(xml: string, refuse: (why: string) => never): string {
  const parts: string[] = []
  let at = 0
  for (let from = xml.indexOf('<'); from >= 0; from = xml.indexOf('<', from)) {
    const end = endOfSection(xml, from, refuse)
    if (end === undefined) from++
    else {
      parts.push(xml.slice(at, from))
      at = end
      from = end
    }
  }
  return parts.join('') + xml.slice(at)
}

/** @returns where the section that begins here has ended; undefined where none begins */
function endOfSection(xml: string, at: number, refuse: (why: string) => never): number | undefined {
  const section = sections.find(([begin]) => xml.startsWith(begin, at))
  if (!section) return undefined
  const [begin, close] = section
  const end = xml.indexOf(close, at + begin.length)
  return end < 0 ? refuse(`there is no ${close} for a ${begin}`) : end + close.length
}

/** Elements in each other: more are meant to exhaust whoever follows them. */
const maxDepth = 1_000

/** XML 1.0 §3 (element type match), which the parser does not insist on: a stray end tag is nothing to it. */
function refuseUnbalanced(xml: string, refuse: (why: string) => never): void {
  const open: string[] = []
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at)) {
    const behind = endOfSection(xml, at, refuse)
    if (behind !== undefined) {
      at = behind
      continue
    }
    if (xml.startsWith('<!', at)) refuse(documentType)
    const end = endOfTag(xml, at + 1)
    if (end === undefined) refuse(`there is no > for ${JSON.stringify(xml.slice(at, at + 20))}`)
    const tag = xml.slice(at + 1, end)
    at = end + 1
    if (tag.startsWith('/')) {
      const name = tag.slice(1).trimEnd()
      if (open.pop() !== name) refuse(`</${name.slice(0, 100)}> ends nothing`)
    } else if (!tag.endsWith('/')) {
      open.push(/^[^\s/]*/.exec(tag)?.[0] ?? '')
      if (open.length > maxDepth) refuse(`it has more than ${maxDepth} elements in each other`)
    }
  }
  const unclosed = open.pop()
  if (unclosed !== undefined) refuse(`there is no end tag for <${unclosed.slice(0, 100)}>`)
}

/** @returns undefined where another tag begins before, in an attribute's value, too (XML 1.0 §3.1) */
function endOfTag(xml: string, from: number): number | undefined {
  const special = /["'<>]/g
  special.lastIndex = from
  for (let found = special.exec(xml); found; found = special.exec(xml)) {
    const [quote] = found
    if (quote === '>') return found.index
    const close = quote === '<' ? -1 : xml.indexOf(quote, special.lastIndex)
    if (close < 0 || xml.slice(special.lastIndex, close).includes('<')) return undefined
    special.lastIndex = close + 1
  }
  return undefined
}

export const serializeXml = (element: Element): string => new XMLSerializer().serializeToString(element)
