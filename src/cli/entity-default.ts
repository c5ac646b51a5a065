import { Command } from 'commander'
import { reservedEntities } from '../model/built-in-entities.ts'
import type { Entity } from '../model/entities.ts'
import { defaultConditionOf } from '../query/check/check.ts'
import { QueryError } from '../query/language/node.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

interface Options extends Json {
  readonly none?: boolean
}

/**
 * `carrel entity default`: a condition for every query that mentions none of the condition's fields (Q25).
 */
export const defaultCommand = (): Command =>
  new Command('default')
    .argument('<name>', 'an imported or exposed entity')
    .argument('[condition]', 'as an AST: \'["=","node_state","active"]\'')
    .description('Set the condition that queries of an entity get, unless they mention one of its fields.')
    .option('--none', 'take the condition back')
    .option(...jsonOption)
    .action((name: string, text: string | undefined, { none = false, json }: Options) => {
      if (none === (text !== undefined)) throw new Misuse('give a condition, or --none')
      return withStore(async ({ entities }) => {
        if (reservedEntities.has(name))
          throw new Failure(
            `${name} is built in; only imported and exposed entities have a default condition`,
          )
        const entity = (await entities.all()).get(name)
        const defaultCondition = text === undefined || !entity ? null : conditionOf(text, entity)
        const isKnown =
          entity && (await entities.describe(name, { defaultCondition }, commandEvent('entity.default')))
        if (!isKnown)
          throw new Failure(
            `there is no imported or exposed entity ${name}; \`carrel entity list\` shows all entities`,
          )
        sayResult(
          json,
          { name, defaultCondition },
          defaultCondition === null
            ? `Queries of ${name} have no default condition.`
            : `Queries of ${name} get the condition ${defaultCondition}, unless they mention one of its fields.`,
        )
      })
    })

/**
 * Reads a condition for queries of this entity.
 * @returns its AST
 * @throws Failure that says what is wrong with it
 */
function conditionOf(text: string, entity: Entity): string {
  try {
    return defaultConditionOf(text, entity)
  } catch (error) {
    if (error instanceof QueryError)
      throw new Failure(`the condition can't be that of ${entity.name}. ${error.message}`, { cause: error })
    throw error
  }
}
