import assert from 'node:assert/strict'
import { run } from '../support/service/process.ts'

const isInstalled = async (name: string) =>
  /^Status: install ok installed$/m.test((await run('dpkg-query', ['--status', name])).stdout)

/**
 * Installs missing Debian packages, without recommended ones.
 *
 * @throws AssertionError that says what to install, if that is not possible here
 */
export async function needPackages(...names: readonly string[]): Promise<void> {
  const missing: string[] = []
  for (const name of names) if (!(await isInstalled(name))) missing.push(name)
  if (missing.length === 0) return
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing]
  const please = `this test needs the real product; as root on Debian: ${command.join(' ')}`
  assert.equal(process.getuid?.(), 0, please)
  const [program = '', ...args] = command
  const env = { PATH: process.env.PATH ?? '', DEBIAN_FRONTEND: 'noninteractive' }
  const { code, stderr } = await run(program, ['-o', 'DPkg::Lock::Timeout=300', ...args], { env }).catch(
    error => ({ code: 1, stderr: String(error) }),
  )
  assert.equal(code, 0, `${please}\n${stderr}`)
}
