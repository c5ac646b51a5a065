import type { TestContext } from 'node:test'
import { type Client, createClient, type Options } from '../../../packages/client/src/index.ts'
import { atEnd } from '../service/at-end.ts'
import { type FaultyLine, startFaultyLine } from '../service/faulty-line.ts'
import { passwordOf, type Service, startService } from '../service/service.ts'

export const ruth = 'ruth@example.org'
export const root = 'root@example.org'

export interface ClientWorld {
  readonly service: Service
  /** The connection between client and service, which can fail. */
  readonly line: FaultyLine
  /** Creates a client of the package that uses this connection. */
  open(options?: Options): Client
  /** Creates such a client and logs in. */
  openAs(email: string, options?: Options): Promise<Client>
}

/** Starts a service with an eperson and an administrator. */
export async function startClientWorld(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<ClientWorld> {
  const service = await startService(t, { env })
  await service.addEperson(ruth)
  await service.addEperson(root, { admin: true })
  const line = await startFaultyLine(t, () => service.address)
  const open = (options: Options = {}) => {
    const client = createClient(line.address, options)
    atEnd(t, () => client.close())
    return client
  }
  return {
    service,
    line,
    open,
    openAs: async (email, options) => {
      const client = open(options)
      await client.login(email, passwordOf(email))
      return client
    },
  }
}
