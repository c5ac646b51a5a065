import { spawn } from 'node:child_process'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { memory, startCarrel } from './support/processes.ts'
import { addPerson } from './support/session.ts'

/** Measures the time from the command to the first response, and the memory of an idle service. */
const folder = scratch()
addPerson(folder)
const times: number[] = []
const bare: number[] = []
let resident = 0
for (let round = 0; round < 5; round++) {
  const start = performance.now()
  const service = await startCarrel(folder)
  await (await fetch(`${service.address}/api/authn/status`)).arrayBuffer()
  times.push(performance.now() - start)
  await new Promise(resolve => setTimeout(resolve, 2_000))
  resident = memory(service.pid).now
  await service.stop()
  const bareStart = performance.now()
  await new Promise(resolve => spawn(process.execPath, ['-e', '']).once('exit', resolve))
  bare.push(performance.now() - bareStart)
}
console.log(
  `start to first response: ${median(times).toFixed(0)} ms (${(median(times) / median(bare)).toFixed(1)} times an empty Node process), ` +
    `idle ${resident.toFixed(0)} MB resident`,
)
