import type { FastifyInstance } from 'fastify'
import type { LookAgain } from '../authn/look-again.ts'
import type { SpecialGroups } from '../authn/special-groups.ts'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { describeFault } from '../http/answer-problems.ts'
import type { Repository } from '../items/statements/repository.ts'
import type { Tally } from '../lib/tally.ts'
import type { Limits } from '../model/limits.ts'
import type { Measures } from '../model/measures.ts'
import type { People } from '../people/statements.ts'
import type { Storage } from '../storage/statements/parts.ts'
import { accessRoutes } from './operation/access-routes.ts'
import { identityRoutes } from './operation/identity-routes.ts'
import { questionRoutes } from './operation/question-routes.ts'
import { createQuestions } from './operation/questions.ts'
import { operatorScripts } from './operation/scripts.ts'
import { specialGroupRoutes } from './operation/special-groups.ts'
import { stateRoutes, upkeepRoutes } from './operation/upkeep-routes.ts'
import { knownScripts } from './processes/known-scripts.ts'
import { createProcesses } from './processes/processes.ts'
import { processRoutes, type Resume } from './processes/routes.ts'
import type { Script } from './processes/scripts.ts'
import { scriptRoutes } from './processes/scripts.ts'
import type { Processes } from './processes/statements.ts'
import { ingestRoutes } from './uploads/ingest-route.ts'
import { openUploads } from './uploads/open-uploads.ts'
import { createUploads } from './uploads/place.ts'
import { uploadRoutes } from './uploads/routes.ts'

interface Parts {
  readonly addresses: Addresses
  readonly config: Config
  readonly limits: Limits
  readonly lookAgain: LookAgain
  readonly measures: Pick<Measures, 'bucketRequest'>
  readonly specialGroups: SpecialGroups
  readonly storage: Storage & {
    readonly people: People
    readonly processes: Processes
    readonly repository: Repository
  }
  readonly tally: Tally
}

type Runner = Omit<ReturnType<typeof createProcesses>, 'close'>
type Importing = Pick<Parts, 'addresses' | 'config'> &
  Pick<Parts['storage'], 'entities' | 'people' | 'processes'> &
  Runner & { readonly uploads: ReturnType<typeof createUploads> }

/** Registers the routes by which entities are declared and imported. @returns a function that resumes imports */
type EntityRoutes = (api: FastifyInstance, parts: Importing) => Promise<{ readonly resume: Resume }>

/** Creates the rooms of administration: uploads, operation, and the processes that they and entities begin. */
export async function createAdministration(
  app: FastifyInstance,
  { addresses, config, limits, lookAgain, measures, specialGroups, storage, tally }: Parts,
) {
  const { entities, people, processes } = storage
  const place = await openUploads(config, measures.bucketRequest)
  const uploads = createUploads(place)
  const { close, ...runner } = createProcesses({
    processes,
    report: (id, fault) => app.log.error({ process: id, fault: describeFault(fault) }, 'a process failed'),
  })
  app.addHook('preClose', close)
  const operator = createOperator({ addresses, config, limits, specialGroups, storage, tally })
  return {
    uploads,
    /**
     * Registers the routes below `{api}`.
     * @returns a function that registers those of processes and scripts, which answer to `embed`
     */
    register: async (api: FastifyInstance, entityRoutes: EntityRoutes) => {
      await operator.register(api)
      const uploading = { addresses, config, place }
      const ingest = ingestRoutes(api, { ...uploading, people, start: runner.start })
      uploadRoutes(api, uploading)
      const managing = { addresses, config, entities, people, processes, uploads }
      const imports = await entityRoutes(api, { ...managing, ...runner })
      return (hal: FastifyInstance) => {
        const { scripts } = operator
        const { resume } = scriptRoutes(hal, { addresses, scripts, start: runner.start })
        const resumable = { ...resume, ingest: ingest.resume, import: imports.resume }
        processRoutes(hal, { addresses, lookAgain, processes, resume: resumable })
      }
    },
  }
}

type OperatorParts = Omit<Parts, 'lookAgain' | 'measures'>

/** Operation by administrators over HTTP, as an operator does it by command (docs/decisions/0049). */
interface Operator {
  /** All processes that begin by their name. */
  readonly scripts: readonly Script[]
  /** Registers the routes below `{api}/admin`. */
  register(app: FastifyInstance): Promise<void>
}

function createOperator({ storage, ...more }: OperatorParts): Operator {
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
