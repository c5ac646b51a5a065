import { DOMParser, XMLSerializer } from '@xmldom/xmldom'

/**
 * Parses strictly: repairs nothing, and expands only the entities predefined by XML.
 * @param refuse is called with the reason, and throws
 */
export function parseXml(xml: string, refuse: (why: string) => never): Document {
  // The parser catches the error that `refuse` throws and reports it again in its own words. The
  // first reason is the real one.
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
  // The parser's own finding counts, even if the check above was deceived.
  if (document?.doctype) refuse(documentType)
  return document?.documentElement ? document : refuse('it has no root element')
}

const documentType = 'it has a document type; remove the <!DOCTYPE …>'

/** Sections that may contain anything, `<` included, up to their end marker. */
const sections = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

/**
 * Returns the text outside comments, CDATA sections and processing instructions. Each may
 * contain the start of another.
 */
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

/** @returns the position after the section that starts here; undefined if none does */
function endOfSection(xml: string, at: number, refuse: (why: string) => never): number | undefined {
  const section = sections.find(([begin]) => xml.startsWith(begin, at))
  if (!section) return undefined
  const [begin, close] = section
  const end = xml.indexOf(close, at + begin.length)
  return end < 0 ? refuse(`${begin} is not closed by ${close}`) : end + close.length
}

/** Maximum depth of nesting. A deeper one only serves to exhaust code that walks the tree. */
const maxDepth = 1_000

/**
 * Refuses tags that don't match (XML 1.0 §3, element type match). The parser doesn't enforce this: it
 * ignores a stray end tag.
 */
function refuseUnbalanced(xml: string, refuse: (why: string) => never): void {
  const open: string[] = []
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at)) {
    const endOfThis = endOfSection(xml, at, refuse)
    if (endOfThis !== undefined) {
      at = endOfThis
      continue
    }
    if (xml.startsWith('<!', at)) refuse(documentType)
    const end = endOfTag(xml, at + 1)
    if (end === undefined) refuse(`the tag ${JSON.stringify(xml.slice(at, at + 20))} is not closed by >`)
    const tag = xml.slice(at + 1, end)
    at = end + 1
    if (tag.startsWith('/')) {
      const name = tag.slice(1).trimEnd()
      if (open.pop() !== name) refuse(`</${name.slice(0, 100)}> does not match a start tag`)
    } else if (!tag.endsWith('/')) {
      open.push(/^[^\s/]*/.exec(tag)?.[0] ?? '')
      if (open.length > maxDepth) refuse(`its elements are nested more than ${maxDepth} deep`)
    }
  }
  const unclosed = open.pop()
  if (unclosed !== undefined) refuse(`there is no end tag for <${unclosed.slice(0, 100)}>`)
}

/**
 * @returns the position of the tag's end; undefined if another tag starts first, even inside an
 * attribute's value (XML 1.0 §3.1)
 */
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
