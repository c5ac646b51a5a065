import {
  attributeOf,
  keepNode,
  type XmlElement,
  type XmlHandler,
  type XmlNode,
} from '../../lib/xml-stream.ts'

/**
 * Finds the entities in metadata while it is read (SAML Metadata §2.3). Only the wanted ones are kept as a
 * whole.
 */
interface EntityHandler {
  /** Returns true if the entity is to be kept. */
  wants(entityId: string): boolean
  /**
   * Receives a kept entity. @param validUntil the earliest end of the entity and of all groups around it, in
   * ms since 1970; null for no end
   */
  take(entity: XmlNode, validUntil: number | null): void
  /** Receives the name of an identity provider that isn't kept. */
  pass(entityId: string): void
}

export const metadataNamespace = 'urn:oasis:names:tc:SAML:2.0:metadata'

const maxEntities = 100_000

export function readEntities(handler: EntityHandler, tellRoot: (root: XmlElement) => void): XmlHandler {
  /** The ends of the open groups, each no later than those around it. */
  const groups: (number | null)[] = []
  let entities = 0
  let kept: XmlHandler | undefined
  /** Current depth in an element that isn't kept. */
  let depth = 0
  let passed = ''

  function openEntity(element: XmlElement): void {
    if (++entities > maxEntities) throw new Error(`it describes more than ${maxEntities} entities`)
    const entityId = attributeOf(element, 'entityID') ?? ''
    if (!isEntityId(entityId)) {
      passed = ''
      depth = 1
      return
    }
    if (!handler.wants(entityId)) {
      passed = entityId
      depth = 1
      return
    }
    const until = earliest(groups.at(-1) ?? null, validUntilOf(element))
    kept = keepNode(element, node => {
      kept = undefined
      handler.take(node, until)
    })
  }

  return {
    open: element => {
      if (kept) kept.open(element)
      else if (depth > 0) {
        if (depth === 1 && passed !== '' && isIdpRole(element)) handler.pass(passed)
        depth++
      } else {
        const isRoot = groups.length === 0 && entities === 0
        if (isRoot) tellRoot(element)
        const kind = element.uri === metadataNamespace ? element.local : ''
        if (kind === 'EntityDescriptor') openEntity(element)
        else if (kind === 'EntitiesDescriptor')
          groups.push(earliest(groups.at(-1) ?? null, validUntilOf(element)))
        else if (isRoot) throw new Error('it describes no SAML 2.0 identity provider')
        else {
          passed = ''
          depth = 1
        }
      }
    },
    text: text => kept?.text(text),
    close: () => {
      if (kept) kept.close()
      else if (depth > 0) depth--
      else groups.pop()
    },
  }
}

/** SAML Core §8.3.6. An entity id without spaces, so that a space can separate it from what follows. */
export const isEntityId = (text: string): boolean => /^[^\s\p{Cc}]{1,1024}$/u.test(text)

export const isIdpRole = ({ uri, local }: XmlElement): boolean =>
  uri === metadataNamespace && local === 'IDPSSODescriptor'

export const earliest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Reads `validUntil`; a time without a zone is UTC (SAML Core §1.3.3). @throws Error if it is no time */
export function validUntilOf(element: XmlElement): number | null {
  const given = attributeOf(element, 'validUntil')
  if (given === undefined) return null
  const time = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(given.trim()) ? given : `${given.trim()}Z`)
  if (Number.isNaN(time)) throw new Error('one of its validUntil is no time')
  return time
}

/** Reads an xs:duration such as cacheDuration. @returns seconds; null if it can't be read */
export function secondsOf(duration: string | undefined): number | null {
  const parts =
    /^P(?:(\d{1,5})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9})(?:\.\d+)?S)?)?$/.exec(
      duration?.trim() ?? '',
    )
  if (!parts) return null
  const [years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts
    .slice(1)
    .map(Number)
    .map(one => one || 0)
  return (((years * 365 + months * 30 + days) * 24 + hours) * 60 + minutes) * 60 + seconds
}
