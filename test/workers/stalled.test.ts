import assert from 'node:assert/strict'
import { testOn } from '../support/service/engines.ts'
import { serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { endings } from '../support/service/workers.ts'

testOn('sqlite', 'D4 D10 SIGTERM ends a service of which a worker answers nothing any more', async t => {
  const ends = endings(t)
  const served = await serve(t, temporaryFolder(t), { env: { CARREL_WORKERS: '2', ...ends.env } })
  await ends.stall()
  assert.equal(await served.stop(), 0)
})
