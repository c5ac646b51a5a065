import { Refused } from './protocol.ts'

/**
 * Bounds on everything in a message that costs time. Most of what is done happens before the sender is known, and the
 * libraries are quadratic in the number of elements, or worse (docs/decisions/0031).
 */
export interface Bounds {
  /** Uncompressed. */
  readonly bytes: number
  readonly elements: number
}

export const bounds = {
  /** Signed twice and with 30 attributes, one has about 110 elements. This leaves room for 500 values, such as groups. */
  response: { bytes: 256 * 1024, elements: 600 },
  /** Signed and with an encrypted name, one has about 40 elements in 8 kB. */
  logout: { bytes: 32 * 1024, elements: 100 },
} satisfies Record<string, Bounds>

/** For each of the above. */
const max = {
  /** A real one has at most 12 levels. */
  depth: 20,
  /** An attribute of SAML has up to three, and its value as many with its type. */
  attributesPerElement: 4,
  attributesOfOne: 20,
  /** Of the response and of its assertion. */
  signatures: 2,
  prefixes: 200,
}

/** What costs nothing to see, before anything is parsed. @throws Refused */
export function refuseLarge(xml: string, { bytes, elements }: Bounds): void {
  if (Buffer.byteLength(xml) > bytes) throw new Refused(`it has more than ${bytes / 1024} kB`)
  let tags = 0
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at + 1))
    // Each element has at most two tags. The declaration is one more.
    if (++tags > 2 * elements + 1) throw tooMany(elements)
}

/** Before anything is searched or canonicalised. @throws Refused */
export function refuseExcess(root: Element, { elements }: Bounds): void {
  const count = { elements: 0, attributes: 0, signatures: 0 }
  const open: { element: Element; depth: number }[] = [{ element: root, depth: 1 }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { element, depth } = next
    count.elements++
    count.attributes += element.attributes.length
    if (element.localName === 'Signature') count.signatures++
    const prefixes = element.getAttribute('PrefixList') ?? ''
    if (count.elements > elements) throw tooMany(elements)
    if (
      depth > max.depth ||
      element.attributes.length > max.attributesOfOne ||
      count.attributes > max.attributesPerElement * elements ||
      count.signatures > max.signatures ||
      prefixes.length > max.prefixes
    )
      throw new Refused(
        'it is nested more deeply, or has more attributes or signatures, than any provider sends',
      )
    for (let child = element.firstChild; child; child = child.nextSibling)
      if (child.nodeType === child.ELEMENT_NODE)
        open.push({ element: child as unknown as Element, depth: depth + 1 })
  }
}

const tooMany = (elements: number) =>
  new Refused(`it has more than ${elements} elements, which no provider sends`)
