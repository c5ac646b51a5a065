import { Command } from 'commander'
import { reservedEntities } from '../model/built-in-entities.ts'
import type { WriteRule } from '../model/entities.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { parseReadRule, readRule } from './read-rule.ts'
import { commandEvent, withStore } from './store.ts'

const nobody = 'nobody'

/** `carrel entity writers`: who may write single records (R2). */
export const writersCommand = (): Command =>
  new Command('writers')
    .argument('<name>')
    .argument('<rule>')
    .description(
      'Change who may write single records of an imported entity: nobody, eperson, admin or group:<name>.',
    )
    .option(...jsonOption)
    .action((name: string, rule: string, { json }: Json) => {
      if (rule !== nobody) parseWriteRule(rule)
      return withStore(async ({ accounts, entities }) => {
        if (reservedEntities.has(name))
          throw new Failure(`${name} is built in; only records of imported entities can be written`)
        if (rule !== nobody) await readRule(rule, accounts)
        const write = rule === nobody ? null : parseWriteRule(rule)
        const known = (await entities.all()).get(name)
        if (known?.source.kind === 'exposed')
          throw new Failure(`${name} shows a table of the database; write to it there`)
        if (!(await entities.changeWriteRule(name, write, commandEvent('entity.writers'))))
          throw new Failure(`there is no imported entity ${name}; \`carrel entity list\` shows all entities`)
        const who = write === null ? nobody : write
        sayResult(json, { name, write }, `Records of ${name} can now be written by ${who}.`)
      })
    })

/** @throws Misuse when it is no write rule */
function parseWriteRule(rule: string): WriteRule {
  const parsed = parseReadRule(rule, '<rule>')
  if (parsed === 'anonymous')
    throw new Misuse('<rule> takes nobody, eperson, admin or group:<name>: records are written by epersons')
  return parsed
}
