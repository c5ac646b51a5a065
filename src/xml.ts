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
  const document = new DOMParser({
    locator: {},
    errorHandler: { warning: fail, error: fail, fatalError: fail },
  }).parseFromString(xml, 'text/xml') as Document | undefined
  return document?.documentElement ? document : refuse('there is no element')
}

export const serializeXml = (element: Element): string => new XMLSerializer().serializeToString(element)
