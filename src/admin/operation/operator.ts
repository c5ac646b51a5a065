import type { FastifyInstance } from 'fastify'
import type { SpecialGroups } from '../../authn/special-groups.ts'
import type { Config } from '../../config/config.ts'
import type { Addresses } from '../../http/addresses.ts'
import type { Tally } from '../../lib/tally.ts'
import type { Limits } from '../../model/limits.ts'
import type { Storage } from '../../storage/storage.ts'
import { knownScripts } from '../processes/known-scripts.ts'
import type { Script } from '../processes/scripts.ts'
import { accessRoutes } from './access-routes.ts'
import { identityRoutes } from './identity-routes.ts'
import { questionRoutes } from './question-routes.ts'
import { createQuestions } from './questions.ts'
import { operatorScripts } from './scripts.ts'
import { specialGroupRoutes } from './special-groups.ts'
import { stateRoutes, upkeepRoutes } from './upkeep-routes.ts'

/** Operation by administrators over HTTP, as an operator does it by command (docs/decisions/0049). */
interface Operator {
  /** All processes that begin by their name. */
  readonly scripts: readonly Script[]
  /** Registers the routes below `{api}/admin`. */
  register(app: FastifyInstance): Promise<void>
}

interface Parts {
  readonly addresses: Addresses
  readonly config: Config
  readonly limits: Limits
  readonly specialGroups: SpecialGroups
  readonly storage: Storage
  readonly tally: Tally
}

export function createOperator({ storage, ...more }: Parts): Operator {
  const { config } = more
  const questions = createQuestions(config)
  const parts = { ...storage, ...more, questions }
  return {
    scripts: [...knownScripts({ config, storage }), ...operatorScripts(parts)].toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    ),
    register: async app => {
      // Clients that wait for an answer would keep the service from closing.
      app.addHook('preClose', async () => questions.close())
      await app.register(
        async scope => {
          questionRoutes(scope, parts)
          stateRoutes(scope, parts)
          accessRoutes(scope, parts)
          identityRoutes(scope, parts)
          specialGroupRoutes(scope, parts)
          upkeepRoutes(scope, parts)
        },
        { prefix: '/admin' },
      )
    },
  }
}
