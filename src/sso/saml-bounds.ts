import { Refused } from './protocol.ts'

/**
 * Bounds on everything in a message that costs time. Most of the work happens before the sender is known, and
 * the libraries are quadratic in the number of elements, or worse (docs/decisions/0031).
 */
export interface Bounds {
  /** Bytes of the uncompressed message. */
  readonly bytes: number
  readonly elements: number
}

export const bounds = {
  /**
   * A response that is signed twice and has 30 attributes has about 110 elements. This leaves room for 500
   * values, such as groups.
   */
  response: { bytes: 256 * 1024, elements: 600 },
  /** A request that is signed and has an encrypted name has about 40 elements in 8 kB. */
  logout: { bytes: 32 * 1024, elements: 100 },
} satisfies Record<string, Bounds>

/** Bounds that hold for every message. */
const max = {
  /** A real message has at most 12 levels. */
  depth: 20,
  /** A SAML attribute has up to three XML attributes, and so has its value if it has a type. */
  attributesPerElement: 4,
  attributesOfOne: 20,
  /** Signatures of the response and of its assertion. */
  signatures: 2,
  prefixes: 200,
}

/** Checks the bounds that cost nothing to check, before the message is parsed. @throws Refused */
export function refuseLarge(xml: string, { bytes, elements }: Bounds): void {
  if (Buffer.byteLength(xml) > bytes) throw new Refused(`it has more than ${bytes / 1024} kB`)
  let tags = 0
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at + 1))
    // Each element has at most two tags. The declaration is one more.
    if (++tags > 2 * elements + 1) throw tooMany(elements)
}

/** Checks the parsed message, before anything is searched or canonicalized. @throws Refused */
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
