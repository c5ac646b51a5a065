import assert from 'node:assert/strict'
import type { Store } from '../../src/features.ts'
import type { Field } from '../../src/model/entities.ts'
import type { NewEntity, RecordEntity } from '../../src/storage/entities.ts'

export const fields: readonly Field[] = [
  { name: 'id', type: 'integer', nullable: false },
  { name: 'title', type: 'text', nullable: true },
]

/** Returns an entity with records 1 to `count`. */
export const letters = (name: string, count: number, more: Partial<NewEntity> = {}): NewEntity => ({
  name,
  key: 'id',
  fields,
  read: 'anonymous',
  ranks: () => Uint32Array.from({ length: count }, (_, at) => at),
  ...more,
})

/** Returns records 1 to `count` with a title, for tests that give them to the store themselves. */
export const lines = (count: number, title: string): string[] =>
  Array.from({ length: count }, (_, at) => JSON.stringify({ id: at + 1, title }))

export async function entityIn({ entities }: Store, name: string): Promise<RecordEntity> {
  const entity = (await entities.all()).get(name)
  assert.ok(entity?.source.kind === 'records')
  return entity as RecordEntity
}

export async function recordsIn(storage: Store, name: string): Promise<readonly string[]> {
  const version = await storage.entities.openVersion(await entityIn(storage, name))
  try {
    return await version.read(await version.slots())
  } finally {
    await version.close()
  }
}
