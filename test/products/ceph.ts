import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

/** A cluster of Ceph with an object gateway: one monitor, one store in memory, and no manager. */
export interface Ceph {
  /** The endpoint of clients. */
  readonly address: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  stop(): Promise<void>
}

/** The Debian packages; recommended ones are not needed. */
export const cephPackages = ['ceph-mon', 'ceph-osd', 'radosgw'] as const

/** Time in ms for a command of Ceph, which waits until the cluster answers. */
const patience = 120_000

/**
 * Starts the cluster in a folder.
 * @param ports two free ones: of the monitor, and of the gateway
 * @param bytes size of the store
 */
export async function startCeph(
  folder: string,
  ports: readonly [number, number],
  bytes = 4 * 1024 ** 3,
): Promise<Ceph> {
  const [monitor, gateway] = ports
  const keys = { accessKeyId: 'CARRELKEY', secretAccessKey: 'carrel-secret-of-ceph' }
  const at = (name: string) => join(folder, name)
  for (const name of ['run', 'mon', 'osd', 'rgw']) mkdirSync(at(name), { recursive: true })
  const fsid = randomUUID()
  const configuration = at('ceph.conf')
  writeFileSync(
    configuration,
    `[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monitor}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
run dir = ${at('run')}
log file = ${folder}/$name.log
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 2000
osd objectstore = memstore
memstore device bytes = ${bytes}
[mon.a]
host = ${hostname()}
mon data = ${at('mon')}
[osd.0]
osd data = ${at('osd')}
[client.rgw]
rgw data = ${at('rgw')}
rgw frontends = beast endpoint=127.0.0.1:${gateway}
`,
  )
  const daemons: { readonly child: ChildProcess; readonly exited: Promise<unknown> }[] = []
  function start(program: string, ...args: readonly string[]): void {
    const child = spawn(program, ['-c', configuration, '-f', ...args], { stdio: 'ignore' })
    daemons.push({ child, exited: once(child, 'exit') })
  }
  async function run(program: string, ...args: readonly string[]): Promise<void> {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: patience })
    let said = ''
    for (const output of [child.stdout, child.stderr])
      output.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    const [code] = (await once(child, 'close')) as [number | null]
    assert.equal(code, 0, `${program} ${args.join(' ')}\n${said}`)
  }
  const stop = async () => {
    for (const { child } of daemons) child.kill('SIGKILL')
    await Promise.all(daemons.map(({ exited }) => exited))
  }
  try {
    const store = randomUUID()
    const ofConfiguration = ['-c', configuration]
    await run(
      'monmaptool',
      '--create',
      '--addv',
      'a',
      `[v2:127.0.0.1:${monitor}]`,
      '--fsid',
      fsid,
      at('monmap'),
    )
    await run('ceph-mon', ...ofConfiguration, '--mkfs', '-i', 'a', '--monmap', at('monmap'))
    start('ceph-mon', '-i', 'a')
    await run('ceph', ...ofConfiguration, 'osd', 'new', store)
    await run('ceph-osd', ...ofConfiguration, '-i', '0', '--mkfs', '--osd-uuid', store)
    start('ceph-osd', '-i', '0')
    const user = ['--uid=carrel', '--display-name=Carrel', `--access-key=${keys.accessKeyId}`]
    await run(
      'radosgw-admin',
      ...ofConfiguration,
      'user',
      'create',
      ...user,
      `--secret-key=${keys.secretAccessKey}`,
    )
    start('radosgw', '-n', 'client.rgw')
    const address = `http://127.0.0.1:${gateway}`
    await run('curl', '-s', '--retry', '120', '--retry-connrefused', '--retry-delay', '1', address)
    return { address, ...keys, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
