import type { XmlElement, XmlHandler, XmlNode } from './xml-stream.ts'

type Namespaces = ReadonlyMap<string, string>

interface Frame {
  readonly name: string
  /** Namespaces in scope, by prefix. */
  readonly scope: Namespaces
  /** Namespaces in scope that have been written. */
  readonly written: Namespaces
}

/**
 * Writes the Exclusive XML Canonicalization 1.0 without comments (https://www.w3.org/TR/xml-exc-c14n/) of one
 * element and its content.
 * @param write receives the output piece by piece
 * @param inclusive the prefixes of InclusiveNamespaces
 * @param around the namespaces declared around the element
 */
export function writeCanonical(
  write: (text: string) => void,
  inclusive: readonly string[],
  around: Namespaces = new Map(),
): XmlHandler {
  const frames: Frame[] = []
  const nothing: Frame = { name: '', scope: around, written: new Map() }
  return {
    open: element => {
      const parent = frames.at(-1) ?? nothing
      const scope =
        element.declared.length === 0 ? parent.scope : new Map([...parent.scope, ...element.declared])
      const missing = [...neededBy(element, inclusive, scope)]
        .filter(([prefix, uri]) => (parent.written.get(prefix) ?? '') !== uri)
        .toSorted(([a], [b]) => compare(a, b))
      const written = missing.length === 0 ? parent.written : new Map([...parent.written, ...missing])
      frames.push({ name: element.name, scope, written })
      const namespaces = missing.map(([prefix, uri]) =>
        attribute(prefix === '' ? 'xmlns' : `xmlns:${prefix}`, uri),
      )
      // Canonical XML §2.3 orders attributes by namespace, then by local name.
      const attributes = element.attributes
        .toSorted((a, b) => compare(a.uri, b.uri) || compare(a.local, b.local))
        .map(({ name, value }) => attribute(name, value))
      write(`<${element.name}${namespaces.join('')}${attributes.join('')}>`)
    },
    text: text => write(text.replace(/[&<>\r]/g, one => inText[one] ?? one)),
    close: () => {
      write(`</${frames.pop()?.name}>`)
    },
  }
}

/** Returns the canonical form of an element that is held in memory. */
export function canonicalText(node: XmlNode, inclusive: readonly string[], around: Namespaces): string {
  const parts: string[] = []
  replay(
    node,
    writeCanonical(text => parts.push(text), inclusive, around),
  )
  return parts.join('')
}

function replay(node: XmlNode, handler: XmlHandler): void {
  handler.open(node)
  for (const one of node.children)
    if (typeof one === 'string') handler.text(one)
    else replay(one, handler)
  handler.close()
}

/** Returns the namespaces that are visibly utilized (§1.1) or named by InclusiveNamespaces. `xml` is never written. */
function neededBy(
  { prefix, uri, attributes }: XmlElement,
  inclusive: readonly string[],
  scope: Namespaces,
): Map<string, string> {
  const needed = new Map([[prefix, uri]])
  for (const one of attributes) if (one.prefix !== '') needed.set(one.prefix, one.uri)
  for (const one of inclusive) {
    const name = one === '#default' ? '' : one
    const known = scope.get(name)
    if (known !== undefined) needed.set(name, known)
  }
  needed.delete('xml')
  return needed
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const attribute = (name: string, value: string) =>
  ` ${name}="${value.replace(/[&<"\t\n\r]/g, one => inValue[one] ?? one)}"`

const inText: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' }
const inValue: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}
