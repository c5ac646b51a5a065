import { SaxesParser, type XMLDecl } from 'saxes'

/**
 * An element of XML. It is read piece by piece, strictly and within bounds (XML 1.0, Namespaces in XML 1.0).
 */
export interface XmlElement {
  /** The name as written, including its prefix. */
  readonly name: string
  readonly local: string
  readonly prefix: string
  readonly uri: string
  /** Attributes other than namespace declarations. */
  readonly attributes: readonly XmlAttribute[]
  /** The namespaces that this element declares, by prefix; '' is the default namespace. */
  readonly declared: readonly (readonly [prefix: string, uri: string])[]
}

interface XmlAttribute {
  readonly name: string
  readonly local: string
  readonly prefix: string
  readonly uri: string
  readonly value: string
}

/** Receives the parts of a document in order, without comments. A text may arrive in several parts. */
export interface XmlHandler {
  open(element: XmlElement): void
  text(text: string): void
  close(): void
}

interface XmlReader {
  /** Reads the next piece of at most 64 kB. */
  write(xml: string): void
  /** Ends the document. Call it after the last piece. */
  end(): void
}

/** The namespace of xmlns and xmlns:… (Namespaces in XML §3). */
const declarations = 'http://www.w3.org/2000/xmlns/'
/** Maximum depth of nesting and number of attributes. More would only serve to exhaust readers. */
const maxDepth = 40
const maxAttributes = 100
/** Maximum characters of one tag, text or comment. */
const maxPiece = 1024 * 1024

/** @throws Error (from both methods) that says what is wrong, or whatever the handler throws */
export function readXml(handler: XmlHandler): XmlReader {
  const parser = new SaxesParser({ xmlns: true })
  let depth = 0
  let unread = 0
  // There are at most six handlers: with more, the parser's own object becomes slow, and reading
  // takes five times as long.
  parser.on('doctype', () => refuse('it has a document type; remove the <!DOCTYPE …>'))
  parser.on('processinginstruction', () => {
    // Outside the root element, it is not part of what is described or signed.
    if (depth > 0) refuse('it has a processing instruction')
  })
  parser.on('opentag', ({ name, local, prefix, uri, attributes, ns }) => {
    unread = 0
    if (depth === 0) refuseOtherXml(parser.xmlDecl)
    if (++depth > maxDepth) refuse(`its elements are nested more than ${maxDepth} deep`)
    const all = Object.values(attributes)
    if (all.length > maxAttributes) refuse(`an element has more than ${maxAttributes} attributes`)
    handler.open({
      name,
      local,
      prefix,
      uri,
      attributes: all.filter(one => one.uri !== declarations),
      declared: Object.entries(ns),
    })
  })
  const take = (text: string) => {
    unread = 0
    if (depth > 0) handler.text(text)
  }
  parser.on('text', take)
  parser.on('cdata', take)
  parser.on('closetag', () => {
    unread = 0
    depth--
    handler.close()
  })
  return {
    write: xml => {
      unread += xml.length
      if (unread > maxPiece) refuse('a tag, a text or a comment is larger than any real one')
      understood(() => parser.write(xml))
    },
    end: () => understood(() => parser.close()),
  }
}

/** Runs the parser and rewords its own errors, which begin with line and column. */
function understood(parse: () => void): void {
  try {
    parse()
  } catch (error) {
    const [, line, column, why] = /^(\d+):(\d+): (.{1,200})/.exec((error as Error).message) ?? []
    if (why === undefined) throw error
    throw new Error(`it is not well-formed XML (line ${line}, column ${column}): ${why}`)
  }
}

function refuse(why: string): never {
  throw new Error(why)
}

function refuseOtherXml({ version = '1.0', encoding = 'utf-8' }: XMLDecl): void {
  if (version !== '1.0') refuse('it is not XML 1.0')
  if (!/^utf-?8$/i.test(encoding)) refuse('its encoding is not UTF-8')
}

/** An element with all its content. */
export interface XmlNode extends XmlElement {
  readonly children: readonly (XmlNode | string)[]
}

interface GrowingNode extends XmlElement {
  readonly children: (GrowingNode | string)[]
}

const maxNodes = 10_000
const maxCharacters = 1024 * 1024

/** Returns a handler that keeps one element in memory. @param take receives the complete element */
export function keepNode(root: XmlElement, take: (node: XmlNode) => void): XmlHandler {
  const first: GrowingNode = { ...root, children: [] }
  const open = [first]
  let nodes = 0
  let characters = 0
  function count(text: string): void {
    nodes++
    characters += text.length
    if (nodes > maxNodes || characters > maxCharacters)
      throw new Error('one of its entities, or its signature, is larger than any real one')
  }
  return {
    open: element => {
      count(element.attributes.map(({ value }) => value).join(''))
      const node: GrowingNode = { ...element, children: [] }
      open.at(-1)?.children.push(node)
      open.push(node)
    },
    text: text => {
      count(text)
      open.at(-1)?.children.push(text)
    },
    close: () => {
      open.pop()
      if (open.length === 0) take(first)
    },
  }
}

export const attributeOf = (node: XmlElement, name: string): string | undefined =>
  node.attributes.find(one => one.uri === '' && one.local === name)?.value

export const childrenOf = (node: XmlNode, uri: string, local: string): XmlNode[] =>
  node.children.filter(
    (one): one is XmlNode => typeof one !== 'string' && one.local === local && one.uri === uri,
  )

/** Returns all matching descendants in document order. */
export const descendantsOf = (node: XmlNode, uri: string, local: string): XmlNode[] =>
  node.children.flatMap(one =>
    typeof one === 'string'
      ? []
      : [...(one.local === local && one.uri === uri ? [one] : []), ...descendantsOf(one, uri, local)],
  )

/** Returns the trimmed text of the element itself, without that of its child elements. */
export const textOf = (node: XmlNode): string =>
  node.children
    .filter(one => typeof one === 'string')
    .join('')
    .trim()
