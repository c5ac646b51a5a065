import type { Entity, ReadRule } from '../model/entities.ts'
import type { Entities } from '../storage/entities.ts'
import type { ChangePlan } from './change-plan.ts'
import { type ImportOptions, importStaged, type Progress } from './import-entity.ts'
import type { Piece } from './json-lines.ts'
import { fieldsOf, hasType, oldRanks } from './revised-fields.ts'

/** Number of records read at a time. */
const readStep = 4_000

/** Writes a complete new version, because there are too many changes to keep them separate. */
export async function rewrite(
  plan: ChangePlan,
  entities: Entities,
  { read, event, signal }: Pick<ImportOptions, 'read' | 'event' | 'signal'>,
  progress: Progress,
): Promise<ReadRule> {
  const { entity } = plan
  const fields = fieldsOf(plan)
  const types = new Map()
  for (const [at, field] of entity.fields.entries())
    if (hasType(field, await oldRanks(plan, at))) types.set(field.name, field.type)
  const collations = new Map(
    entity.fields.flatMap(({ name, collation }) =>
      collation === undefined ? [] : [[name, collation] as const],
    ),
  )
  const report = await importStaged(
    async staging => {
      staging.declare(fields.map(({ name }) => name))
      await staging.read(piecesOf(plan), signal)
    },
    entities,
    {
      ...{ name: entity.name, key: entity.key, read, types, collations, lists: listsOf(entity), event },
      ...{ replaces: entity.source.version, ...(signal && { signal }) },
    },
    (step, share) => {
      // The records were already read and looked up before.
      if (step === 'writing') progress(step, share)
    },
  )
  return report.read
}

export const listsOf = ({ fields }: Pick<Entity, 'fields'>): ReadonlySet<string> =>
  new Set(fields.flatMap(({ name, list }) => (list ? [name] : [])))

async function* piecesOf({ origins, slots, version, written }: ChangePlan): AsyncIterable<Piece> {
  for (let from = 0; from < origins.length; from += readStep) {
    const some = origins.subarray(from, from + readStep)
    const json = await version.read(
      Uint32Array.from(
        some.filter(origin => origin >= 0),
        origin => slots[origin] as number,
      ),
    )
    const changed = Array.from(
      some.filter(origin => origin < 0),
      origin => JSON.stringify(written[~origin]?.record),
    )
    // The line numbers are irrelevant, because all records were checked before.
    yield { kind: 'lines', first: 1, bytes: Buffer.from([...json, ...changed].join('\n')) }
  }
}
