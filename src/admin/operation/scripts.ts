import type { Config } from '../../config/config.ts'
import { openFiles } from '../../files/open-files.ts'
import { Problem } from '../../http/problems.ts'
import type { Repository } from '../../items/statements/repository.ts'
import type { Run } from '../../model/processes.ts'
import { percent } from '../processes/processes.ts'
import type { Script } from '../processes/scripts.ts'
import type { Questions } from './questions.ts'

interface Parts {
  readonly config: Pick<Config, 'backups' | 'files'>
  readonly questions: Pick<Questions, 'work'>
  readonly repository: Repository
}

/** Maintenance commands as processes that administrators begin by name (OP7). */
export function operatorScripts({ config, questions, repository }: Parts): readonly Script[] {
  const { backups, files } = config
  const trail: Script = {
    name: 'verify-trail',
    description: 'Checks that no event of the audit trail was changed, removed, inserted or moved.',
    parameters: [
      {
        name: '-c',
        nameLong: '--checkpoint',
        description: 'the name of a checkpoint that was told before, which must still be in the trail',
        type: 'string',
      },
    ],
    work: given => {
      const checkpoint = checkpointOf(given.get('-c'))
      return async run => {
        const verdict = await questions.work({ kind: 'verify-trail', checkpoint }, told(run))
        const { faults, ...rest } = verdict as { readonly faults: readonly Fault[] }
        for (const { event, time, problem } of faults)
          run.log([event === null ? [] : `event ${event}`, time ?? [], problem].flat().join(', '))
        run.log(faults.length === 0 ? 'all as it was written' : 'the trail is not as it was written')
        return { faults: faults.length, ...rest }
      }
    },
  }
  const clean: Script = {
    name: 'clean',
    description:
      'Cleans up files that belong to no bitstream: sets them aside, and deletes them an hour later.',
    parameters: [],
    work: () => async run => ({
      ...(await (
        await openFiles(files, repository)
      ).sweep(share => {
        run.signal.throwIfAborted()
        run.progress(percent(share))
      })),
    }),
  }
  if (backups === null) return [clean, trail]
  const folder: Script = {
    name: 'verify-backups',
    description:
      'Reads every backup in the operator’s place again, and compares every file with its SHA-256.',
    parameters: [],
    work: () => async run => {
      const report = await questions.work({ kind: 'verify-backups', place: backups }, told(run))
      const all = report.backups as readonly Verified[]
      for (const { name, problems } of all) for (const problem of problems) run.log(`${name}: ${problem}`)
      const damaged = all.filter(({ problems }) => problems.length > 0)
      run.log(`${all.length} backups read, ${damaged.length} damaged`)
      return { backups: all.length, damaged: damaged.length }
    },
  }
  return [clean, trail, folder]
}

interface Fault {
  readonly event: number | null
  readonly time: string | null
  readonly problem: string
}

interface Verified {
  readonly name: string
  readonly problems: readonly string[]
}

const told = (run: Run) => ({
  signal: run.signal,
  progress: (_step: string, share: number) => run.progress(percent(share)),
})

function checkpointOf(text: string | undefined): string | null {
  if (text === undefined || text === '') return null
  if (/^\d{1,15}:[0-9a-f]{64}$/.test(text)) return text
  throw new Problem('bad-request', 'The parameter --checkpoint must be a number, a colon and 64 digits.')
}
