import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { Problem } from '../http/problems.ts'
import { parseExact } from '../lib/json.ts'
import { systemReason } from '../lib/system-errors.ts'
import { Failure } from './failures.ts'
import { givenPath } from './given-path.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel entity apply`: makes an entity, or replaces what is declared of it, as an administrator's PUT does (EA2). */
export const applyCommand = (): Command =>
  new Command('apply')
    .argument('<file>', 'what PUT /api/admin/entities/{name} takes, with the name; - reads standard input')
    .description('Make an entity without records, or replace what is declared of one, as a JSON file says.')
    .option(...jsonOption)
    .action((file: string, { json }: Json) => {
      const body = bodyOf(file)
      const name = nameIn(body, file)
      return withStore(async ({ people, entities }) => {
        // Commands that don't need them start without the descriptions of routes.
        const { putEntity } = await import('../entities/routes/put-entity.ts')
        const request = { name, body, headers: {}, eventFor: commandEvent }
        try {
          const { isNew, warnings } = await putEntity({ entities, people, examine: work => work() }, request)
          for (const { member, detail } of warnings)
            process.stderr.write(`carrel: ${file}: ${member}: ${detail}\n`)
          sayResult(
            json,
            { name, isNew, warnings },
            isNew ? `${name} is there.` : `${name} is as ${file} says.`,
          )
        } catch (error) {
          if (!(error instanceof Problem)) throw error
          const { member = '' } = error.members
          throw new Failure([file, member, error.message].filter(Boolean).join(': '), { cause: error })
        }
      })
    })

/** Reads JSON. @throws Failure */
function bodyOf(file: string): unknown {
  try {
    return parseExact(readFileSync(file === '-' ? process.stdin.fd : givenPath(file), 'utf8'))
  } catch (error) {
    const reason = systemReason(error) ?? (error instanceof Error ? error.message : error)
    throw new Failure(`${file} can't be read: ${reason}`, { cause: error })
  }
}

/** @throws Failure for a body without the name that an address would have */
function nameIn(body: unknown, file: string): string {
  const { name } = (body ?? {}) as { readonly name?: unknown }
  if (typeof name === 'string') return name
  throw new Failure(`${file}: /name: it is the name of the entity; there is none`)
}
