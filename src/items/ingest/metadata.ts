import { parseXml, withoutSections } from '../../lib/xml.ts'
import type { Metadata, MetadataValue } from '../../model/items.ts'
import { BadItem } from './item.ts'

/** Maximum bytes of all metadata of an item as JSON, the form in which a store keeps it. */
const maxBytes = 1024 * 1024

/** Collects values by key, in their order. `add` throws a BadItem as soon as they are too large. */
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
      if (bytes > maxBytes) throw new BadItem('its metadata is larger than 1 MB in total')
      values.push(added)
      all[key] = values
    },
  }
}

/** True for schema.element[.qualifier] with the characters that DSpace's registry accepts. */
export const isKey = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){1,2}$/.test(text)

export interface KeyedValue extends MetadataValue {
  readonly key: string
}

/**
 * Parses `dublin_core.xml` or `metadata_<schema>.xml`: `dcvalue` elements with `element`,
 * `qualifier` and `language`.
 * @param fallback the schema if the file names none
 * @throws BadItem
 */
export function parseMetadata(xml: string, fallback: string): KeyedValue[] {
  const encoding = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"']*)/.exec(xml)?.[1]
  if (encoding !== undefined && !/^(utf-8|us-ascii)$/i.test(encoding))
    throw new BadItem(`it is declared as ${encoding}; convert it to UTF-8`)
  refuseUnsafe(xml)
  const document = parseXml(xml, why => {
    throw new BadItem(`it is not well-formed XML: ${oneLine(why)}`)
  })
  const root = document.documentElement
  if (root.nodeName !== 'dublin_core')
    throw new BadItem(`its root element is <${root.nodeName}>, not <dublin_core>`)
  const schema = root.getAttribute('schema') || fallback
  return elementsIn(root).map(element => toValue(element, schema))
}

/** Replacements for the HTML entities that are most frequent in packages. XML doesn't define them. */
const instead: Readonly<Record<string, string>> = {
  nbsp: '&#160; (a space that doesn’t break), or a plain space',
  ndash: '– (&#8211;)',
  mdash: '— (&#8212;)',
  hellip: '… (&#8230;)',
  lsquo: '‘ (&#8216;)',
  rsquo: '’ (&#8217;)',
  ldquo: '“ (&#8220;)',
  rdquo: '” (&#8221;)',
  copy: '© (&#169;)',
  auml: 'ä (&#228;)',
  ouml: 'ö (&#246;)',
  uuml: 'ü (&#252;)',
  szlig: 'ß (&#223;)',
  eacute: 'é (&#233;)',
}

const maxNamespaces = 100

/**
 * Refuses XML that the parser accepts although it isn't well-formed, and XML that takes it quadratic time.
 * @throws BadItem
 */
function refuseUnsafe(xml: string): void {
  const text = withoutSections(xml, why => {
    throw new BadItem(`it is not well-formed XML: ${why}`)
  })
  // DSpace writes no document type, and its possible contents (entities, references to other files) are a
  // known attack on parsers.
  if (text.includes('<!')) throw new BadItem('it has a document type declaration; remove <!DOCTYPE …>')
  if (text.split('xmlns').length > maxNamespaces)
    throw new BadItem(`it declares more than ${maxNamespaces} namespaces`)
  // An ampersand that doesn't begin a reference must be written as &amp; (XML 1.0 §2.4).
  const found = /&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-fA-F]+);).{0,20}/.exec(text)
  if (!found) return
  const name = /^&([A-Za-z][A-Za-z0-9]*);/.exec(found[0])?.[1]
  throw new BadItem(
    name === undefined
      ? `it is not well-formed XML: ${JSON.stringify(found[0])}; write & as &amp;`
      : `it is not well-formed XML: &${name}; is known in HTML, not in XML; write ${instead[name] ?? 'the character itself'}`,
  )
}

function toValue(element: Element, schema: string): KeyedValue {
  if (element.nodeName !== 'dcvalue')
    throw new BadItem(`<dublin_core> contains <${element.nodeName}>; only <dcvalue> is allowed`)
  const [inner] = elementsIn(element)
  if (inner) throw new BadItem(`<dcvalue> contains <${inner.nodeName}>; write < as &lt;`)
  const qualifier = element.getAttribute('qualifier')?.trim() ?? ''
  const parts = [schema, element.getAttribute('element')?.trim() ?? '']
  if (qualifier !== '' && qualifier !== 'none') parts.push(qualifier)
  const key = parts.join('.')
  if (!isKey(key))
    throw new BadItem(
      `${JSON.stringify(key)} is not a metadata field; schema, element and qualifier consist of letters, digits, _ and -`,
    )
  return { key, value: element.textContent ?? '', language: element.getAttribute('language') || null }
}

function elementsIn(parent: Element): Element[] {
  const found: Element[] = []
  for (let child = parent.firstChild; child; child = child.nextSibling)
    if (child.nodeType === child.ELEMENT_NODE) found.push(child as Element)
  return found
}

/** Returns the parser's message in one line, without the parser's name. */
const oneLine = (why: string) =>
  why
    .replace(/^\[xmldom \w+\]\s*/, '')
    .replace(/\s+/g, ' ')
    .replace(/@#\[line:(\d+),col:(\d+)\]$/, ' (line $1, column $2)')
    .trim()
    .slice(0, 300)
