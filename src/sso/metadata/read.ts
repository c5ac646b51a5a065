import { attributeOf, readXml, type XmlElement } from '../../lib/xml-stream.ts'
import { isIdpRole, readEntities, secondsOf, validUntilOf } from './entities.ts'
import { type Idp, idpIn } from './idp.ts'
import { verifyWhileReading } from './signature.ts'

/** The identity providers of metadata that are kept. */
export interface Wanted {
  readonly entityIds: ReadonlySet<string>
  /**
   * True if an identity provider is kept whatever its name, because the metadata should describe only one.
   */
  readonly only: boolean
  /** Returns true if an identity provider with any other name is kept. */
  letsIn(idp: Idp): boolean
  /** True if `letsIn` has to be called. */
  readonly others: boolean
}

export interface Reading {
  readonly idps: Pick<PackedIdps, 'get' | 'keys' | 'size' | 'values'>
  /** Identity providers that are described twice. */
  readonly twice: ReadonlySet<string>
  /** Identity providers that were let in but can't be used, with the reason. */
  readonly unusable: ReadonlyMap<string, string>
  /** Some names of identity providers, for messages. */
  readonly names: readonly string[]
  /** End of the whole metadata, in ms since 1970. */
  readonly validUntil: number | null
  /** Seconds. */
  readonly cacheDuration: number | null
}

/** Maximum length of metadata in bytes. */
export const maxMetadata = 128 * 1024 * 1024
/** Number of bytes read in one go, which takes a few milliseconds. */
const pieceSize = 64 * 1024
const maxNames = 4

/**
 * Reads metadata piece by piece, and checks its signature if there are certificates.
 * @throws Error saying what is wrong with it; nothing of it may be used then
 */
export async function readMetadata(
  chunks: AsyncIterable<Uint8Array>,
  certificates: readonly string[],
  wanted: Wanted,
): Promise<Reading> {
  const idps = new PackedIdps()
  const seen = new Set<string>()
  const twice = new Set<string>()
  const unusable = new Map<string, string>()
  const names: string[] = []
  let root: XmlElement | undefined

  const note = (entityId: string) => {
    if (seen.has(entityId)) twice.add(entityId)
    seen.add(entityId)
    if (names.length < maxNames) names.push(entityId)
  }
  const entities = readEntities(
    {
      wants: entityId => wanted.others || wanted.entityIds.has(entityId) || (wanted.only && seen.size < 2),
      pass: note,
      take: (entity, validUntil) => {
        if (!entity.children.some(one => typeof one !== 'string' && isIdpRole(one))) return
        const entityId = attributeOf(entity, 'entityID') ?? ''
        note(entityId)
        try {
          const idp = idpIn(entity, validUntil)
          const isNamed = wanted.only || wanted.entityIds.has(entityId)
          if (idp && (isNamed || wanted.letsIn(idp))) idps.set(entityId, idp)
        } catch (error) {
          unusable.set(entityId, (error as Error).message)
        }
      },
    },
    element => {
      root = element
    },
  )
  const verified = certificates.length === 0 ? undefined : verifyWhileReading(certificates, entities)
  const reader = readXml(verified ?? entities)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxMetadata) throw new Error(`it is larger than ${maxMetadata / 1024 / 1024} MiB`)
    for (let at = 0; at < chunk.length; at += pieceSize)
      reader.write(textIn(() => decoder.decode(chunk.subarray(at, at + pieceSize), { stream: true })))
  }
  reader.write(textIn(() => decoder.decode()))
  reader.end()
  verified?.end()
  if (!root) throw new Error('it is empty')
  return {
    idps,
    twice,
    unusable,
    names,
    validUntil: validUntilOf(root),
    cacheDuration: secondsOf(attributeOf(root, 'cacheDuration')),
  }
}

function textIn(decode: () => string): string {
  try {
    return decode()
  } catch {
    throw new Error('it is not UTF-8')
  }
}

/**
 * Returns the identity provider that an entry stands for.
 * @param entityId null for the only one in the metadata
 * @returns the reason as a text if there is none
 */
export function oneOf({ idps, twice, unusable, names }: Reading, entityId: string | null): Idp | string {
  const shown = `${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}`
  const [first] = names
  if (first === undefined) return 'it describes no SAML 2.0 identity provider'
  if (entityId === null && names.some(one => one !== first))
    return `it describes several identity providers: choose one with entityId (${shown})`
  const name = entityId ?? first
  if (twice.has(name)) return `it describes the identity provider ${name} twice`
  return (
    idps.get(name) ??
    unusable.get(name) ??
    `it does not describe the identity provider ${name}, only ${shown}`
  )
}

/**
 * Identity providers by entity id, as JSON outside the heap: thousands of objects would take four times as
 * much memory.
 */
class PackedIdps {
  readonly #packed = new Map<string, Buffer>()

  get size(): number {
    return this.#packed.size
  }

  set(entityId: string, idp: Idp): void {
    this.#packed.set(entityId, Buffer.from(JSON.stringify(idp)))
  }

  get(entityId: string): Idp | undefined {
    const packed = this.#packed.get(entityId)
    return packed && unpack(packed)
  }

  keys(): Iterable<string> {
    return this.#packed.keys()
  }

  *values(): Iterable<Idp> {
    for (const packed of this.#packed.values()) yield unpack(packed)
  }
}

const unpack = (packed: Buffer): Idp => JSON.parse(packed.toString()) as Idp
