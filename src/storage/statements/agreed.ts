import type { Agreed, NewEntity } from '../entities.ts'

/** More than this many imports of one entity, and bursts of writes, are not expected while one is being published. */
const maxAttempts = 20

/**
 * Points an entity at its new version, as it was agreed. Where it has become another one meanwhile, it is asked for again.
 * @param first what was agreed before the version was written
 * @param point undefined: the entity is another one by now
 */
export async function pointAgreed<T>(
  agree: NewEntity['agree'],
  first: Agreed | undefined,
  point: (agreed: Agreed | undefined) => Promise<T | undefined>,
): Promise<T | undefined> {
  let agreed = first
  for (let attempt = 1; ; attempt++) {
    const done = await point(agreed)
    if (done !== undefined || !agree || attempt === maxAttempts) return done
    agreed = await agree()
  }
}
