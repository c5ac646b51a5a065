import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { Failure } from './failures.ts'

/** Time in ms for a worker to close its store after its last request. */
export const graceToClose = 1_000

export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** Explains why an address can't be listened on, with advice. */
export function listenFailure(error: unknown, host: string, port: number): unknown {
  const code = codeOf(error)
  if (code === 'EADDRINUSE')
    return new Failure(
      `port ${port} on ${host} is in use; set CARREL_PORT to another port, or stop the program that uses it`,
    )
  if (code === 'EACCES')
    return new Failure(`port ${port} needs more rights than this user has; set CARREL_PORT to one above 1023`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new Failure(`this machine has no address ${host}; set CARREL_HOST to one that it has`)
  return error
}

interface Reserved {
  /** The configuration with the number of the port, which links need before the service listens. */
  readonly config: Config
  /** Lets other services have the port. */
  release(): void
}

/**
 * Finds out whether the port can be listened on, or finds a free one for port 0.
 * @param isShared true if several sockets are to listen on it. Linux lets every program of the same user
 * share such a port, so a name that only one can have keeps other services away.
 * @throws Failure if it can't be listened on
 */
export async function reservePort(asked: Config, isShared: boolean): Promise<Reserved> {
  const { host, port } = asked
  const probe = await bound({ host, port })
  const address = probe.address()
  const found = typeof address === 'object' && address ? address.port : port
  try {
    const config = port === found ? asked : withPort(asked, found)
    const name = isShared ? await bound({ path: `\0carrel/${host}:${found}` }) : undefined
    return { config, release: () => void name?.close() }
  } finally {
    probe.close()
  }

  async function bound(where: { host: string; port: number } | { path: string }): Promise<Server> {
    const server = createServer().listen(where).unref()
    await once(server, 'listening').catch(error => {
      throw listenFailure(error, host, port)
    })
    return server
  }
}

/**
 * Puts a port that was found in place of 0, also into the links that have it. The settings aren't read again: a
 * secret may come from a pipe.
 */
export function withPort(config: Config, port: number): Config {
  const found = (link: string) => link.replace(/^http:\/\/localhost:0(?=\/|$)/, `http://localhost:${port}`)
  const { baseUrl, mail, singleSignOn } = config
  return Object.freeze({
    ...config,
    port,
    baseUrl: found(baseUrl),
    mail: mail && { ...mail, uiUrl: found(mail.uiUrl) },
    singleSignOn: singleSignOn && {
      ...singleSignOn,
      defaultRedirectUrl: found(singleSignOn.defaultRedirectUrl),
      saml: { ...singleSignOn.saml, entityId: found(singleSignOn.saml.entityId) },
    },
  })
}

/**
 * Answers the requests that have begun, and closes their connections.
 * @param grace time in ms after which requests are cut
 */
export async function drain(app: FastifyInstance, grace: number): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), grace)
  // A kept-alive connection ends with its current response, not when its client closes it.
  const idle = setInterval(() => app.server.closeIdleConnections(), 50)
  await app.close()
  clearInterval(idle)
  clearTimeout(deadline)
}
