import { type Followed, Refusal, type Report, runInChild } from '../threads/child.ts'
import type { Job } from './import-job.ts'

/**
 * Does the work in a process of its own (docs/decisions/0044).
 * @param descriptor of the file to read; null: there is none
 * @returns its report
 * @throws Refusal for what somebody can put right
 */
export async function runImport(job: Job, descriptor: number | null, running: Followed): Promise<Report> {
  try {
    return await runInChild(
      {
        program: 'import-process',
        job,
        descriptor,
        name: 'the import',
        consequence: '; nothing was imported',
      },
      running,
    )
  } catch (error) {
    throw error instanceof Refusal
      ? new Refusal(inParameters(error.message), error.details.map(inParameters))
      : error
  }
}

/** Messages name the options of `carrel import`; the parameters of the address are called the same. */
const inParameters = (message: string) =>
  message
    .replaceAll('--update or --delete', 'mode=update or mode=delete')
    .replaceAll('--replace', 'the parameter replace=true')
    .replaceAll(/--(key|type|collation|read)\b/g, 'the parameter $1')
