import { parseXml, withoutSections } from '../../lib/xml.ts'
import type { Metadata, MetadataValue } from '../../model/items.ts'
import type { ReaderRule, Readers } from '../../model/readers.ts'
import { BadItem, maxFiles, refuseTooMany } from './item.ts'
import { groupReader, type KnownGroups, maxRuleLength, parseReaders } from './readers.ts'

/** A line of an item's file `contents`. */
export interface ListedFile {
  /** Path relative to the item's folder. */
  readonly path: string
  readonly bundle: string
  readonly description: string | null
  /** The readers; null if the line doesn't name any. */
  readonly readers: Readers | null
}

/**
 * Parses DSpace's list of an item's files: one file per line, followed by fields separated by tabs.
 * `readers:` is our addition.
 * @returns the files, primary ones first
 * @throws BadItem naming the line
 */
export function parseContents(text: string, groups: KnownGroups): ListedFile[] {
  const files: (ListedFile & { primary: boolean })[] = []
  for (const [at, line] of text.split(/\r\n|\r|\n/).entries()) {
    if (line.trim() === '') continue
    // This is checked early, because a line of two bytes takes hundreds of bytes in memory.
    refuseTooMany(files.length + 1, maxFiles, 'files')
    try {
      files.push(parseLine(line, groups))
    } catch (error) {
      if (error instanceof BadItem) throw new BadItem(`line ${at + 1}: ${error.message}`)
      throw error
    }
  }
  return files
    .toSorted((a, b) => Number(b.primary) - Number(a.primary))
    .map(({ primary: _, ...file }) => file)
}

/** Returns the bundle of a file whose line names none, as DSpace chooses it. */
export const bundleOf = (path: string): string => (path === 'license.txt' ? 'LICENSE' : 'ORIGINAL')

/** Fields for DSpace's image viewer, which Carrel doesn't have. */
const ignoredFields = new Set(['iiif-label', 'iiif-width', 'iiif-height', 'iiif-toc'])

/** Maximum number of fields after a file's name: five kinds, and several rules for readers. */
const maxFields = 100

function parseLine(line: string, groups: KnownGroups): ListedFile & { primary: boolean } {
  const [path = '', ...fields] = line.split('\t', maxFields + 2).map(field => field.trim())
  if (/\\t\s*(bundle|permissions|description|primary|readers):/.test(line))
    throw new BadItem(
      'it has a backslash and a t, where a tab must be; printf writes a tab for \\t, and most editors write one with the key Tab',
    )
  if (/\s(bundle|permissions|description|primary|readers):/.test(path))
    throw new BadItem('fields must be separated by tabs, not spaces')
  if (fields.length > maxFields) throw new BadItem(`it has more than ${maxFields} fields`)
  if (/^-r\s/.test(line.trim()))
    throw new BadItem(
      'registered files (-r -s … -f …) are not supported; put the file into the folder and name it',
    )
  let bundle: string | undefined
  let description: string | undefined
  let rules: ReaderRule[] | undefined
  const restrict = (more: Readers) => {
    rules ??= []
    rules.push(...more)
  }
  let primary: boolean | undefined
  const once = (name: string, before: unknown) => {
    if (before !== undefined) throw new BadItem(`it has ${name}: twice; write it once`)
  }
  for (const field of fields) {
    const [, name = field, value = ''] = /^([\w-]+):(.*)$/s.exec(field) ?? []
    if (field === '') continue
    if (name === 'bundle') {
      once(name, bundle)
      bundle = value.trim()
    } else if (name === 'description') {
      once(name, description)
      description = value.trim()
    } else if (name === 'primary') {
      once(name, primary)
      primary = isTrue(value)
    } else if (name === 'permissions') restrict(parsePermissions(value, groups))
    else if (name === 'readers') restrict(parseReaders([value], groups))
    else if (!ignoredFields.has(name))
      throw new BadItem(
        `${JSON.stringify(field)} is not a field of a file; use bundle:, permissions:, description:, primary:true or readers:`,
      )
  }
  return {
    path,
    bundle: bundle ?? bundleOf(path),
    description: description || null,
    readers: rules ?? null,
    primary: primary ?? false,
  }
}

function isTrue(value: string): boolean {
  if (value.trim() !== 'true' && value.trim() !== 'false')
    throw new BadItem(`primary: takes true or false, not ${JSON.stringify(value)}`)
  return value.trim() === 'true'
}

/**
 * Parses `-r 'Group name'`, with or without quotes: only this group may read the file. `-w` names a group
 * that may write; as in DSpace, others may not read the file then. Carrel takes no write rules from a source,
 * so only administrators may.
 */
function parsePermissions(value: string, groups: KnownGroups): ReaderRule[] {
  if (value.length > maxRuleLength)
    throw new BadItem(`permissions: is longer than ${maxRuleLength} characters`)
  const [, kind, quoted, bare] = /^\s*-([rw])\s*(?:'([^']+)'|([^'\s][^']*))\s*$/i.exec(value) ?? []
  const group = (quoted ?? bare)?.trim()
  if (kind === undefined || group === undefined || group === '')
    throw new BadItem(`permissions: takes -r 'Group name', not ${JSON.stringify(value)}`)
  const inQuotes = /^"(.+)"$/.exec(group)?.[1]
  if (inQuotes !== undefined && !groups.has(group))
    throw new BadItem(
      `permissions: takes the name of a group in single quotes, not in double ones; write -${kind} '${inQuotes}'`,
    )
  if (kind.toLowerCase() === 'w') return []
  return [{ reader: group === 'Anonymous' ? 'anonymous' : groupReader(group, groups) }]
}

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

interface KeyedValue extends MetadataValue {
  readonly key: string
}

/**
 * Parses `dublin_core.xml` or `metadata_<schema>.xml`: `dcvalue` elements with `element`, `qualifier` and `language`.
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
