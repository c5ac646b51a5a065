import { test } from 'node:test'
import { installPackage, tryDemo } from '../support/service/installed.ts'

test('D1 on this Node, the package installs into an empty folder, shows the demo and stops', async t => {
  await tryDemo(t, await installPackage(t))
})
