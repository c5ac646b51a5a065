import type { Idp } from './idp.ts'

/** Identity providers by entity id, as JSON outside of the heap: thousands of objects would take four times as much. */
export class PackedIdps {
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
