import type { Config } from '../../config/config.ts'
import { Problem } from '../../http/problems.ts'
import type { Repository } from '../../items/statements/repository.ts'
import { OperatorError } from '../../lib/errors.ts'
import { readUuid } from '../../lib/uuids.ts'
import { agreementField } from '../../model/accounts.ts'
import type { People } from '../../people/statements.ts'
import type { Storage } from '../../storage/statements/parts.ts'
import type { Script } from './scripts.ts'

interface Parts {
  readonly config: Pick<Config, 'backups' | 'database' | 'dataFolder' | 'files'>
  readonly storage: Pick<Storage, 'trail'> & { readonly people: People; readonly repository: Repository }
}

/** The default of `carrel backup`. */
const defaultKeep = 7

/** The scripts that administrators can begin by name. Their code is loaded when they begin. */
export function knownScripts({ config, storage }: Parts): readonly Script[] {
  const { trail, people, repository } = storage
  const { backups, files } = config
  const verify: Script = {
    name: 'verify',
    description: 'Reads every file again and compares it with its SHA-256.',
    parameters: [],
    work: () => async run => (await import('./verify-and-back-up.ts')).verifyWork(files, repository)(run),
  }
  const deletion: Script = {
    name: 'object-deletion',
    description: 'Deletes an item with its files.',
    reaches: { part: 'items', method: 'DELETE' },
    parameters: [
      { name: '-i', nameLong: '--uuid', description: 'the UUID of the item', type: 'string' },
      { name: '-c', nameLong: '--copy', description: 'relations; there are none in Carrel', type: 'string' },
    ],
    work: (given, event) => {
      const uuid = readUuid(given.get('-i') ?? '')
      if (uuid === undefined) throw new Problem('bad-request', 'The parameter --uuid must be a UUID.')
      return async ({ log }) => {
        const item = await repository.item(uuid)
        const isDeleted = item && (await repository.deleteItem(item.identifier, event('item.delete')))
        if (!isDeleted) throw new OperatorError(`There is no item ${uuid}.`)
        log(`deleted ${item.identifier} (${uuid})`)
        return { deleted: uuid }
      }
    },
  }
  const agreements: Script = {
    name: 'metadata-deletion',
    description: 'Asks everybody to accept the end user agreement again.',
    reaches: { part: 'people', method: 'PATCH' },
    parameters: [
      {
        name: '-m',
        nameLong: '--metadata',
        description: `${agreementField}, and nothing else`,
        type: 'string',
      },
    ],
    work: (given, event) => {
      // The parameter is required, because the console offers this script first.
      if (given.get('-m') !== agreementField)
        throw new Problem('bad-request', `The parameter --metadata must be ${agreementField}.`)
      return async ({ log }) => {
        const epersons = await people.resetAgreements(event('agreement.reset'))
        log(`${epersons.toLocaleString('en')} epersons had accepted, and are asked again`)
        return { epersons }
      }
    },
  }
  if (backups === null) return [agreements, deletion, verify]
  const backup: Script = {
    name: 'backup',
    description: 'Backs up the whole store into the place that the operator has chosen.',
    parameters: [
      {
        name: '-k',
        nameLong: '--keep',
        description: `how many backups stay there (default: ${defaultKeep})`,
        type: 'integer',
      },
    ],
    work: (given, event) => {
      const keep = keepOf(given.get('-k'))
      return async run => {
        const { backupWork, sourceOf } = await import('./verify-and-back-up.ts')
        const record = (name: string) => trail.record({ ...event('store.backup'), object: name })
        return backupWork(backups, keep, () => sourceOf(config, repository), record)(run)
      }
    },
  }
  return [agreements, backup, deletion, verify]
}

function keepOf(text: string | undefined): number {
  if (text === undefined || text === '') return defaultKeep
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new Problem('bad-request', 'The parameter --keep must be a whole number from 1 to 9999.')
}
