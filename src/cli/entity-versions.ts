import { Command } from 'commander'
import type { Entity } from '../model/entities.ts'
import type { RecordEntity } from '../storage/entities.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult, sayTable } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel entity versions`: what imports have replaced and can be restored (D15). */
export const versionsCommand = (): Command =>
  new Command('versions')
    .argument('<name>', 'an imported entity')
    .description('List the versions of an entity that imports have replaced and that can be restored.')
    .option('--json', 'print JSON, with the fields')
    .action((name: string, { json }: Json) =>
      withStore(async ({ entities }) => {
        requireImported(name, (await entities.all()).get(name))
        sayTable(json, await entities.versions(name), {
          VERSION: one => one.id,
          RECORDS: one => one.records,
          FIELDS: one => one.fields.length,
          MEGABYTES: one => Math.ceil(one.bytes / 1024 / 1024),
          REPLACED: one => one.replaced,
          BY: one => one.replacedBy,
          'KEPT UNTIL': one => one.until,
        })
      }),
    )

/** `carrel entity restore`: gives an entity the records, fields and key of a kept version (D15). */
export const restoreCommand = (): Command =>
  new Command('restore')
    .argument('<name>', 'an imported entity')
    .argument('<version>', 'its number, as `carrel entity versions` lists it', versionNumber)
    .description('Undo an import: restore a version of an entity. The version that it has now is kept.')
    .option(...jsonOption)
    .action((name: string, version: number, { json }: Json) =>
      withStore(async ({ entities }) => {
        requireImported(name, (await entities.all()).get(name))
        const start = performance.now()
        const done = await entities.restore(name, version, commandEvent('entity.restore'))
        if (done !== 'restored')
          throw new Failure(
            `${name} has no version ${version}, or not any more; \`carrel entity versions ${name}\` lists those that it has`,
          )
        const milliseconds = Math.round(performance.now() - start)
        const { source } = requireImported(name, (await entities.all()).get(name))
        const [kept] = await entities.versions(name)
        sayResult(
          json,
          { name, version, records: source.count, kept: kept?.id ?? null, milliseconds },
          [
            `${name} has version ${version} again: ${source.count.toLocaleString('en')} records, in ${(milliseconds / 1000).toFixed(2)} s.`,
            ...(kept
              ? [`\`carrel entity restore ${name} ${kept.id}\` undoes that until ${kept.until}.`]
              : []),
          ].join('\n'),
        )
      }),
    )

function versionNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new Misuse('<version> takes a number, such as 12')
  return Number(text)
}

/** @throws Failure unless it is an imported entity */
function requireImported(name: string, entity: Entity | undefined): RecordEntity {
  if (!entity)
    throw new Failure(`there is no imported entity ${name}; \`carrel entity list\` shows all entities`)
  if (entity.source.kind !== 'records')
    throw new Failure(`${name} holds no imported records, and only those have versions`)
  return entity as RecordEntity
}
