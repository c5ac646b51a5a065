import { parseXml, withoutSections } from '../lib/xml.ts'
import type { Metadata, MetadataValue } from '../model/items.ts'
import { BadItem } from './item.ts'

/** Of all of an item's metadata as JSON, which is how a store keeps them. */
const maxBytes = 1024 * 1024

/**
 * Puts values together by key, in the order in which they come.
 * @throws BadItem as soon as they are too much, before the rest is read
 */
export function createMetadata(): {
  add(key: string, value: MetadataValue): void
  readonly all: Metadata
} {
  const all: Record<string, MetadataValue[]> = {}
  const bytesOf = (part: unknown) => Buffer.byteLength(JSON.stringify(part)) + 1
  let bytes = 1
  return {
    all,
    add: (key, { value, language }) => {
      const text = value.trim()
      if (text === '') return
      const known = all[key]
      const values = known ?? []
      const added: MetadataValue = { value: text, language: language?.trim() || null }
      bytes += bytesOf(added) + (known ? 0 : bytesOf(key) + 2)
      if (bytes > maxBytes) throw new BadItem('its metadata are longer than 1 MB, all of them together')
      values.push(added)
      all[key] = values
    },
  }
}

/** schema.element[.qualifier], each of what DSpace's registry takes. */
export const isKey = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){1,2}$/.test(text)

export interface KeyedValue extends MetadataValue {
  readonly key: string
}

/**
 * `dublin_core.xml`, or one of `metadata_<schema>.xml`: `dcvalue` elements with `element`, `qualifier` and `language`.
 * @param fallback the schema where the file names none
 * @throws BadItem
 */
export function parseMetadata(xml: string, fallback: string): KeyedValue[] {
  const encoding = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"']*)/.exec(xml)?.[1]
  if (encoding !== undefined && !/^(utf-8|us-ascii)$/i.test(encoding))
    throw new BadItem(`it says that it is ${encoding}; convert it to UTF-8`)
  refuseUnsound(xml)
  const document = parseXml(xml, why => {
    throw new BadItem(`it is not well-formed XML: ${plain(why)}`)
  })
  const root = document.documentElement
  if (root.nodeName !== 'dublin_core')
    throw new BadItem(`its outermost element is <${root.nodeName}>, not <dublin_core>`)
  const schema = root.getAttribute('schema') || fallback
  return elementsIn(root).map(element => toValue(element, schema))
}

const maxNamespaces = 100

/**
 * What the parser lets pass, or takes the square of its length to read.
 * @throws BadItem
 */
function refuseUnsound(xml: string): void {
  const text = withoutSections(xml, why => {
    throw new BadItem(`it is not well-formed XML: ${why}`)
  })
  // Not one of DSpace's files has one, and what it may hold (entities, other files) has hurt many readers.
  if (text.includes('<!')) throw new BadItem('it has a document type; leave the <!DOCTYPE …> out')
  if (text.split('xmlns').length > maxNamespaces)
    throw new BadItem('it has more namespaces than metadata need')
  // XML 1.0 §2.4: where it begins nothing, it must be written as &amp;.
  const found = /&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-fA-F]+);).{0,20}/.exec(text)
  if (found) throw new BadItem(`it is not well-formed XML: ${JSON.stringify(found[0])}; write & as &amp;`)
}

function toValue(element: Element, schema: string): KeyedValue {
  if (element.nodeName !== 'dcvalue')
    throw new BadItem(`<${element.nodeName}> in <dublin_core>; only <dcvalue> has a place there`)
  const [inner] = elementsIn(element)
  if (inner) throw new BadItem(`<${inner.nodeName}> in <dcvalue>; write < as &lt;`)
  const qualifier = element.getAttribute('qualifier')?.trim() ?? ''
  const parts = [schema, element.getAttribute('element')?.trim() ?? '']
  if (qualifier !== '' && qualifier !== 'none') parts.push(qualifier)
  const key = parts.join('.')
  if (!isKey(key))
    throw new BadItem(
      `${JSON.stringify(key)} is no metadata field: schema, element and qualifier are of letters, digits, _ and -`,
    )
  return { key, value: element.textContent ?? '', language: element.getAttribute('language') || null }
}

function elementsIn(parent: Element): Element[] {
  const found: Element[] = []
  for (let child = parent.firstChild; child; child = child.nextSibling)
    if (child.nodeType === child.ELEMENT_NODE) found.push(child as Element)
  return found
}

/** The parser's words in one line, without its own name in front. */
const plain = (why: string) =>
  why
    .replace(/^\[xmldom \w+\]\s*/, '')
    .replace(/\s+/g, ' ')
    .replace(/@#\[line:(\d+),col:(\d+)\]$/, ' (line $1, column $2)')
    .trim()
    .slice(0, 300)
