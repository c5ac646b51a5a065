import { type Followed, Refusal, type Report, runInChild } from '../../lib/threads/child.ts'
import type { Job } from './import-job.ts'

/**
 * Does the work in a process of its own (docs/decisions/0044).
 * @param descriptor of the file to read; null if there is none
 * @returns the report of the process
 * @throws Refusal for a fault that the client can correct
 */
export async function runImport(job: Job, descriptor: number | null, running: Followed): Promise<Report> {
  try {
    const report = await runInChild(
      {
        program: 'import-process',
        job,
        descriptor,
        name: 'the import',
        consequence: '; nothing was imported',
      },
      { ...running, log: line => running.log?.(inParameters(line)) },
    )
    const { faults, notes } = report
    return {
      ...report,
      ...(Array.isArray(faults) && { faults: faults.map(said) }),
      ...(Array.isArray(notes) && { notes: notes.map(said) }),
    }
  } catch (error) {
    throw error instanceof Refusal
      ? new Refusal(inParameters(error.message), error.details.map(inParameters))
      : error
  }
}

const said = <T extends { readonly message?: string }>(one: T): T =>
  one.message === undefined ? one : { ...one, message: inParameters(one.message) }

/** Messages name the options of `carrel import`; the parameters of the address have the same names. */
const inParameters = (message: string) =>
  message
    .replaceAll('--update or --delete', 'mode=update or mode=delete')
    .replaceAll('--replace', 'the parameter replace=true')
    .replaceAll(/--(encoding|delimiter|quote) ([a-z0-9-]+)/g, 'the parameter $1=$2')
    .replaceAll('--key _row', 'the parameter key=_row')
    .replaceAll(/--(key|type|collation|read|encoding|delimiter|quote)\b/g, 'the parameter $1')
    .replaceAll(/--(decimal-comma|decimal-point|day-first|short-rows)\b/g, 'the parameter $1=true')
