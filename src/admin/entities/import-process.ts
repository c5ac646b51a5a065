import type { Fault } from '../../import/faults.ts'
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
      running,
    )
    const { faults } = report
    return Array.isArray(faults) ? { ...report, faults: faults.map(faultInParameters) } : report
  } catch (error) {
    throw error instanceof Refusal
      ? new Refusal(inParameters(error.message), error.details.map(inParameters))
      : error
  }
}

const faultInParameters = (fault: Fault): Fault => ({ ...fault, message: inParameters(fault.message) })

/** Messages name the options of `carrel import`; the parameters of the address have the same names. */
const inParameters = (message: string) =>
  message
    .replaceAll('--update or --delete', 'mode=update or mode=delete')
    .replaceAll('--replace', 'the parameter replace=true')
    .replaceAll(/--(encoding|delimiter) ([a-z0-9-]+)/g, 'the parameter $1=$2')
    .replaceAll(/--(key|type|collation|read|encoding|delimiter)\b/g, 'the parameter $1')
    .replaceAll(/--(decimal-comma|day-first)\b/g, 'the parameter $1=true')
