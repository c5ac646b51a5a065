import type { Config } from '../../config/config.ts'
import { parseQuery } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireAdministrator } from '../../http/require-caller.ts'
import { mayUsePart } from '../../model/caller.ts'
import type { Uploads } from '../../model/uploads.ts'
import type { Entities } from '../../storage/entities.ts'
import type { People } from '../../storage/people.ts'
import type { Resume } from '../processes/routes.ts'
import { requireGroup } from './declarations.ts'
import { takeUpload } from './import-input.ts'
import { importQuery } from './import-options.ts'
import { jobOf, parametersOf, workOf } from './import-work.ts'
import type { Imports } from './imports.ts'

interface Parts {
  readonly people: Pick<People, 'groupsByName' | 'listGroups'>
  readonly config: Config
  readonly entities: Entities
  readonly imports: Imports
  readonly uploads?: Uploads
}

/**
 * Imports the file of an upload again, with the same parameters, after an import that didn't finish (PR4):
 * the file is still there, and isn't sent again. An import is done as a whole or not at all, so it begins
 * with the first record.
 */
export const resumeImport =
  ({ people, config, entities, imports, uploads }: Parts): Resume =>
  async (process, request) => {
    const { entity, upload, query } = process.parameters
    if (entity === undefined || upload === undefined || query === undefined)
      throw new Problem(
        'process-state',
        'Only an import of an upload can be resumed: what came in the body of a request, or on the command line, is not kept. Begin it again.',
      )
    const { uuid } = requireAdministrator(request.caller).session.eperson
    // The import that it begins belongs to the part `administration` of the API.
    if (!mayUsePart(request.caller, 'administration', 'POST'))
      throw new Problem(
        'access-token-refused',
        'An import needs an access token for POST in the part administration of the API, too.',
      )
    const text = parseQuery(query)
    const asked = { ...importQuery(text), upload }
    await requireGroup(asked.read ?? undefined, people)
    const work = workOf(entity, asked, await entities.all())
    await imports.requireFree(entity)
    const input = await takeUpload(uploads, upload, uuid, asked.format)
    if (!input)
      throw new Problem(
        'not-found',
        'You have no finished upload of this id on this node any more, or it is in use. Send it again.',
      )
    const parameters = { ...parametersOf(text, asked, input), resumes: String(process.id) }
    return imports.begin(request, jobOf(config, request, input, work), input, parameters)
  }
